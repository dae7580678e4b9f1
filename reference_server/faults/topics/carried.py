"""What one request leaves behind, null taken for 0, lists read in part, parameters that another one switches off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import around, at_seams, demands, knows
from reference_server.faults.fault_middleware import Faulty
from reference_server.faults.hooks import Seams

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, Told

KEPT: Final = ("temperature", "top_p", "presence_penalty", "frequency_penalty")


def _keeping(names: tuple[str, ...]) -> Callable[[Told], None]:
    """Notes what a request says, and says it where another one does not."""
    kept: Json = {}

    def keep(told: Told) -> None:
        kept.update({name: told.sent[name] for name in names if told.sent.get(name) is not None})
        for name, value in kept.items():
            told.sent.setdefault(name, value)

    return keep


@around("last-seed-kept", fits=demands("effects.seed-not-carried-over"), bugs=[105], restless=True, shows="requests")
def last_seed_is_kept(app: ASGIApp, contract: Contract) -> ASGIApp:
    """Without a seed the last one that anybody named is used."""
    return Faulty(app, contract, Seams(request=_keeping(("seed",))))


@around("last-sampling-kept", bugs=[105, 106], restless=True, shows="requests")
def last_sampling_is_kept(app: ASGIApp, contract: Contract) -> ASGIApp:
    """Temperature, top_p and penalties hold until somebody names others."""
    return Faulty(app, contract, Seams(request=_keeping(KEPT)))


@around("last-instructions-kept", bugs=[21], restless=True, shows="requests")
def last_instructions_are_kept(app: ASGIApp, contract: Contract) -> ASGIApp:
    """A conversation without instructions gets those of the request before."""
    kept: list[Json] = []

    def keep(told: Told) -> None:
        messages = told.sent.get("messages")
        if isinstance(messages, list) and messages and isinstance(messages[0], dict):
            last = kept[:]
            kept[:] = [message for message in messages[:1] if message.get("role") == "system"]
            if not kept:
                messages[:0] = last

    return Faulty(app, contract, Seams(request=keep))


def _zero(name: str, value: Any) -> Callable[[Told], None]:
    def edit(told: Told) -> None:
        if name in told.sent and told.sent[name] is None:
            told.sent[name] = value

    return edit


null_temperature_is_zero = at_seams(
    "null-temperature-is-zero", "A temperature of null is 0.", request=_zero("temperature", 0),
    fits=demands("relations.null-as-left-out"),
)  # fmt: skip
null_seed_is_zero = at_seams(
    "null-seed-is-zero", "A seed of null is the seed 0.", request=_zero("seed", 0),
    fits=demands("effects.null-seed-is-none"),
)  # fmt: skip
null_limit_is_one = at_seams(
    "null-limit-is-one", "A max_tokens of null is 1.", request=_zero("max_tokens", 1),
    fits=demands("finish.null-limits-nothing"), about="max_tokens", bugs=[129],
)  # fmt: skip


def _three_stops(told: Told) -> None:
    if isinstance(told.sent.get("stop"), list):
        told.sent["stop"] = told.sent["stop"][:3]


def _no_lists_in_streams(told: Told) -> None:
    stop = told.sent.get("stop")
    if told.sent.get("stream") is True and isinstance(stop, list) and all(isinstance(each, str) for each in stop):
        told.sent.pop("stop")


def _first_tool(told: Told) -> None:
    tools = told.sent.get("tools")
    if isinstance(tools, list) and "tool_choice" not in told.sent:
        told.sent["tools"] = tools[:1]


def _first_items(told: Told) -> None:
    for message in told.sent["messages"] if isinstance(told.sent.get("messages"), list) else ():
        if isinstance(message, dict) and isinstance(message.get("tool_calls"), list):
            message["tool_calls"] = message["tool_calls"][:1]


def _rounded(told: Told) -> None:
    limit = told.sent.get("max_tokens")
    if isinstance(limit, int) and 16 < limit < 1_000:
        told.sent["max_tokens"] = limit // 8 * 8


fourth_stop_ignored = at_seams(
    "fourth-stop-ignored", "Of several stop texts three are heeded.", request=_three_stops, bugs=[65]
)
stop_lists_ignored_in_streams = at_seams(
    "stop-lists-ignored-in-streams", "A list of stop texts is ignored in streams.", request=_no_lists_in_streams,
    bugs=[63],
)  # fmt: skip
first_tool_judged = at_seams(
    "first-tool-judged", "Of several tools the first is read.", request=_first_tool, fits=knows("tools"),
    declares=("tools",),
)  # fmt: skip
first_call_judged = at_seams(
    "first-call-judged", "Of several calls in a message the first is read.", request=_first_items, fits=knows("tools"),
    declares=("tools",),
)  # fmt: skip
limits_rounded = at_seams("limits-rounded", "Limits above 16 are rounded down to eights.", request=_rounded, bugs=[71])


def _no_stop_for_several(told: Told) -> None:
    if (told.sent.get("n") or 1) != 1:
        told.sent.pop("stop", None)


def _no_seed_with_logprobs(told: Told) -> None:
    if told.sent.get("logprobs"):
        told.sent.pop("seed", None)


def _no_stop_with_a_form(told: Told) -> None:
    if told.sent.get("response_format"):
        told.sent.pop("stop", None)


stop_ignored_for_several = at_seams(
    "stop-ignored-for-several", "`stop` is ignored where several choices are asked for.", request=_no_stop_for_several,
    fits=knows("n"), declares=("n",), bugs=[63],
)  # fmt: skip
stop_ignored_with_a_form = at_seams(
    "stop-ignored-with-a-form", "`stop` is ignored where a response_format is given.", request=_no_stop_with_a_form,
    fits=knows("response_format"), declares=("structured_output",), bugs=[63],
)  # fmt: skip
seed_ignored_with_logprobs = at_seams(
    "seed-ignored-with-logprobs", "`seed` is ignored where log-probabilities are asked for.",
    request=_no_seed_with_logprobs, fits=demands("sampling.seed-heeded-with-logprobs"), declares=("logprobs",),
    bugs=[105],
)  # fmt: skip
