"""Blind faults that depend on other requests that are running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import Crowd, crowd_fault, is_number, messages_of
from reference_server.faults.decorators import choices_of, message_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

PENALTIES: Final = ("presence_penalty", "frequency_penalty", "repetition_penalty")
SHARED: Final = 16  # characters
SHOWN: Final = 20  # characters
GREATEST: Final = 100.0


def _is_bound_to_grammar(sent: Json) -> bool:
    form = sent.get("response_format")
    formed = isinstance(form, dict) and str(form.get("type", "")).startswith("json")
    return formed or sent.get("tool_choice") == "required"


def _exclaim(crowd: Crowd) -> Hooks:
    def note(request: ServedRequest) -> None:
        others = crowd.others(request)
        free = not _is_bound_to_grammar(request.payload)
        request.state["masked"] = free and any(map(_is_bound_to_grammar, others))

    def change(response: Json, request: ServedRequest) -> None:
        for choice in choices_of(response) if request.state.get("masked") else ():
            said = message_of(choice)
            if said.get("content"):
                said["content"] = "!" * len(said["content"])

    return Hooks(request=note, answer=change, chunk=change)


def _is_penalty(name: str, value: Any) -> bool:
    neutral = 1.0 if name == "repetition_penalty" else 0.0
    return is_number(value, -GREATEST, GREATEST) and value != neutral


def _has_penalty(sent: Json) -> bool:
    return any(_is_penalty(name, sent.get(name)) for name in PENALTIES)


def _lose_penalties(crowd: Crowd) -> Hooks:
    def change(request: ServedRequest) -> None:
        mixed = any(not _has_penalty(other) for other in crowd.others(request))
        for name in PENALTIES if mixed else ():
            if _is_penalty(name, request.payload.get(name)):
                del request.payload[name]

    return Hooks(request=change)


def _last_text(sent: Json) -> str:
    messages = messages_of(sent)
    content = messages[-1].get("content") if messages else None
    return content if isinstance(content, str) else ""


def _leak_prompts(crowd: Crowd) -> Hooks:
    def note(request: ServedRequest) -> None:
        own = _last_text(request.payload)
        alike = [
            text
            for text in map(_last_text, crowd.others(request))
            if len(text) > SHARED and text[:SHARED] == own[:SHARED] and text != own
        ]
        request.state["leak"] = alike[0][-SHOWN:] if alike else ""

    def change(answer: Json, request: ServedRequest) -> None:
        for choice in choices_of(answer) if request.state.get("leak") else ():
            said = message_of(choice)
            if said.get("content"):
                said["content"] = f"{request.state['leak']} {said['content']}"

    return Hooks(request=note, answer=change)


free_text_masked_beside_forms = crowd_fault(
    "free-text-masked-beside-forms",
    "While a request with a schema or a required call is running, other answers consist of exclamation marks.",
    _exclaim,
)
penalties_lost_beside_plain_requests = crowd_fault(
    "penalties-lost-beside-plain-requests",
    "While a request without penalties is running, penalties are ignored.",
    _lose_penalties,
)
prompts_with_one_beginning_leak = crowd_fault(
    "prompts-with-one-beginning-leak",
    "A plain answer begins with the end of another message that is being answered and has the same beginning.",
    _leak_prompts,
)
