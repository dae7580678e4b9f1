"""Parts: the members that whole answers and chunks have in common, as the contract's forms say. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from reference_server.request.response_options import Telling
from reference_server.tool_call_output import FUNCTIONS, CallForm

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from openapi.contract.contract import Contract
    from reference_server.engine import Delta, RankedLogprob, TokenLogprob

Json = dict[str, Any]
ROLE: Final = "assistant"
MICROSECONDS_PER_S: Final = 1_000_000
LEAST_LOGPROB: Final = -9999.0
"""JSON has no infinity: OpenAI's API writes this number for what is very unlikely."""
PLAIN: Final = Telling()
"""An answer that tells nothing beside what the model said."""
REASONING_MEMBERS: Final = ("reasoning", "reasoning_content")


@dataclass(frozen=True, slots=True)
class Heading:
    """What all parts of one answer share. id: None where the dialect has none; created: Unix time in seconds.

    calls: how calls of tools are written.
    """

    id: str | None
    created: int
    model: str
    tier: str | None = None
    calls: CallForm = FUNCTIONS

    def members(self, kind: str) -> Json:
        """The heading of an answer or a chunk; `kind` is its `object`."""
        named = {} if self.id is None else {"id": self.id}
        processed = {} if self.tier is None else {"service_tier": self.tier}
        return {**named, "object": kind, "created": self.created, "model": self.model, **processed}


def by_choice(deltas: Iterable[Delta]) -> dict[int, list[Delta]]:
    """Index -> the deltas of that choice, from the first choice to the last."""
    found: defaultdict[int, list[Delta]] = defaultdict(list)
    for delta in deltas:
        found[delta.index].append(delta)
    return dict(sorted(found.items()))


def said(deltas: Sequence[Delta]) -> tuple[str, str]:
    """(text, reasoning) of the deltas."""
    return "".join(delta.text for delta in deltas), "".join(delta.reasoning for delta in deltas)


def reasoning_member(contract: Contract) -> str | None:
    """What the dialect calls a thought that stands beside the answer; None where it shows none."""
    known = contract.schemas["Answer"]["properties"]
    return next((name for name in REASONING_MEMBERS if name in known), None)


def prompt_told(deltas: Iterable[Delta], telling: Telling) -> Json:
    """What is told of the prompt; of its log-probabilities, only in a plain answer."""
    prompt = next((delta.prompt for delta in deltas if delta.prompt is not None), None)
    if prompt is None:
        return {}
    told: Json = {"prompt_token_ids": list(prompt.token_ids)} if telling.token_ids else {}
    if telling.prompt_text:
        told["prompt_text"] = prompt.text
    if prompt.logprobs is not None:
        told["prompt_logprobs"] = [None if logprob is None else _likely(logprob) for logprob in prompt.logprobs]
    return told


def _likely(entries: Iterable[RankedLogprob]) -> Json:
    """As vLLM writes the log-probabilities of a prompt: by token id."""
    return {
        str(entry.token_id): {
            "logprob": max(entry.logprob, LEAST_LOGPROB),
            "rank": entry.rank,
            "decoded_token": entry.text,
        }
        for entry in entries
    }


def ids_told(deltas: Iterable[Delta], telling: Telling) -> Json:
    """The token ids of the deltas, where they were asked for."""
    return {"token_ids": [delta.token_id for delta in deltas]} if telling.token_ids else {}


def ending_told(members: Container[str], deltas: Sequence[Delta], model: str, telling: Telling) -> Json:
    """What is told with the finish reason; the weights' version is the model's name, for they never change here."""
    told: Json = {"stop_reason": deltas[-1].stop_reason} if "stop_reason" in members else {}
    if telling.weight_versions:
        told["weight_versions"] = [{"version": model, "start": 0, "end": len(deltas)}]
    return told


def logprobs(contract: Contract, deltas: Iterable[Delta], telling: Telling = PLAIN) -> Json:
    """One entry for each token; members of the dialect's object that this server has nothing for are null."""
    members = contract.schemas.get("Logprobs", {}).get("properties", {})
    told = [delta.logprob for delta in deltas if delta.logprob is not None]
    content = [
        {**one, "top_logprobs": _tokens(each.top, telling)}
        for each, one in zip(told, _tokens(told, telling), strict=True)
    ]
    return {**dict.fromkeys(members), "content": content}


def _tokens(tokens: Iterable[TokenLogprob], telling: Telling) -> list[Json]:
    as_ids = telling.tokens_as_ids
    return [
        {
            "token": f"token_id:{token_id}" if as_ids else text,
            "logprob": logprob if logprob > LEAST_LOGPROB else LEAST_LOGPROB,
            "bytes": None if data is None else list(data),
        }
        for text, data, logprob, _, token_id in tokens
    ]


def usage(contract: Contract, prompt_tokens: int, deltas: Sequence[Delta]) -> Json:
    """Tokens counted, with what was measured for each generated token where the form has it."""
    form = contract.answer
    completion_tokens = sum(delta.tokens for delta in deltas)
    counts: Json = {"prompt_tokens": prompt_tokens}
    cached = [delta.cached_tokens for delta in deltas if delta.cached_tokens is not None]
    if form.cached_tokens and cached:
        counts["prompt_tokens_details"] = {"cached_tokens": max(cached)}
    counts |= {"completion_tokens": completion_tokens, "total_tokens": prompt_tokens + completion_tokens}
    details: Json = {}
    if "UsageCompletionDetails" in contract.schemas and any(delta.reasoning for delta in deltas):
        details["reasoning_tokens"] = sum(map(_thinking, by_choice(deltas).values()))
    predicted = [delta.predicted for delta in deltas if delta.predicted is not None]
    if predicted:  # nothing is generated to be thrown away, so no rejected token is counted
        details |= {"accepted_prediction_tokens": sum(predicted), "rejected_prediction_tokens": 0}
    if details:
        counts["completion_tokens_details"] = details
    if form.token_arrays:  # of tokens whose step nobody here has measured there is nothing to say
        sizes = [delta.batch_size for delta in deltas if delta.batch_size is not None]
        waits = [round(delta.queue_wait_s * MICROSECONDS_PER_S) for delta in deltas if delta.queue_wait_s is not None]
        counts |= {"batch_size": sizes} if sizes else {}
        counts |= {"queue_wait_time": waits} if waits else {}
    return counts


def _thinking(deltas: Sequence[Delta]) -> int:
    """How many tokens of a choice came before its answer, where it has thought; the marks around a thought count."""
    if not any(delta.reasoning for delta in deltas):
        return 0
    answer = next((at for at, delta in enumerate(deltas) if delta.text), len(deltas))
    return sum(delta.tokens for delta in deltas[:answer])
