"""Blind faults in which something is left over from an earlier request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import is_number, messages_of, per_server
from reference_server.faults.decorators import choices_of, has_parameters, message_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

MOST_BIAS: Final = 100.0
ENDLESS: Final = 3  # requests
LONG: Final = 120  # characters
SHOWN: Final = 24  # characters


def _is_bias(value: Any) -> bool:
    return isinstance(value, dict) and all(is_number(item, -MOST_BIAS, MOST_BIAS) for item in value.values())


def _keep_bias() -> Hooks:
    kept: list[Json] = []

    def change(request: ServedRequest) -> None:
        bias = request.payload.get("logit_bias")
        if bias is not None:
            kept[:] = [bias] if _is_bias(bias) else []
        elif kept:
            request.payload["logit_bias"] = kept.pop()

    return Hooks(request=change)


def _keep_endless() -> Hooks:
    left = [0]

    def change(request: ServedRequest) -> None:
        if "ignore_eos" in request.payload:
            left[0] = ENDLESS if request.payload["ignore_eos"] is True else 0
        elif left[0]:
            left[0] -= 1
            request.payload["ignore_eos"] = True

    return Hooks(request=change)


def _last_text(sent: Json) -> str:
    messages = messages_of(sent)
    content = messages[-1].get("content") if messages else None
    return content if isinstance(content, str) else ""


def _leak_prompts() -> Hooks:
    earlier: list[str] = []

    def change(answer: Json, request: ServedRequest) -> None:
        own = _last_text(request.payload)
        if len(own) > LONG:
            earlier[:] = [own[-SHOWN:]]
            return
        for choice in choices_of(answer) if earlier else ():
            said = message_of(choice)
            if said.get("content") and choice.get("finish_reason") == "stop":
                said["content"] += f" {earlier.pop()}"
                return

    return Hooks(answer=change)


def _answer_null() -> Hooks:
    last = [b""]

    def change(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
        repeated = bool(request.body) and request.body == last[0]
        last[0] = request.body
        if repeated:
            head.status = 200
            return None
        return body

    return Hooks(refusal=change)


biases_last_for_one_more = per_server(
    "biases-last-for-one-more",
    "A logit_bias also applies to the next request, if that has none.",
    _keep_bias,
    applies_to=has_parameters("logit_bias"),
)
ends_stay_ignored = per_server(
    "ends-stay-ignored",
    "After a request with `ignore_eos`, the next three that do not mention it ignore the end too.",
    _keep_endless,
    applies_to=has_parameters("ignore_eos"),
)
long_prompts_appear_later = per_server(
    "long-prompts-appear-later",
    "The end of a long message is the end of the next plain answer to a short one.",
    _leak_prompts,
)
second_refusals_are_null = per_server(
    "second-refusals-are-null",
    "If a request that was refused is sent again, the answer has the status 200 and the body `null`.",
    _answer_null,
)
