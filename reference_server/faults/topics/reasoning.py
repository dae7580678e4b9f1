"""Faults in how the server returns reasoning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import (
    choice_fault,
    envelope_fault,
    has_parameters,
    hooked_fault,
    message_of,
    requires_check,
)

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

MEMBERS: Final = ("reasoning_content", "reasoning")


thought_empty = choice_fault(
    "thought-empty",
    lambda choice, _request: message_of(choice).update(reasoning_content=7),
    "The reasoning is a number.",
    bugs=[139],
)


def thinks(contract: Contract) -> bool:
    """Apply to dialects with reasoning."""
    return "thinking" in contract.capabilities


def _thought(said: Json) -> str | None:
    """Remove and return the reasoning of a message or delta."""
    found = [said.pop(name) for name in MEMBERS if said.get(name)]
    return found[0] if found else None


def _leak(choice: Json, _request: ServedRequest) -> None:
    said = message_of(choice)
    if thought := _thought(said):
        said["content"] = f"<think>{thought}</think>{said.get('content') or ''}"


def _leak_pieces(chunk: Json, request: ServedRequest) -> None:
    for choice in chunk["choices"]:
        said = choice["delta"]
        thought = _thought(said)
        if thought is not None:
            opening = "" if request.state.get("thinking") else "<think>"
            request.state["thinking"] = True
            said["content"] = opening + thought + (said.get("content") or "")
        elif request.state.pop("thinking", False):
            said["content"] = "</think>" + (said.get("content") or "")


def _renamed(choice: Json, _request: ServedRequest) -> None:
    said = message_of(choice)
    if thought := _thought(said):
        said["thinking"] = thought


def _nothing_else(choice: Json, _request: ServedRequest) -> None:
    said = message_of(choice)
    if any(said.get(name) for name in MEMBERS):
        said["content"] = None


thoughts_leak = choice_fault(
    "thoughts-leak",
    _leak,
    "Plain answers contain the reasoning in the content, between tags.",
    streamed=False,
    applies_to=thinks,
    bugs=[136],
)
thoughts_leak_in_streams = hooked_fault(
    "thoughts-leak-in-streams",
    "Streams contain the reasoning in the content, between tags.",
    chunk=_leak_pieces,
    applies_to=thinks,
    bugs=[135],
)
thoughts_renamed = choice_fault(
    "thoughts-renamed", _renamed, "The reasoning field has another name.", applies_to=thinks, bugs=[137]
)
nothing_but_thoughts = choice_fault(
    "nothing-but-thoughts", _nothing_else, "An answer with reasoning has no content.", applies_to=thinks, bugs=[138]
)


def _dropped(choice: Json, _request: ServedRequest) -> None:
    _thought(message_of(choice))


def _last_thought(choice: Json, _request: ServedRequest) -> None:
    if choice["finish_reason"] is not None:
        message_of(choice)[MEMBERS[0]] = "And so on."


def _think_always(request: ServedRequest) -> None:
    options = request.payload.get("chat_template_kwargs")
    if isinstance(options, dict):
        options.pop("enable_thinking", None)
    request.payload.pop("reasoning_effort", None)


def _counted_as_none(response: Json, _request: ServedRequest) -> None:
    details = (response.get("usage") or {}).get("completion_tokens_details")
    if isinstance(details, dict) and "reasoning_tokens" in details:
        details["reasoning_tokens"] = 0


thoughts_counted_as_none = envelope_fault(
    "thoughts-counted-as-none",
    _counted_as_none,
    "Usage reports 0 reasoning tokens for an answer with reasoning.",
    applies_to=lambda contract: (
        thinks(contract) and has_parameters("chat_template_kwargs", "reasoning_effort")(contract)
    ),
)
thoughts_dropped = choice_fault("thoughts-dropped", _dropped, "Requested reasoning is missing.", applies_to=thinks)
thoughts_dropped_in_streams = choice_fault(
    "thoughts-dropped-in-streams", _dropped, "Streams have no reasoning.", plain=False, applies_to=thinks, bugs=[135]
)


def _repeat_cut(choice: Json, _request: ServedRequest) -> None:
    said = message_of(choice)
    found = [said[name] for name in MEMBERS if said.get(name)]
    if found and choice.get("finish_reason") == "length" and not said.get("content"):
        said["content"] = found[0]


thoughts_cut_are_answers = choice_fault(
    "cut-thoughts-repeated",
    _repeat_cut,
    "Reasoning that the limit of tokens cuts off is sent again as content.",
    streamed=False,
    applies_to=thinks,
)
thoughts_at_the_end = choice_fault(
    "thoughts-at-the-end",
    _last_thought,
    "The last delta of a stream contains reasoning.",
    plain=False,
    applies_to=thinks,
)
thoughts_not_off = hooked_fault(
    "thoughts-not-off", "Reasoning cannot be disabled.", request=_think_always, applies_to=thinks
)


def _think_less(request: ServedRequest) -> None:
    if request.payload.get("stop") and isinstance(request.payload.get("chat_template_kwargs"), dict):
        request.payload["chat_template_kwargs"] = {"enable_thinking": False}


thoughts_lost_next_to_stops = hooked_fault(
    "thoughts-lost-next-to-stops",
    "With a stop string the reasoning is missing.",
    request=_think_less,
    applies_to=thinks,
)


def _write_at_once(request: ServedRequest) -> None:
    form = request.payload.get("response_format")
    if isinstance(form, dict) and form.get("type") != "text":
        request.payload["chat_template_kwargs"] = {"enable_thinking": False}


thoughts_lost_in_forms = hooked_fault(
    "thoughts-lost-in-forms",
    "With a response_format the answer begins at once, without reasoning.",
    request=_write_at_once,
    applies_to=requires_check("reasoning.kept-in-forms"),
)


def _make_an_effort(request: ServedRequest) -> None:
    if request.payload.get("reasoning_effort") in ("none", "minimal"):
        request.payload["reasoning_effort"] = "medium"


efforts_raised = hooked_fault(
    "least-efforts-raised",
    "A `reasoning_effort` of none or minimal counts as medium.",
    request=_make_an_effort,
    applies_to=requires_check("reasoning.none-without-effort"),
    declares=("thinking",),
)


def _stop_thinking(request: ServedRequest) -> None:
    messages = request.payload.get("messages")
    roles = [item.get("role") for item in messages if isinstance(item, dict)] if isinstance(messages, list) else []
    keywords = request.payload.get("chat_template_kwargs")
    if "system" in roles and "assistant" in roles and isinstance(keywords, dict) and keywords.get("enable_thinking"):
        request.payload["chat_template_kwargs"] = {**keywords, "enable_thinking": False}


def _think_after_instructions(request: ServedRequest) -> None:
    keywords = request.payload.get("chat_template_kwargs")
    if request.payload.get("response_format") and isinstance(keywords, dict):
        request.payload["chat_template_kwargs"] = {**keywords, "enable_thinking": True}


thinking_lost_in_conversations = hooked_fault(
    "thinking-lost-in-conversations",
    "With instructions and an earlier answer, reasoning is turned off.",
    request=_stop_thinking,
    applies_to=lambda contract: thinks(contract) and "chat_template_kwargs" in contract.parameters,
    bugs=[139],
)
thinking_kept_next_to_forms = hooked_fault(
    "thinking-kept-next-to-forms",
    "With a response_format, reasoning cannot be turned off.",
    request=_think_after_instructions,
    applies_to=lambda contract: (
        thinks(contract) and {"chat_template_kwargs", "response_format"} <= contract.parameters.keys()
    ),
    bugs=[139],
)
