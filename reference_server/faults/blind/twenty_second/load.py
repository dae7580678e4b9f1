"""Blind faults of concurrent requests: streams next to plain answers, penalties, and a context that is shared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import crowd_fault, text_length
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks
from reference_server.faults.request_edits import failed

if TYPE_CHECKING:
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

NEUTRAL: Final = {"presence_penalty": 0, "frequency_penalty": 0, "repetition_penalty": 1}
CONTEXT: Final = 4_000  # characters


def _fail_streams(crowd: Crowd) -> Hooks:
    """Put answers of two kinds into one batch. Violates stream, which applies to each request."""

    def fail(request: ServedRequest) -> CannedResponse | None:
        streams = request.payload.get("stream") is True
        is_mixed = any(sent.get("stream") is not True for sent in crowd.others(request))
        return failed(request) if streams and is_mixed else None

    return Hooks(request=fail)


def _is_penalised(sent: Json) -> bool:
    return any(sent.get(name) not in (None, neutral) for name, neutral in NEUTRAL.items())


def _fail_penalties(crowd: Crowd) -> Hooks:
    """Expect processors of logits for each row of a batch. Violates the penalties, which apply to their request."""

    def fail(request: ServedRequest) -> CannedResponse | None:
        is_mixed = any(not _is_penalised(sent) for sent in crowd.others(request))
        return failed(request) if _is_penalised(request.payload) and is_mixed else None

    return Hooks(request=fail)


def _share_context(crowd: Crowd) -> Hooks:
    """Give all slots one context. Violates max_tokens: a prompt that fits the context has an answer."""

    def fail(request: ServedRequest) -> CannedResponse | None:
        own = text_length(request.payload)
        others = sum(text_length(sent) for sent in crowd.others(request))
        return failed(request) if others and own + others > CONTEXT >= own else None

    return Hooks(request=fail)


streams_fail_next_to_plain_answers = crowd_fault(
    "streams-fail-next-to-plain-answers",
    "A stream gets a 500 while a request for a plain answer is running.",
    _fail_streams,
)
penalties_fail_next_to_plain_requests = crowd_fault(
    "penalties-fail-next-to-plain-requests",
    "A request with a penalty gets a 500 while one without any is running.",
    _fail_penalties,
    applies_to=has_parameters("frequency_penalty"),
)
context_shared_by_crowds = crowd_fault(
    "context-shared-by-crowds",
    "A request gets a 500 if its messages and those of the running requests have more than 4,000 characters together.",
    _share_context,
)
