"""Lists of HTML that describe a parameter in each entry are read like the same lists in Markdown."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import pytest

from openapi.reading.grammar.interval import Interval
from openapi.tests.reading.pages import read

if TYPE_CHECKING:
    from openapi.reading.facts.fact import Fact

NAMES: Final = ("model", "temperature", "top_p", "seed", "stop", "user", "n", "best_of", "min_tokens")
TYPES: Final = ("string", "number", "integer", "boolean", "array of strings")
TAGS: Final = ("code", "b", "strong", "kbd", "tt")
SENTENCES: Final = ("Between 0 and 2.", "At most 4.", "Defaults to 1.", "From 0 up to 1.5.", "One of 1, 2 or 4.", "")
DRAWS: Final = 60

Entry = tuple[str, str, str, str]  # name, type, further words in the brackets, sentence


def draw_entries(rng: random.Random) -> list[Entry]:
    names = rng.sample(NAMES, rng.randint(2, 6))
    return [
        (name, rng.choice(TYPES), rng.choice(("", ", required", ", optional", ", default 1")), rng.choice(SENTENCES))
        for name in names
    ]


def as_markdown(entries: list[Entry]) -> str:
    lines = [f"- `{name}` ({kind}{more}): {sentence}" for name, kind, more, sentence in entries]
    return "\n".join(["# Tern", "", "## Request parameters", "", *lines, ""])


def as_html(entries: list[Entry], rng: random.Random) -> str:
    """Write the entries with one of the tags and one of the separators of real pages, on one line or on several."""
    tag, form = rng.choice(TAGS), rng.randrange(4)
    gap = rng.choice(("", "\n", "\n   "))
    items = []
    for name, kind, more, sentence in entries:
        begins = f"<{tag}>{name}</{tag}>"
        text = (
            f"{begins} ({kind}{more}): {sentence}",
            f"<p>{begins} ({kind}{more}) – {sentence}</p>",
            f"<{tag}>{name}:</{tag}> ({kind}{more}) {sentence}",
            f"{begins} <em>{kind}</em>{f' ({more[2:]})' if more else ''}: {sentence}",
        )[form]
        items.append(f"<li>{text}</li>")
    return f"<html><body><h1>Tern</h1><h2>Request parameters</h2>{gap}<ul>{gap.join(items)}</ul></body></html>"


def facts_of(page: str) -> list[Fact]:
    return sorted((replace(fact, line=0) for fact in read(page).facts), key=lambda fact: fact.path)


@pytest.mark.parametrize("seed", range(DRAWS))
def test_an_html_list_has_the_facts_of_the_same_list_in_markdown(seed: int) -> None:
    rng = random.Random(seed)
    entries = draw_entries(rng)
    expected = facts_of(as_markdown(entries))
    assert {name for name, *_ in entries} <= {fact.path for fact in expected}
    assert expected == facts_of(as_html(entries, rng))


def test_fields_of_a_parameter_are_the_list_inside_its_entry() -> None:
    page = """<h2>Request body</h2><ul>
    <li><code>messages</code> (array of objects, required): The turns.
      <ul><li><code>role</code> (string, required): Who speaks.</li><li><code>weight</code> (number)</li></ul></li>
    <li><code>user</code> (string): Your user.</li></ul>"""
    assert ["messages", "messages[]", "messages[].role", "messages[].weight", "user"] == [
        fact.path for fact in facts_of(page)
    ]


@pytest.mark.parametrize(
    "page",
    [
        "<h2>Request parameters</h2><ul><li>First choose a model.</li><li>Then send a request: it is easy.</li></ul>",
        "<h2>Request parameters</h2><nav><ul><li><b>a</b> (string)</li><li><b>c</b> (string)</li></ul></nav>",
        "## Request parameters\n\n```html\n<ul><li><b>a</b> (string): x</li><li><b>c</b> (string): x</li></ul>\n```\n",
        "<h2>Request parameters</h2><ul><li><b>a</b> (string): one entry alone</li></ul>",
    ],
)
def test_other_lists_are_not_read(page: str) -> None:
    table = "<h2>Response</h2><table><tr><th>Name</th><th>Type</th></tr><tr><td>id</td><td>string</td></tr></table>"
    assert ["id"] == [fact.path for fact in facts_of(f"{page}\n\n{table}")]


@pytest.mark.parametrize("lead", ["", "Range: ", "A number ", "Must be ", "The value ranges "])
@pytest.mark.parametrize("words", ["from {} up to {}", "from {} and up to {}", "from {} through {}", "from {} to {}"])
@pytest.mark.parametrize(("low", "high"), [("0", "1.5"), ("-2", "2"), ("0.1", "0.9"), ("1", "64")])
def test_a_range_from_one_number_up_to_another_is_read(lead: str, words: str, low: str, high: str) -> None:
    sentence = f"{lead}{words.format(low, high)}."
    row = f"| x | number | {sentence[0].upper()}{sentence[1:]} |"
    page = f"### Request\n\n| Name | Type | Description |\n|---|---|---|\n{row}\n"
    (fact,) = read(page).facts
    (interval,) = fact.range
    assert (Decimal(low), Decimal(high)) == (interval.low, interval.high)
    assert Interval(interval.low, interval.high, None, None) == interval
