"""Damaged pages are read, or refused in one clear line."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
import yaml

from openapi.contract.contract import load
from openapi.contract.tree.yaml_file import ContractError
from openapi.reading.compare.delta_text import render_delta
from openapi.reading.compare.drift import compare_page
from openapi.reading.pages.page import read_page
from openapi.tests.reading.flattened_pages import CELLS, PARAGRAPHS, PIPED
from openapi.tests.reading.pages import MARKDOWN, NESTED, read

if TYPE_CHECKING:
    from openapi.reading.facts.facts import Facts


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"",
            "own: line 1: the page is empty: expected tables or lists of parameters, as HTML, Markdown or text",
        ),
        (
            b" \n\n",
            "own: line 1: the page is empty: expected tables or lists of parameters, as HTML, Markdown or text",
        ),
        (
            b"\n\nhello",
            "own: line 3: no table of parameters: expected tables or lists of parameters, as",
        ),
        (b"ok\nok\n\xff\xfe", "own: line 3: invalid encoding at byte 6: expected UTF-8"),
        (b"<p>" * 5000 + b"<table><tr><td>" * 3000, "own: line 1: "),
        (b"<table></table>", "own: line 1: no table of parameters"),
        (
            b"| Model | Context |\n|-|-|\n| a | 4096 |\n\n| City | Zone |\n|-|-|\n| b | c |\n",
            "own: line 1: no table of parameters: expected columns such as Parameter, Type and Description; "
            "its tables have Model | Context; City | Zone",
        ),
    ],
)
def test_an_invalid_page_is_refused_in_one_line(content: bytes, message: str) -> None:
    with pytest.raises(ContractError) as caught:
        read_page(content, "own")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def read_or_error(text: str) -> Facts | str:
    try:
        return read(text)
    except ContractError as error:
        return str(error)


def test_terminal_control_characters_are_replaced() -> None:
    page = MARKDOWN.replace("It is wise", "It is \x1b31mwise\x00 \u202e")
    dim = next(fact for fact in read(page).facts if fact.path == "dim")
    assert dim.unread == ("It is \ufffd31mwise\ufffd \ufffd to stay above 0.5",)


@pytest.mark.takes_turns
@pytest.mark.parametrize("seed", range(160))
def test_a_damaged_page_gives_facts_or_an_error(seed: int) -> None:
    """Parts of the page are deleted, repeated and moved, and characters inserted."""
    rng = random.Random(seed)
    text = (MARKDOWN, PIPED, CELLS, PARAGRAPHS, NESTED)[seed % 5]
    for _ in range(rng.randint(1, 12)):
        at = rng.randrange(len(text))
        to = at + rng.choice((1, 1, 2, 5, 40, 200))
        match rng.randrange(4):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:at] + text[at:to] + text[at:]
            case 2:
                text = text[:at] + rng.choice("[](){}<>|\"'-•#.,:。，0 9\n\x00") + text[at:]
            case _:
                start = rng.randrange(len(text))
                text = text[:at] + text[start : start + 60] + text[at:]
    contract = load("siliconstorm")
    facts = read_or_error(text)
    if isinstance(facts, str):
        assert "\n" not in facts
        return
    assert yaml.safe_load(render_delta(facts, contract, "damaged"))["extends"] == "siliconstorm"
    assert len(compare_page(facts, contract)) >= len(facts.facts)
