"""Blind faults of tools: numbers, signs and calls that streams lose, and limits that are not kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import dropping, when
from reference_server.faults.blind.schema_recipes import parts_of, schemas_of
from reference_server.faults.blind.stream_recipes import StreamedJson, streamed_arguments_fault
from reference_server.faults.blind.tool_recipes import arguments_fault
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.blind.stream_recipes import PieceEdit
    from reference_server.faults.hooks import Json, ServedRequest

MOST_DIGITS: Final = 6
BASIC: Final = 0xFFFF
HAS_TOOLS: Final = has_parameters("tools")


def _shorten_integers() -> PieceEdit:
    scanner, digits = StreamedJson(), [0]

    def edit(piece: str) -> str:
        kept = []
        for character in piece:
            inside = scanner.is_inside(character)
            digits[0] = digits[0] + 1 if character.isdigit() and not inside else 0
            if digits[0] <= MOST_DIGITS:
                kept.append(character)
        return "".join(kept)

    return edit


def _hold_values() -> PieceEdit:
    scanner = StreamedJson()
    held: list[str] | None = None

    def edit(piece: str) -> str:
        nonlocal held
        sent: list[str] = []
        for character in piece:
            inside = scanner.is_inside(character)
            if held is not None and not inside and character in '",[{':
                sent += held
                held = None
            (sent if held is None else held).append(character)
            if character == ":" and not inside:
                held = []
        return "".join(sent)

    return edit


def _escape_again() -> PieceEdit:
    def escape(character: str) -> str:
        if character.isascii() or ord(character) > BASIC:
            return character
        return f"\\\\u{ord(character):04x}"

    return lambda piece: "".join(map(escape, piece))


def _end_with_braces() -> PieceEdit:
    depth, ended = 0, False

    def edit(piece: str) -> str:
        nonlocal depth, ended
        kept = []
        for character in piece:
            if ended:
                break
            kept.append(character)
            depth += {"{": 1, "}": -1}.get(character, 0)
            ended = character == "}" and depth == 0
        return "".join(kept)

    return edit


def _requires_call(sent: Json) -> bool:
    return sent.get("tool_choice") == "required"


def _cut_at_quotes(arguments: str, _schemas: Json) -> str:
    values: dict[str, Any] = json.loads(arguments)
    cut = {name: value.partition('"')[0] if isinstance(value, str) else value for name, value in values.items()}
    return arguments if cut == values else json.dumps(cut, ensure_ascii=False)


def _number_zero(chunk: Json, _request: ServedRequest) -> None:
    for choice in choices_of(chunk):
        for call in message_of(choice).get("tool_calls") or ():
            if call.get("index"):
                call["index"] = 0


def _lose_later_calls(chunk: Json, _request: ServedRequest) -> None:
    for choice in choices_of(chunk):
        said = message_of(choice)
        if said.get("tool_calls"):
            said["tool_calls"] = [call for call in said["tool_calls"] if not call.get("index")]


def _claim_calls(answer: Json, request: ServedRequest) -> None:
    for choice in choices_of(answer) if _requires_call(request.payload) else ():
        said = message_of(choice)
        if choice.get("finish_reason") == "length" and not said.get("tool_calls"):
            choice["finish_reason"], said["tool_calls"] = "tool_calls", []


def _has_references(sent: Json) -> bool:
    return any("$ref" in part for schema in schemas_of(sent) for part in parts_of(schema))


def _free_references(request: ServedRequest) -> None:
    for schema in schemas_of(request.payload):
        for part in parts_of(schema):
            if isinstance(part.pop("$ref", None), str):
                part["type"] = "object"


long_integers_cut_in_streams = streamed_arguments_fault(
    "long-integers-cut-in-streams",
    "Streamed arguments contain only the first six digits of a number.",
    _shorten_integers,
)
last_values_lost_in_streams = streamed_arguments_fault(
    "last-values-lost-in-streams",
    "Streamed arguments end after the colon of their last value, unless it begins as a string, array or object.",
    _hold_values,
)
streamed_arguments_escaped_twice = streamed_arguments_fault(
    "streamed-arguments-escaped-twice",
    "Non-ASCII characters in streamed arguments are escaped, and their backslashes too.",
    _escape_again,
)
braces_in_strings_end_arguments = streamed_arguments_fault(
    "braces-in-strings-end-arguments",
    "If a call is required, streamed arguments end at a brace in a string that seems to close them.",
    _end_with_braces,
    _requires_call,
)
quotes_in_strings_end_them = arguments_fault(
    "quotes-in-strings-end-them", "In plain answers, a string of the arguments ends at its first quote.", _cut_at_quotes
)
every_call_has_index_zero = hooked_fault(
    "every-call-has-index-zero",
    "In streams, all calls of an answer have the index 0.",
    chunk=_number_zero,
    applies_to=HAS_TOOLS,
)
later_calls_lost_in_streams = hooked_fault(
    "later-calls-lost-in-streams",
    "Streams contain only the first call of an answer.",
    chunk=_lose_later_calls,
    applies_to=HAS_TOOLS,
)
one_call_limit_ignored = when(
    "one-call-limit-ignored",
    "`parallel_tool_calls: false` is ignored.",
    lambda sent: sent.get("parallel_tool_calls") is False,
    dropping("parallel_tool_calls"),
    applies_to=has_parameters("parallel_tool_calls"),
)
cut_calls_claimed = hooked_fault(
    "cut-calls-claimed",
    "If max_tokens ends a plain answer within a required call, the finish_reason is tool_calls, with an empty list.",
    answer=_claim_calls,
    applies_to=HAS_TOOLS,
)
references_accept_any_object = when(
    "references-accept-any-object",
    "A `$ref` in a schema is read as an object with any properties.",
    _has_references,
    _free_references,
    applies_to=HAS_TOOLS,
)
