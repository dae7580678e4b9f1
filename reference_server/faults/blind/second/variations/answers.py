"""Variations of answers: how they are written, further fields, ids, and numbers of log-probabilities."""

from __future__ import annotations

import itertools
import json
import random
import uuid
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import per_server
from reference_server.faults.decorators import choices_of, has_parameters, message_of, variation
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

ESCAPES: Final = {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026"}
FINGERPRINT: Final = "b4764-7ad0779f"
TIMINGS: Final = {"prompt_n": 43, "prompt_ms": 246.082, "predicted_n": 1, "predicted_ms": 0.028}
TIMES: Final = {"queue_time": 0.021, "prompt_time": 0.059, "completion_time": 1.591, "total_time": 1.65}
FILTERED: Final = {"filtered": False, "severity": "safe"}
JITTER: Final = 2e-3
PLACES: Final = 4
TINY: Final = 1e-4
QUOTED: Final = " [{'type': 'value_error', 'loc': ('body',), 'input': {\"a\": \"<b>\\n\"}}]\n"
DETAILS: Final = {"max_model_len": 8096, "parent": None, "permission": [{"object": "model_permission"}]}


def _escaped(body: bytes, _request: ServedRequest) -> bytes:
    for character, escape in ESCAPES.items():
        body = body.replace(character, escape)
    return body


def _scores(response: Json) -> Iterator[Json]:
    for choice in choices_of(response):
        if isinstance(choice.get("logprobs"), dict):
            yield choice["logprobs"]


def _positions(response: Json) -> Iterator[list[Json]]:
    """Yield the entry of each token with its alternatives."""
    for scores in _scores(response):
        for entry in scores.get("content") or ():
            yield [entry, *(entry.get("top_logprobs") or ())]


def _both(name: str, line: str, edit: Callable[[Json, ServedRequest], object], **options: Any) -> Fault:
    """Make a variation of plain answers and chunks."""
    return variation(name, line, answer=edit, chunk=edit, **options)


def _numbered_calls() -> Hooks:
    numbers = itertools.count()

    def change(response: Json, _request: ServedRequest) -> None:
        for choice in choices_of(response):
            for call in message_of(choice).get("tool_calls") or ():
                if call.get("id") and call["function"].get("name"):
                    call["id"] = f"functions.{call['function']['name']}:{next(numbers)}"

    return Hooks(answer=change, chunk=change)


def _add_timings(response: Json, _request: ServedRequest) -> None:
    response["system_fingerprint"] = FINGERPRINT
    if isinstance(response.get("usage"), dict):
        response["timings"] = dict(TIMINGS)


def _add_nulls(response: Json, _request: ServedRequest) -> None:
    for name in ("prompt_logprobs", "kv_transfer_params"):
        response.setdefault(name, None)
    for choice in choices_of(response):
        for name in ("token_ids", "matched_stop"):
            choice.setdefault(name, None)


def _annotate(response: Json, _request: ServedRequest) -> None:
    for choice in choices_of(response):
        message_of(choice)["provider_specific_fields"] = None
        if "message" in choice:
            choice["message"].setdefault("annotations", [])


def _add_to_usage(response: Json, fields: Callable[[Json], Json]) -> None:
    if isinstance(response.get("usage"), dict):
        response["usage"].update(fields(response["usage"]))


def _filter(response: Json, _request: ServedRequest) -> None:
    for choice in choices_of(response):
        choice["content_filter_results"] = {"hate": dict(FILTERED), "violence": dict(FILTERED)}


def _empty_text(answer: Json, _request: ServedRequest) -> None:
    for choice in choices_of(answer):
        said = message_of(choice)
        if said.get("tool_calls") and said.get("content") is None:
            said["content"] = ""


def _no_refusals(response: Json, _request: ServedRequest) -> None:
    for scores in _scores(response):
        scores["refusal"] = None


def _sort_arguments(answer: Json, _request: ServedRequest) -> None:
    for choice in choices_of(answer):
        for call in message_of(choice).get("tool_calls") or ():
            try:
                values = json.loads(call["function"]["arguments"])
            except ValueError:
                continue  # cut by max_tokens
            call["function"]["arguments"] = json.dumps(values, ensure_ascii=False, sort_keys=True)


def _name_by_uuid(response: Json, request: ServedRequest) -> None:
    if isinstance(response.get("id"), str) and "request_id" not in request.payload:
        own = request.state.setdefault("uuid", str(uuid.uuid4()))
        response["id"] = f"{request.contract.answer.id_prefix}{own}"


def _negate_zeros(response: Json, _request: ServedRequest) -> None:
    for position in _positions(response):
        for token in position:
            token["logprob"] = -0.0 if token["logprob"] > -TINY else token["logprob"]


def _round(response: Json, _request: ServedRequest) -> None:
    for position in _positions(response):
        for token in position:
            token["logprob"] = round(token["logprob"], PLACES)


def _vary(response: Json, _request: ServedRequest) -> None:
    for position in _positions(response):
        factor = 1 + random.random() * JITTER
        for token in position:
            token["logprob"] *= factor


def _identify(_head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    return {**body, "request_id": f"req_{uuid.uuid4().hex}"} if isinstance(body, dict) else body


def _quote(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    for name in ("message", "error"):
        if isinstance(body, dict) and isinstance(body.get(name), str):
            return {**body, name: body[name] + QUOTED}
        if isinstance(body, dict) and isinstance(body.get(name), dict):
            return {**body, name: _quote(head, body[name], request)}
    return body


def _detail_models(response: Json, request: ServedRequest) -> None:
    if request.path == request.contract.models_path:
        response["data"] = [{**model, "root": model["id"], **DETAILS} for model in response["data"]]


def _has_null_text(contract: Contract) -> bool:
    return has_parameters("tools")(contract) and contract.answer.silence is None


html_escaped = variation(
    "html-escaped",
    "The characters `<`, `>` and `&` are escaped in JSON.",
    plain=_escaped,
    event=lambda frame, request: [_escaped(frame, request)],
)
calls_numbered = per_server(
    "calls-numbered",
    "The id of a call is `functions.NAME:` and a number.",
    _numbered_calls,
    applies_to=has_parameters("tools"),
    benign=True,
    affects="answers",
)
timings_added = _both("timings-added", "Answers have a fingerprint and timings of the engine.", _add_timings)
nulls_added = _both("nulls-added", "Answers and choices have further fields that are null.", _add_nulls)
messages_annotated = _both("messages-annotated", "Messages have empty annotations.", _annotate)
usage_times = _both(
    "usage-times", "Usage has times.", lambda response, _request: _add_to_usage(response, lambda _usage: TIMES)
)
usage_of_the_cache = _both(
    "usage-of-the-cache",
    "Usage has the numbers of prompt tokens that were and were not in the cache.",
    lambda response, _request: _add_to_usage(
        response,
        lambda usage: {"prompt_cache_hit_tokens": 0, "prompt_cache_miss_tokens": usage["prompt_tokens"]},
    ),
)
filters_reported = _both("filters-reported", "Choices have the results of content filters.", _filter)
calls_with_empty_text = variation(
    "calls-with-empty-text",
    "The content of plain answers with tool calls is an empty string.",
    answer=_empty_text,
    applies_to=_has_null_text,
)
scores_without_refusals = _both(
    "scores-without-refusals",
    "Log-probabilities have a `refusal` that is null.",
    _no_refusals,
    applies_to=has_parameters("logprobs"),
)
arguments_sorted = variation(
    "arguments-sorted",
    "The arguments of plain answers are in alphabetical order.",
    answer=_sort_arguments,
    applies_to=has_parameters("tools"),
)
ids_as_uuid = _both(
    "ids-as-uuid",
    "Ids contain a UUID.",
    _name_by_uuid,
    applies_to=lambda contract: contract.answer.id_prefix is not None,
)
zeros_negative = _both(
    "zeros-negative",
    "A log-probability of almost 0 is written as -0.0.",
    _negate_zeros,
    applies_to=has_parameters("logprobs"),
)
logprobs_with_four_places = _both(
    "logprobs-with-four-places",
    "Log-probabilities have four decimal places.",
    _round,
    applies_to=has_parameters("logprobs"),
)
logprobs_vary = _both(
    "logprobs-vary",
    "Log-probabilities of equal requests differ in their third digit, because numerics depend on the batch.",
    _vary,
    applies_to=has_parameters("logprobs"),
)
refusals_identified = variation("refusals-identified", "Refusals contain the id of the request.", refusal=_identify)
refusals_quote = variation(
    "refusals-quote", "Messages of refusals quote the parts of the request, with quotes and line ends.", refusal=_quote
)
models_detailed = variation(
    "models-detailed",
    "Models are listed with the length of their context and permissions.",
    answer=_detail_models,
    everywhere=True,
)
