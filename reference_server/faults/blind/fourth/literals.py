"""Blind faults of single characters in texts and forms: tags, spaces and escapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import dropping, when
from reference_server.faults.blind.schema_recipes import form_schema_of, parts_of
from reference_server.faults.blind.stream_recipes import streamed_text_fault
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

ENDS: Final = (".", "!", "?", ",")
BASIC: Final = 0xFFFF


def _lose_openers(piece: str, _state: Json, _request: ServedRequest) -> str:
    for opener in ("</", "<"):
        piece = piece.removeprefix(opener).removesuffix(opener)
    return piece


def _lose_spaces(piece: str, state: Json, _request: ServedRequest) -> str:
    after_end = state.get("ended", False)
    state["ended"] = piece.rstrip().endswith(ENDS) if piece.strip() else after_end
    kept = piece.lstrip(" ") if after_end else piece
    return kept.rstrip(" ") if state["ended"] else kept


def _escape_again(answer: Json, request: ServedRequest) -> None:
    for choice in choices_of(answer) if form_schema_of(request.payload) is not None else ():
        said = message_of(choice)
        if isinstance(said.get("content"), str):
            said["content"] = "".join(
                character if character.isascii() or ord(character) > BASIC else f"\\\\u{ord(character):04x}"
                for character in said["content"]
            )


def _has_escapes(sent: Json) -> bool:
    patterns = (part.get("pattern") for part in parts_of(form_schema_of(sent)))
    return any(isinstance(pattern, str) and "\\" in pattern for pattern in patterns)


openers_of_tags_lost_in_streams = streamed_text_fault(
    "openers-of-tags-lost-in-streams", "Streams lack `<` and `</` at the ends of a piece of text.", _lose_openers
)
spaces_after_points_lost_in_streams = streamed_text_fault(
    "spaces-after-points-lost-in-streams", "Streams lack the spaces after punctuation.", _lose_spaces
)
foreign_words_escaped_twice_in_forms = hooked_fault(
    "foreign-words-escaped-twice-in-forms",
    "In plain answers with a schema, non-ASCII characters are escaped, and their backslashes too.",
    answer=_escape_again,
    applies_to=has_parameters("response_format"),
)
escapes_in_patterns_free_forms = when(
    "escapes-in-patterns-free-forms",
    "A response_format is ignored if a pattern in its schema contains a backslash.",
    _has_escapes,
    dropping("response_format"),
    applies_to=has_parameters("response_format"),
)
