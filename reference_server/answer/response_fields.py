"""Fields that whole responses and stream chunks have in common, in the form that the contract prescribes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from reference_server.request.response_options import ResponseOptions
from reference_server.tool_call_output import DEFAULT_FORMAT, ToolCallFormat

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from openapi.contract.contract import Contract
    from reference_server.engine import Delta, RankedLogprob, TokenLogprob

Json = dict[str, Any]
ROLE: Final = "assistant"
MICROSECONDS_PER_S: Final = 1_000_000
MIN_LOGPROB: Final = -9999.0
"""Replacement for -infinity, which JSON cannot express; OpenAI's API uses this number for very unlikely tokens."""
DEFAULT_OPTIONS: Final = ResponseOptions()
"""Options of a response without optional fields."""
REASONING_FIELDS: Final = ("reasoning", "reasoning_content")


@dataclass(frozen=True, slots=True)
class AnswerMetadata:
    """Data shared by all parts of one response.

    id: None if the dialect has no ids. created: Unix time in seconds. model: model name. service_tier: see
    `ResponseOptions`. call_format: how tool calls are written.
    """

    id: str | None
    created: int
    model: str
    service_tier: str | None = None
    call_format: ToolCallFormat = DEFAULT_FORMAT

    def fields(self, kind: str) -> Json:
        """Return the first fields of a response or a chunk; `kind` is its `object`."""
        named = {} if self.id is None else {"id": self.id}
        tier = {} if self.service_tier is None else {"service_tier": self.service_tier}
        return {**named, "object": kind, "created": self.created, "model": self.model, **tier}


def group_by_choice(deltas: Iterable[Delta]) -> dict[int, list[Delta]]:
    """Map each choice's index to its deltas, in the order of the indices."""
    choices: defaultdict[int, list[Delta]] = defaultdict(list)
    for delta in deltas:
        choices[delta.index].append(delta)
    return dict(sorted(choices.items()))


def join_text(deltas: Sequence[Delta]) -> tuple[str, str]:
    """Return the text and the reasoning of the deltas."""
    return "".join(delta.text for delta in deltas), "".join(delta.reasoning for delta in deltas)


def reasoning_field(contract: Contract) -> str | None:
    """Return the name of the dialect's field for reasoning; None if it has no such field."""
    known = contract.schemas["Answer"]["properties"]
    return next((name for name in REASONING_FIELDS if name in known), None)


def prompt_fields(deltas: Iterable[Delta], options: ResponseOptions) -> Json:
    """Return the fields about the prompt. The engine reports its log-probabilities only outside streams."""
    prompt = next((delta.prompt for delta in deltas if delta.prompt is not None), None)
    if prompt is None:
        return {}
    fields: Json = {"prompt_token_ids": list(prompt.token_ids)} if options.token_ids else {}
    if options.prompt_text:
        fields["prompt_text"] = prompt.text
    if prompt.logprobs is not None:
        fields["prompt_logprobs"] = [None if entry is None else _ranked(entry) for entry in prompt.logprobs]
    return fields


def _ranked(entries: Iterable[RankedLogprob]) -> Json:
    """Return the log-probabilities at one position of the prompt by token id, as vLLM does."""
    return {
        str(entry.token_id): {
            "logprob": max(entry.logprob, MIN_LOGPROB),
            "rank": entry.rank,
            "decoded_token": entry.text,
        }
        for entry in entries
    }


def token_id_fields(deltas: Iterable[Delta], options: ResponseOptions) -> Json:
    """Return the token ids of the deltas, if requested."""
    return {"token_ids": [delta.token_id for delta in deltas]} if options.token_ids else {}


def finish_fields(names: Container[str], deltas: Sequence[Delta], model: str, options: ResponseOptions) -> Json:
    """Return the fields that come with the finish reason, among the `names` that the dialect's choice has.

    The version of the weights is the model's name, because the weights never change here.
    """
    fields: Json = {"stop_reason": deltas[-1].stop_reason} if "stop_reason" in names else {}
    if options.weight_versions:
        fields["weight_versions"] = [{"version": model, "start": 0, "end": len(deltas)}]
    return fields


def logprobs(contract: Contract, deltas: Iterable[Delta], options: ResponseOptions = DEFAULT_OPTIONS) -> Json:
    """Return the logprobs object with one entry for each token; fields that this server cannot fill are null."""
    names = contract.schemas.get("Logprobs", {}).get("properties", {})
    entries = [delta.logprob for delta in deltas if delta.logprob is not None]
    content = [
        {**written, "top_logprobs": _tokens(entry.top, options)}
        for entry, written in zip(entries, _tokens(entries, options), strict=True)
    ]
    return {**dict.fromkeys(names), "content": content}


def _tokens(tokens: Iterable[TokenLogprob], options: ResponseOptions) -> list[Json]:
    as_ids = options.tokens_as_ids
    return [
        {
            "token": f"token_id:{token_id}" if as_ids else text,
            "logprob": logprob if logprob > MIN_LOGPROB else MIN_LOGPROB,
            "bytes": None if data is None else list(data),
        }
        for text, data, logprob, _, token_id in tokens
    ]


def usage(contract: Contract, prompt_tokens: int | None, deltas: Sequence[Delta]) -> Json:
    """Return the usage object: token counts, and the measurements of each generated token if the dialect has them.

    Without the number of prompt tokens, the counts that include it are left out.
    """
    form = contract.answer
    completion_tokens = sum(delta.tokens for delta in deltas)
    counts: Json = {} if prompt_tokens is None else {"prompt_tokens": prompt_tokens}
    cached = [delta.cached_tokens for delta in deltas if delta.cached_tokens is not None]
    if form.cached_tokens and cached:
        counts["prompt_tokens_details"] = {"cached_tokens": max(cached)}
    counts["completion_tokens"] = completion_tokens
    counts |= {} if prompt_tokens is None else {"total_tokens": prompt_tokens + completion_tokens}
    details: Json = {}
    if "UsageCompletionDetails" in contract.schemas and any(delta.reasoning for delta in deltas):
        details["reasoning_tokens"] = sum(map(_count_reasoning, group_by_choice(deltas).values()))
    predicted = [delta.predicted for delta in deltas if delta.predicted is not None]
    if predicted:  # no token is generated and then discarded, so none counts as rejected
        details |= {"accepted_prediction_tokens": sum(predicted), "rejected_prediction_tokens": 0}
    if details:
        counts["completion_tokens_details"] = details
    if form.token_arrays:  # only of tokens whose step was measured
        sizes = [delta.batch_size for delta in deltas if delta.batch_size is not None]
        waits = [round(delta.queue_wait_s * MICROSECONDS_PER_S) for delta in deltas if delta.queue_wait_s is not None]
        counts |= {"batch_size": sizes} if sizes else {}
        counts |= {"queue_wait_time": waits} if waits else {}
    return counts


def _count_reasoning(deltas: Sequence[Delta]) -> int:
    """Count the tokens of a choice before its answer, if it has reasoning; the reasoning markers count too."""
    if not any(delta.reasoning for delta in deltas):
        return 0
    answer = next((at for at, delta in enumerate(deltas) if delta.text), len(deltas))
    return sum(delta.tokens for delta in deltas[:answer])
