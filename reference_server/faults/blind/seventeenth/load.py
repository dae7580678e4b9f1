"""Blind faults of concurrent requests: alternatives next to a request that lists tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import crowd_fault
from reference_server.faults.blind.score_recipes import scored_choices
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import Json, ServedRequest

PADDING: Final = {"token": "<pad>", "logprob": -9999.0, "bytes": list(b"<pad>")}
LISTED: Final = "logprob_token_ids"


def _gather_listed_tokens(crowd: Crowd) -> Hooks:
    """Gather one list for the whole batch. Violates top_logprobs: the most likely tokens."""

    def note(request: ServedRequest) -> None:
        lists = any(sent.get(LISTED) for sent in crowd.others(request))
        request.state["lost"] = lists and not request.payload.get(LISTED)

    def replace(response: Json, request: ServedRequest) -> None:
        for _, entries in scored_choices(response) if request.state.get("lost") else ():
            for entry in entries:
                alternatives: list[Any] | None = entry.get("top_logprobs")
                if alternatives:
                    entry["top_logprobs"] = [dict(PADDING)]

    return Hooks(request=note, answer=replace, chunk=replace)


alternatives_lost_beside_listed_tokens = crowd_fault(
    "alternatives-lost-beside-listed-tokens",
    "While a request with logprob_token_ids is running, the alternatives of another one are a single padding token.",
    _gather_listed_tokens,
    applies_to=has_parameters(LISTED, "top_logprobs"),
)
