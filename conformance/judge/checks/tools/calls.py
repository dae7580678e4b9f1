"""Checks of the fields that a client needs to execute a tool call: name, id and arguments, plain and streamed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, NotObserved, check, relation
from conformance.judge.applicability import STREAMED_ANSWER, why_unanswered
from conformance.judge.checks.tools.choice import OFFERED, with_tools
from openapi.stream.accumulated_choice import INPUT_FIELDS, is_index, kind_of_call
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange
    from openapi.stream.accumulated_choice import ToolCall

OFFERED_STREAM = with_tools(STREAMED_ANSWER)
MOST_CHARACTERS = 16
"""Characters of arguments that a token may have on average; the tokens of usual vocabularies have 3 to 4."""
REPEATED = re.compile(r"\s+|(.)\1+")


def find_calls(exchange: Exchange) -> list[tuple[str, ToolCall]]:
    """Return (path, call) for every tool call. Raises NotExercised if no tool is called."""
    calls = [
        (f"/choices/{index}/message/tool_calls/{at}", call)
        for index, choice in exchange.choices.items()
        for at, call in enumerate(choice.tool_calls)
    ]
    if not calls:
        raise NotExercised("no tool is called")
    return calls


def complete_calls(exchange: Exchange) -> list[tuple[str, ToolCall]]:
    """Return (path, call) for every complete tool call: the last one of a choice that was cut off may not be complete.

    Raises NotExercised if no call is complete.
    """
    complete = [
        (f"/choices/{index}/message/tool_calls/{at}", call)
        for index, choice in exchange.choices.items()
        for at, call in enumerate(choice.tool_calls[:-1] if choice.finish_reason == "length" else choice.tool_calls)
    ]
    if not complete:
        raise NotExercised("no tool is called, or the answer was cut off within its only call")
    return complete


def offered_functions(exchange: Exchange) -> dict[str, dict[str, Any]]:
    """Return the functions that the request offers, by name."""
    functions = [tool.get("function") for tool in exchange.request_json.get("tools") or () if isinstance(tool, dict)]
    return {function["name"]: function for function in functions if isinstance(function, dict) and "name" in function}


def _offered_kinds(exchange: Exchange) -> dict[str, set[str]]:
    """Return the kinds of the tools that the request offers or its tool_choice names, by name."""
    choice = exchange.request_json.get("tool_choice")
    kinds: dict[str, set[str]] = {}
    for tool in (*(exchange.request_json.get("tools") or ()), choice):
        kind = kind_of_call(tool) if isinstance(tool, dict) else None
        if kind is not None and isinstance(tool[kind].get("name"), str):
            kinds.setdefault(tool[kind]["name"], set()).add(kind)
    return kinds


@check("tools.name-offered", on=OFFERED)
def called_name_is_one_of_those_offered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The name of every call is exactly one that the request offers, or names in tool_choice."""
    offered = _offered_kinds(exchange)
    for where, call in complete_calls(exchange):
        if call.name not in offered:
            yield Finding(f"{where}/{call.kind}/name", " or ".join(offered)[:200], repr(call.name)[:120])


@check("tools.arguments-are-an-object", on=OFFERED)
def arguments_are_a_json_object(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The arguments of every complete call of a function are a string with one JSON object."""
    for where, call in complete_calls(exchange):
        if call.kind != "function":
            continue
        reading = read_json(call.arguments or "")
        if reading.error or not isinstance(reading.value, dict):
            yield Finding(f"{where}/function/arguments", "one JSON object", repr(call.arguments)[:200])


@check("tools.tokens-counted", on=OFFERED)
def calls_count_their_tokens(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The calls of an answer count completion tokens: at least one for every 16 characters of their arguments.

    White space and repeated characters do not count, because one token may have many of them.
    """
    arguments = [call.arguments or "" for _where, call in find_calls(exchange)]
    least = max(1, sum(len(REPEATED.sub(r"\1", text)) for text in arguments) // MOST_CHARACTERS)
    usage = exchange.usage or {}
    count = usage.get("completion_tokens")
    if type(count) is not int:
        raise NotExercised("the answer has no usage")
    if exchange.is_stream and len(exchange.walk.usages) > 1:
        raise NotExercised("the stream has usage more than once")
    if count < least:
        yield Finding("/usage/completion_tokens", f"at least {least}", f"{count}")


@check("tools.ids-given", on=OFFERED)
def every_call_has_an_id(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every call has an id, with which its result is sent back."""
    for where, call in find_calls(exchange):
        if not call.ids:
            yield Finding(f"{where}/id", "a string", "none")


@check("tools.ids-unique", on=OFFERED)
def ids_of_calls_differ(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No two calls of an answer have the same id."""
    ids = [(where, call.ids[0]) for where, call in find_calls(exchange) if call.ids]
    for at, (where, identity) in enumerate(ids):
        if identity in [other for _, other in ids[:at]]:
            yield Finding(f"{where}/id", "a different id", repr(identity)[:80])


@check("tools.type-function", on=OFFERED)
def type_of_a_call_is_that_of_its_tool(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every call has the type of the tool that it calls: "function", or "custom" with the `input` of a custom tool."""
    offered = _offered_kinds(exchange)
    for where, call in find_calls(exchange):
        kinds = offered.get(call.name, {"function"})
        if call.kind not in kinds or set(call.types) != {call.kind}:
            yield Finding(f"{where}/type", " or ".join(sorted(kinds)), f"{[call.kind, *call.types]}"[:80])


def _pieces(exchange: Exchange) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield (path, choice, piece) for every piece of a call in a stream. Raises NotExercised if no tool is called."""
    found = False
    for at, chunk in exchange.walk.chunks:
        choices = chunk.get("choices")
        for position, choice in enumerate(choices if isinstance(choices, list) else []):
            delta = choice.get("delta") if isinstance(choice, dict) else None
            pieces = delta.get("tool_calls") if isinstance(delta, dict) else None
            for place, piece in enumerate(pieces if isinstance(pieces, list) else []):
                if isinstance(piece, dict):
                    found = True
                    index = choice.get("index")
                    path = f"/events/{at}/choices/{position}/delta/tool_calls/{place}"
                    yield path, index if is_index(index) else position, piece
    if not found:
        raise NotExercised("no tool is called")


@check("tools.streamed-index-given", on=OFFERED_STREAM)
def every_piece_has_an_index(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every piece of a call in a stream has an integer index that identifies the call."""
    for where, _choice, piece in _pieces(exchange):
        if type(piece.get("index")) is not int or piece["index"] < 0:
            yield Finding(f"{where}/index", "an integer", repr(piece.get("index", "absent"))[:80])


@check("tools.streamed-indices-in-order", on=OFFERED_STREAM)
def indices_of_calls_count_from_zero(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The calls of a stream have the indices 0, 1, ... in the order in which they begin."""
    seen: dict[int, list[int]] = {}
    for where, choice, piece in _pieces(exchange):
        index, known = piece.get("index"), seen.setdefault(choice, [])
        if type(index) is int and index not in known:
            if index != len(known):
                yield Finding(f"{where}/index", f"{len(known)}", f"{index}")
            known.append(index)


@check("tools.streamed-index-per-call", on=OFFERED_STREAM)
def every_call_has_an_index_of_its_own(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Two calls of a stream never share an index: a piece with a different id belongs to a different call."""
    known: dict[tuple[int, str], str] = {}
    for where, choice, piece in _pieces(exchange):
        identity = piece.get("id")
        if isinstance(identity, str) and identity:
            first = known.setdefault((choice, repr(piece.get("index"))), identity)
            if first != identity:
                yield Finding(f"{where}/index", f"another than that of {first!r}", repr(piece.get("index"))[:80])


@check("tools.streamed-name-once", on=OFFERED_STREAM)
def name_of_a_call_is_streamed_once(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The name of a call is sent once: clients join the pieces, and a repeated name matches no function."""
    for where, call in find_calls(exchange):
        if len(call.names) != 1:
            yield Finding(f"{where}/function/name", "once", f"{list(call.names)}"[:120])


@check("tools.streamed-name-first", on=OFFERED_STREAM)
def name_comes_before_the_arguments(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The name of a call comes with the first piece of its arguments, or earlier."""
    named: set[tuple[int, str]] = set()
    for where, choice, piece in _pieces(exchange):
        kind = kind_of_call(piece) or "function"
        tool, field = piece.get(kind), INPUT_FIELDS[kind]
        tool = tool if isinstance(tool, dict) else {}
        key = (choice, repr(piece.get("index")))
        if tool.get("name"):
            named.add(key)
        if tool.get(field) and key not in named:
            yield Finding(f"{where}/{kind}/{field}", "the name first", repr(tool[field])[:80])
            return


@check("tools.streamed-parts-not-empty", on=OFFERED_STREAM)
def names_and_ids_in_pieces_are_not_empty(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A name or an id in a piece of a streamed call is not an empty string: later pieces leave them out, or have null.

    Clients that replace what they know by what a piece has would lose the name and the id of the call.
    """
    for where, _choice, piece in _pieces(exchange):
        kind = kind_of_call(piece) or "function"
        for path, holder, name in (("", piece, "id"), (f"/{kind}", piece.get(kind), "name")):
            if isinstance(holder, dict) and holder.get(name) == "":
                yield Finding(f"{where}{path}/{name}", "null, or absent", "an empty string")
                return


@relation("tools.streamed-as-plain", over=("plain", "streamed", "plain-again", "streamed-again"), unmet=why_unanswered)
def streamed_calls_are_the_plain_ones(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request calls the same tools with the same arguments, streamed and plain."""
    if not any(choice.tool_calls for exchange in exchanges.values() for choice in exchange.choices.values()):
        raise NotExercised("no tool is called")
    calls = {
        name: [parse_call(call) for call in exchange.first_choice.tool_calls]
        for name, exchange in exchanges.items()
        if exchange.first_choice
    }
    if len(calls) < len(exchanges):
        raise NotObserved("an answer has no choices")
    if calls["plain"] != calls["plain-again"] or calls["streamed"] != calls["streamed-again"]:
        raise NotExercised("greedy answers of this server do not repeat")
    if calls["plain"] != calls["streamed"]:
        yield Finding(
            "/choices/0/message/tool_calls", repr(calls["plain"])[:200], f"streamed: {calls['streamed']}"[:200]
        )


def parse_call(call: ToolCall) -> tuple[str, Any]:
    """Return the name of a call and its arguments, parsed if they are JSON."""
    reading = read_json(call.arguments or "")
    return call.name, call.arguments if reading.error else reading.value
