"""The title of a page is its heading, in any notation; without one, the file is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openapi.importing.page_title import find_title
from openapi.tests.importing.importing import imported

if TYPE_CHECKING:
    from pathlib import Path

PARAMETERS = """model: string, required. {model}
messages: array of objects, required. The turns so far.
temperature: number. Between 0 and 2."""
TITLES = {
    "a heading of Markdown": ("Words above it.\n\n# `Quill` chat\n\nText.", "Quill chat"),
    "an underlined heading": ("Quill chat\n----------\n\nText.", "Quill chat"),
    "front matter": ("---\nid: 7\ntitle: 'Quill chat'\n---\n\n# Another one\n", "Quill chat"),
    "a title of HTML": ("<html><head><title>Quill chat</title></head><h1>Other</h1>", "Quill chat"),
    "a heading of HTML": ("<p>Menu</p><h1 id=x>Quill <em>chat</em></h1>", "Quill chat"),
    "the name of a manual page": (
        "QUILL(7)  Manual  QUILL(7)\n\nNAME\n       quill-chat - answers turns\n",
        "quill-chat",
    ),
    "a first line that stands alone": ("\n  Quill chat\n\nSends a chat.", "Quill chat"),
    "a first line that signs underline": ("Quill chat\n~~~~~~~~~~\n\nSends a chat.", "Quill chat"),
    "a first line in front of a list": ("Quill chat\n- The first.\n", "Quill chat"),
    "a comment in code": ("```\n# Not this\n```\n", ""),
    "a sentence": ("Sends a chat.\n\nmodel: string", ""),
    "an entry": ("model: string\n\nmessages: array", ""),
    "the header of a column": ("Parameter\n\nRequired\n\nDescription", ""),
    "a path": ("POST https://quill.test/v1/chat\n\nmodel: string", ""),
}


@pytest.mark.parametrize(("text", "title"), TITLES.values(), ids=TITLES)
def test_the_title_is_the_heading_and_neither_a_sentence_nor_a_name(text: str, title: str) -> None:
    assert title == find_title(text)


def test_a_page_of_text_gives_its_heading_to_the_dialect(tmp_path: Path) -> None:
    text = f"Quill chat\n\n{PARAMETERS.format(model='The model.')}\n"
    contract, _ = imported(text, tmp_path, "page.txt")
    assert ("quill-chat", "Quill chat") == (contract.name, contract.document.title)


def test_a_page_without_a_heading_gives_the_name_of_the_file(tmp_path: Path) -> None:
    contract, _ = imported(PARAMETERS.format(model="The model."), tmp_path, "page.txt")
    assert ("page.txt", "page.txt") == (contract.name, contract.document.title)


@pytest.mark.parametrize(
    "values", ["quill-small or quill-large", "One of quill-small, quill-large.", "`quill-small` or `quill-large`."]
)
def test_the_models_that_a_page_names_are_not_the_only_ones(values: str, tmp_path: Path) -> None:
    contract, _ = imported(f"# Quill\n\n{PARAMETERS.format(model=values)}\n", tmp_path, "page.md")
    assert "string" == contract.parameters["model"].schema["type"]
    assert "enum" not in contract.parameters["model"].schema
    assert ["model is required", "model is a string"] == [
        sentence.says for sentence in contract.sentences if sentence.source.endswith("#request/model")
    ]
