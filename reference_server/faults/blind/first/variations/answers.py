"""Variations of answers and refusals."""

from __future__ import annotations

import json
import re
import secrets
from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream import sse
from reference_server.faults.blind.recipes import per_server
from reference_server.faults.decorators import choices_of, has_parameters, message_of, variation
from reference_server.faults.hooks import DATA, DONE, Hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

EARLIER_S: Final = 1
PREFACE: Final = 17  # tokens
LOGPROB: Final = re.compile(rb'"logprob":(-?[0-9.]+)(?=[,}])')
BLOCK: Final = 16
CHUNKED_BY_TOKEN: Final = ("logprobs", "return_token_ids", "stream_interval")


def _arguments(name: str, line: str, write: Callable[[Any], str]) -> Fault:
    """Make a variation that writes the arguments of plain answers differently."""

    def change(answer: Json, _request: ServedRequest) -> None:
        for choice in choices_of(answer):
            for call in message_of(choice).get("tool_calls") or ():
                try:
                    call["function"]["arguments"] = write(json.loads(call["function"]["arguments"]))
                except ValueError:
                    continue  # cut by max_tokens

    return variation(name, line, answer=change, applies_to=has_parameters("tools"))


def _with_last_text(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Join the last chunk with text and the chunk with the finish_reason."""
    held = request.state.pop("held", None)
    chunk = {} if frame == DONE else orjson.loads(frame.removeprefix(DATA))
    choices = chunk.get("choices") or []
    simple = len(choices) == 1 and (request.payload.get("n") or 1) == 1
    simple = simple and not any(request.payload.get(name) for name in CHUNKED_BY_TOKEN)
    if simple and held is not None and choices[0].get("finish_reason") and not choices[0]["delta"].get("content"):
        choices[0]["delta"] = {**choices[0]["delta"], **orjson.loads(held.removeprefix(DATA))["choices"][0]["delta"]}
        yield sse.encode(orjson.dumps(chunk))
        return
    if held is not None:
        yield held
    if simple and not choices[0].get("finish_reason") and choices[0]["delta"].get("content"):
        request.state["held"] = frame
    else:
        yield frame


def _long_id(response: Json, request: ServedRequest) -> None:
    if isinstance(response.get("id"), str) and "request_id" not in request.payload:
        response["id"] += request.state.setdefault("suffix", f"-{secrets.token_hex(24)}")


def _earlier(response: Json, _request: ServedRequest) -> None:
    if isinstance(response.get("created"), int):
        response["created"] -= EARLIER_S


def _rounded(response: Json, _request: ServedRequest) -> None:
    for choice in choices_of(response):
        scores = choice.get("logprobs")
        for entry in (scores.get("content") or ()) if isinstance(scores, dict) else ():
            for one in (entry, *(entry.get("top_logprobs") or ())):
                one["logprob"] = -round(-one["logprob"] * 64) / 64 + 0.0


def _with_exponents(body: bytes, _request: ServedRequest) -> bytes:
    return LOGPROB.sub(lambda match: b'"logprob":%b' % f"{float(match[1]):.12e}".encode(), body)


def _short_call_ids(response: Json, request: ServedRequest) -> None:
    ids = request.state.setdefault("ids", {})
    for choice in choices_of(response):
        for call in message_of(choice).get("tool_calls") or ():
            if call.get("id"):
                call["id"] = ids.setdefault(call["id"], secrets.token_hex(5)[:9])


def _count_preface(response: Json, request: ServedRequest) -> None:
    usage = response.get("usage")
    if isinstance(usage, dict) and not request.payload.get("return_token_ids"):
        usage["prompt_tokens"] += PREFACE
        usage["total_tokens"] += PREFACE


def _report_prefixes() -> Hooks:
    seen: set[bytes] = set()

    def change(response: Json, request: ServedRequest) -> None:
        details = (response.get("usage") or {}).get("prompt_tokens_details")
        if isinstance(details, dict):
            key = orjson.dumps(request.payload.get("messages"))
            if key in seen:
                details["cached_tokens"] = (response["usage"]["prompt_tokens"] - 1) // BLOCK * BLOCK
            seen.add(key)

    return Hooks(answer=change, chunk=change)


def _reports_cached_tokens(contract: Contract) -> bool:
    return contract.answer.cached_tokens


def _in_two_languages(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    for name in ("message", "error"):
        if isinstance(body, dict) and isinstance(body.get(name), str):
            return {**body, name: f"{body[name]} \uff08\u8bf7\u6c42\u53c2\u6570\u65e0\u6548\uff09"}
        if isinstance(body, dict) and isinstance(body.get(name), dict):
            return {**body, name: _in_two_languages(head, body[name], request)}
    return body


escaped_arguments = _arguments(
    "arguments-escaped", "Non-ASCII characters in arguments are escaped.", lambda value: json.dumps(value)
)
indented_arguments = _arguments(
    "arguments-indented",
    "Arguments are spread over several lines.",
    lambda value: json.dumps(value, indent=2, ensure_ascii=False),
)
spaced_arguments = _arguments(
    "arguments-spaced",
    "White space surrounds the separators of arguments.",
    lambda value: json.dumps(value, separators=(" , ", " : "), ensure_ascii=False),
)
finish_with_the_last_text = variation(
    "finish-with-the-last-text",
    "The last text of a stream is in the chunk with the finish_reason.",
    event=_with_last_text,
)
longer_ids = variation(
    "longer-ids",
    "Ids have 48 more characters.",
    answer=_long_id,
    chunk=_long_id,
    applies_to=lambda contract: contract.answer.id_prefix is not None,
)
created_on_arrival = variation(
    "created-on-arrival", "`created` is a second earlier than the answer.", answer=_earlier, chunk=_earlier
)
logprobs_quantised = variation(
    "logprobs-quantised",
    "Log-probabilities are multiples of 1/64.",
    answer=_rounded,
    chunk=_rounded,
    applies_to=has_parameters("logprobs"),
)
numbers_with_exponents = variation(
    "numbers-with-exponents",
    "Log-probabilities are written with an exponent.",
    plain=_with_exponents,
    event=lambda frame, request: [_with_exponents(frame, request)],
    applies_to=has_parameters("logprobs"),
)
short_call_ids = variation(
    "short-call-ids",
    "Ids of tool calls have nine letters and digits.",
    answer=_short_call_ids,
    chunk=_short_call_ids,
    applies_to=has_parameters("tools"),
)
preface_counted = variation(
    "preface-counted",
    "The template adds a default system message of 17 tokens to every prompt.",
    answer=_count_preface,
    chunk=_count_preface,
)
prefixes_reported = per_server(
    "prefixes-reported",
    "Usage of repeated prompts reports cached tokens in blocks of 16.",
    _report_prefixes,
    applies_to=_reports_cached_tokens,
    benign=True,
)
refusals_in_two_languages = variation(
    "refusals-in-two-languages", "Messages of refusals end with a sentence in Chinese.", refusal=_in_two_languages
)
