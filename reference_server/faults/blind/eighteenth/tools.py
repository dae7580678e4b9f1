"""Blind faults of tools: arguments of several calls, descriptions with quotes, and results by their ids."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import messages_of, refusing, when
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

QUOTE: Final = '"'
SIGNS: Final = re.compile(r"[^A-Za-z0-9_]")


def _prefix_calls(answer: Json, _request: ServedRequest) -> None:
    """Keep the buffer of the calls before. Violates function.arguments: those of the call."""
    for choice in choices_of(answer):
        before = ""
        for call in message_of(choice).get("tool_calls") or ():
            function = call.get("function") or {}
            own = function.get("arguments") or ""
            if before:
                function["arguments"] = before + own
            before += own


def _prefix_streamed_calls(chunk: Json, request: ServedRequest) -> None:
    """Do the same in streams, where the first piece of a call begins with the earlier arguments."""
    for choice in choices_of(chunk):
        texts: dict[int, str] = request.state.setdefault("texts", {}).setdefault(choice.get("index"), {})
        for call in message_of(choice).get("tool_calls") or ():
            function, index = call.get("function") or {}, call.get("index", 0)
            piece = function.get("arguments")
            if piece and not texts.get(index):
                function["arguments"] = "".join(text for at, text in sorted(texts.items()) if at < index) + piece
            texts[index] = texts.get(index, "") + (piece or "")


def _has_quotes(tool: Any) -> bool:
    function = tool.get("function") if isinstance(tool, dict) else None
    return isinstance(function, dict) and QUOTE in str(function.get("description"))


def _drop_quoted(request: ServedRequest) -> None:
    """Render descriptions unescaped. Violates tools: all of them may be called."""
    tools = request.payload.get("tools")
    if not isinstance(tools, list) or request.payload.get("tool_choice") not in (None, "auto"):
        return
    kept = [tool for tool in tools if not _has_quotes(tool)]
    if kept:
        request.payload["tools"] = kept
    elif tools:
        request.payload.pop("tools")
        request.payload.pop("tool_choice", None)


def _sort_results(request: ServedRequest) -> None:
    """Join results by their keys. Violates messages: the conversation in its order."""
    messages = messages_of(request.payload)
    runs = [(role, list(run)) for role, run in groupby(messages, lambda message: message.get("role"))]
    ordered = [
        sorted(run, key=lambda message: str(message.get("tool_call_id"))) if role == "tool" else run
        for role, run in runs
    ]
    if messages:
        request.payload["messages"] = [message for run in ordered for message in run]


def _has_signs_in_ids(sent: Json) -> bool:
    ids = [message.get("tool_call_id") for message in messages_of(sent)]
    return any(isinstance(call_id, str) and SIGNS.search(call_id) for call_id in ids)


later_calls_begin_with_earlier_arguments = hooked_fault(
    "later-calls-begin-with-earlier-arguments",
    "The arguments of each call after the first one begin with those of the calls that precede it.",
    answer=_prefix_calls,
    chunk=_prefix_streamed_calls,
    applies_to=has_parameters("tools"),
)
quotes_in_descriptions_lose_tools = hooked_fault(
    "quotes-in-descriptions-lose-tools",
    "Tools whose description has a quotation mark are not offered to the model.",
    request=_drop_quoted,
    applies_to=has_parameters("tools"),
)
results_sorted_by_their_ids = hooked_fault(
    "results-sorted-by-their-ids",
    "The results of several calls reach the model in the order of their ids.",
    request=_sort_results,
    applies_to=has_parameters("tools"),
)
# Violates tool_call_id: any string.
signs_in_call_ids_refused = when(
    "signs-in-call-ids-refused",
    "A result is refused if the id of its call has other characters than ASCII letters, digits and underscores.",
    _has_signs_in_ids,
    refusing("messages.tool_call_id must be a-z, A-Z, 0-9"),
    applies_to=has_parameters("tools"),
)
