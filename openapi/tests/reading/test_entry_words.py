"""The words next to the name of a parameter are read alike in lists, definition lists and headings."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

import pytest

from openapi.reading.pages.entries.signature import split_words
from openapi.tests.reading.pages import read

if TYPE_CHECKING:
    from collections.abc import Callable

TYPES: Final = {
    "string": ("string",),
    "array of strings": ("array",),
    "string[]": ("array",),
    "dict[str, int]": ("object",),
    "integer or string": ("integer", "string"),
}
PRESENCES: Final = {"required": "yes", "Required": "yes", "OPTIONAL": "no", "mandatory": "yes"}
FORMS: Final = (
    "{type} {presence}",
    "{type}, {presence}",
    "{type} ({presence})",
    "{presence} {type}",
    "{presence} · {type}",
    "{type} | {presence}",
    "{type}; {presence}",
)


def as_list(words: str) -> str:
    return f"# Tern\n\n## Request parameters\n\n- `alpha` ({words}): The first.\n- `beta` ({words}): The second.\n"


def as_definitions(words: str) -> str:
    terms = "".join(f"<dt><code>{name}</code> {words}</dt><dd>It is {name}.</dd>" for name in ("alpha", "beta"))
    return f"<html><body><h1>Tern</h1><h2>Request parameters</h2><dl>{terms}</dl></body></html>"


def as_headings(words: str) -> str:
    sections = "".join(f"### `{name}` {words}\n\nIt is {name}.\n\n" for name in ("alpha", "beta"))
    return f"# Tern\n\n## Request parameters\n\n{sections}"


@pytest.mark.parametrize("write", [as_list, as_definitions, as_headings])
@pytest.mark.parametrize("form", FORMS)
def test_the_type_and_whether_it_is_required_are_read_in_one_piece_and_in_two(
    write: Callable[[str], str], form: str
) -> None:
    for (kind, types), (presence, required) in product(TYPES.items(), PRESENCES.items()):
        words = form.format(type=kind, presence=presence)
        facts = read(write(words)).facts
        assert [(name, types, required) for name in ("alpha", "beta")] == [
            (fact.path, fact.types, fact.required) for fact in facts if not fact.path.endswith("[]")
        ], words


@pytest.mark.parametrize("words", ["not required", "the text is required", "required if stream is set", "default 1"])
def test_words_that_state_more_than_a_type_and_whether_it_is_required_stay_together(words: str) -> None:
    assert ["string", words] == split_words(f"(string, {words})")
