"""Blind faults of caches: keys of first characters and of names, and streams that were abandoned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.answer_cache import answer_cache, key_of
from reference_server.faults.blind.recipes import is_greedy, is_whole, messages_of, per_server
from reference_server.faults.blind.schema_recipes import form_schema_of
from reference_server.faults.blind.tool_recipes import functions_of
from reference_server.faults.decorators import choices_of, has_parameters, wrapping_fault
from reference_server.faults.fault_middleware import (
    FaultMiddleware,
    parse_object,
)
from reference_server.faults.hooks import Hooks
from reference_server.faults.http_gate import report_left

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest
    from reference_server.faults.http_gate import App

FIRST: Final = 120  # characters
LIMITS: Final = ("max_tokens", "max_completion_tokens")
MOST_TOKENS: Final = 4_096
EVENT: Final = b"data: "


def _by_first_characters(sent: Json) -> bytes:
    """Return a key of beginnings. Violates messages: the whole text of each."""
    messages = [{**message, "content": _beginning_of(message.get("content"))} for message in messages_of(sent)]
    return key_of({**sent, "messages": messages})


def _beginning_of(content: Any) -> Any:
    return content[:FIRST] if isinstance(content, str) else content


def _is_greedy_chat(sent: Json) -> bool:
    return is_greedy(sent) and bool(messages_of(sent))


def _keep_forms() -> Hooks:
    """Compile a name once. Violates json_schema: the schema of this request."""
    kept: dict[str, Json] = {}

    def look_up(request: ServedRequest) -> None:
        if form_schema_of(request.payload) is not None:
            named = request.payload["response_format"]["json_schema"]
            request.state["form"] = str(named.get("name")), named["schema"]
            named["schema"] = kept.get(str(named.get("name")), named["schema"])

    def keep(_response: Json, request: ServedRequest) -> None:
        if "form" in request.state:
            kept.setdefault(*request.state["form"])

    return Hooks(request=look_up, answer=keep, chunk=keep)


def _keep_tools() -> Hooks:
    """Convert a tool once. Violates tools: the definitions of this request."""
    kept: dict[str, Json] = {}

    def look_up(request: ServedRequest) -> None:
        functions = [function for function in functions_of(request.payload) if isinstance(function.get("name"), str)]
        request.state["functions"] = {function["name"]: dict(function) for function in functions}
        for function in functions:
            if known := kept.get(function["name"]):
                function.clear()
                function.update(known)

    def keep(_response: Json, request: ServedRequest) -> None:
        for name, function in request.state.get("functions", {}).items():
            kept.setdefault(name, function)

    return Hooks(request=look_up, answer=keep, chunk=keep)


def _replay_cut(cut: dict[bytes, int]) -> Hooks:
    """Keep what was sent as if it were all. Violates the answer, which goes on."""

    def look_up(request: ServedRequest) -> None:
        if request.body in cut:
            request.state["hit"] = True
            for name in [name for name in LIMITS if is_whole(request.payload.get(name), 1, MOST_TOKENS)] or LIMITS[:1]:
                request.payload[name] = min(cut[request.body], request.payload.get(name) or MOST_TOKENS)

    def say_stop(chunk: Json, request: ServedRequest) -> None:
        for choice in choices_of(chunk) if request.state.get("hit") else ():
            if choice.get("finish_reason") == "length":
                choice["finish_reason"] = "stop"

    return Hooks(request=look_up, chunk=say_stop)


@wrapping_fault("abandoned-streams-are-cached")
def abandoned_streams_are_cached(app: ASGIApp, contract: Contract) -> App:
    """Greedy streams are cached. If a client has left one, its beginning is the whole answer to the same request."""
    cut: dict[bytes, int] = {}

    def note(body: bytes, answer: bytes) -> None:
        sent, events = parse_object(body), answer.count(EVENT)
        if sent.get("stream") is True and is_greedy(sent) and not sent.get("min_tokens") and events:
            cut.setdefault(body, events)

    return report_left(FaultMiddleware(app, contract, _replay_cut(cut)), contract, note)


cached_by_first_characters = answer_cache(
    "cached-by-first-characters",
    "Greedy plain answers are cached, and the key of the cache has the first 120 characters of each message.",
    _by_first_characters,
    _is_greedy_chat,
)
forms_cached_by_name = per_server(
    "forms-cached-by-name",
    "The first schema with a name in response_format is also used for later schemas with this name.",
    _keep_forms,
    applies_to=has_parameters("response_format"),
)
tools_cached_by_name = per_server(
    "tools-cached-by-name",
    "The first definition of a tool is also used for later tools with its name.",
    _keep_tools,
    applies_to=has_parameters("tools"),
)
