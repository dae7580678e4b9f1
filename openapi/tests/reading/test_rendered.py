"""Facts that are rendered as cells and pages are read back unchanged, in both languages and every form."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from openapi.contract.contract import load, names
from openapi.reading.compare.contract_facts import contract_facts
from openapi.reading.compare.drift import DriftStatus, compare_page
from openapi.reading.facts.fact import Fact
from openapi.reading.facts.facts import read_facts
from openapi.reading.grammar.interval import Interval, Range
from openapi.reading.grammar.statement import UNSTATED, DescribedDefault
from openapi.reading.pages.page import read_page
from openapi.reading.pages.row import Cell, Item, Rows, TableRow
from openapi.tests.reading.rendering import PAGES, Language, Line, html_page, line, sentences

LANGUAGES: tuple[Language, ...] = ("en", "zh")
DIALECTS = ("mindie-1.0", "mindie-2.3", "mindie-vllm-1.0", "ovms-2024", "siliconstorm")  # those of vendors' pages
FORMATS = ("int32", "int64", "uint32", "uint64")


def number(rng: random.Random, kind: str) -> Any:
    if kind == "integer":
        return rng.choice((rng.randint(-9, 9), rng.randint(-(2**31), 2**31), rng.randint(0, 2**64)))
    return Decimal(rng.randint(-500, 500)).scaleb(rng.choice((-1, -2, -6)))


def some_range(rng: random.Random, kind: str) -> Range:
    low = number(rng, kind)
    high = low + abs(number(rng, kind)) + 1
    interval = Interval(low, high, rng.random() < 0.5, rng.random() < 0.5)
    match rng.randrange(5):
        case 0:
            return (Interval(low=low, low_open=rng.random() < 0.5),)
        case 1:
            return (Interval(high=high, high_open=rng.random() < 0.5),)
        case 2 if kind == "integer":
            return (Interval(low - 5, low - 5), interval)
        case _:
            return (interval,)


def some_fact(rng: random.Random, name: str) -> tuple[Fact, Fact | None]:
    """Make a fact, and the fact of its elements, with attributes that cells can state."""
    kind = rng.choice(("string", "boolean", "integer", "number", "object", "array", "either"))
    attributes: dict[str, Any] = {"types": ("array", "string") if kind == "either" else (kind,)}
    element: Fact | None = None
    if kind in ("integer", "number") and rng.random() < 0.8:
        attributes["range"] = some_range(rng, kind)
    if kind == "integer" and rng.random() < 0.5:
        attributes["format"] = rng.choice(FORMATS)
    if kind == "string":
        count = rng.randrange(3)
        attributes["enum"] = tuple(rng.sample(("left", "right", "none", "auto", "up_down"), count))
        if not count and rng.random() < 0.5:
            attributes["length"] = (rng.choice((Interval(1), Interval(1, rng.randint(1, 99999)))),)
    if kind in ("array", "either"):
        inner = rng.choice(("string", "integer"))
        length = (Interval(1, rng.randint(1, 2000)),) if inner == "string" and rng.random() < 0.5 else ()
        element = Fact("request", f"{name}[]", types=(inner,), length=length)
        if inner == "integer" and rng.random() < 0.5:
            width = rng.choice(FORMATS)
            element = replace(element, format=width, beyond=f"ignored outside {width}")
        attributes["items"] = rng.choice(((), (Interval(1),), (Interval(1, rng.randint(1, 2000)),)))
        attributes["characters"] = rng.choice(((), (Interval(0, rng.randint(1, 99999)),)))
        attributes["empty"] = rng.choice((None, "null"))
    default = rng.choice((UNSTATED, None, *defaults(rng, kind)))
    required = rng.choice(("yes", "no", "when kind=x"))
    nullable = rng.choice((None, True, False))
    return Fact("request", name, default=default, required=required, nullable=nullable, **attributes), element


def defaults(rng: random.Random, kind: str) -> tuple[Any, ...]:
    words = tuple(map(DescribedDefault, ("random", "decided by the backend model", "maxIterTimes")))
    return {
        "string": ("auto", "a b"),
        "boolean": (True, False),
        "integer": (0, rng.randint(-(2**40), 2**64), *words),
        "number": (0.5, -1.0, 1e-06, *words),
    }.get(kind, ())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("seed", range(300))
def test_a_fact_rendered_as_a_cell_is_read_back_unchanged(language: Language, seed: int) -> None:
    rng = random.Random(seed)
    fact, element = some_fact(rng, "p")
    rendered = line(fact, ("p",), element, language)
    items = [Item(rendered.value, 0, 1)] * bool(rendered.value) + [Item(entry, 1, 1) for entry in rendered.entries]
    required = Cell((Item(rendered.required, 0, 1),), 1)
    row = TableRow("request", ("p",), 1, required=required, value=Cell(tuple(items), 1))
    actual = read_facts(Rows("test", (row,))).facts
    assert (fact, element) == (actual[0], actual[1] if len(actual) > 1 else None)
    assert actual[0].unread == ()


@pytest.mark.takes_turns
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("form", PAGES)
@pytest.mark.parametrize("seed", range(20))
def test_facts_rendered_as_a_page_are_read_back_unchanged(language: Language, form: str, seed: int) -> None:
    rng = random.Random(seed)
    expected: list[Fact] = []
    lines: list[Line] = []
    for names_ in nested(rng):
        fact, element = some_fact(rng, "")
        if form == "piped":  # this form has no lists
            fact = replace(fact, enum=fact.enum[:1])
        path = ""
        for name in names_:
            parent = next((other for other in expected if other.path == path), None)
            path = f"{path}{'[]' if parent and 'array' in parent.types else ''}.{name}".lstrip(".")
        fact = replace(fact, path=path)
        expected += [fact] if element is None else [fact, replace(element, path=f"{path}[]")]
        lines.append(line(fact, names_, element, language))
    actual = read_facts(read_page(PAGES[form](lines).encode(), "own"))
    assert expected == list(actual.facts)
    assert actual.unread == ()
    assert [fact.unread for fact in actual.facts if fact.unread] == []
    assert len(lines) == actual.rows


def nested(rng: random.Random) -> list[tuple[str, ...]]:
    """Return paths of some parameters of the interface, each parent before its fields."""
    tree: dict[str, Any] = {
        "model": {},
        "messages": {
            "role": {},
            "content": {"type": {}, "text": {}},
            "tool_calls": {"function": {"arguments": {}, "name": {}}, "id": {}},
            "tool_call_id": {},
        },
        "stream": {},
        "tools": {"type": {}, "function": {"name": {}, "parameters": {"type": {}, "required": {}}}},
        "tool_choice": {},
    }

    def paths(inner: dict[str, Any], parent: tuple[str, ...]) -> list[tuple[str, ...]]:
        selected: list[tuple[str, ...]] = []
        for name, below in inner.items():
            if rng.random() < 0.8:
                selected += [(*parent, name), *paths(below, (*parent, name))]
        return selected

    return paths(tree, ()) or [("model",)]


def expressible(fact: Fact) -> Fact:
    """Reduce a fact of the contract to what a page can state."""
    default = fact.default
    if isinstance(default, DescribedDefault):
        phrases = ("random", "decided by the backend model")
        default = DescribedDefault(next((phrase for phrase in phrases if phrase in default), "maxIterTimes"))
    required = "yes" if fact.required is None or fact.required.startswith("unless") else fact.required
    return replace(
        fact,
        default=default,
        required=required,
        length=() if len(fact.length) > 1 else fact.length,
        nullable=fact.nullable or None,
    )


@pytest.mark.parametrize("dialect", sorted(set(names().values())))
def test_every_contract_has_facts_about_all_its_parameters(dialect: str) -> None:
    contract = load(dialect)
    ours = contract_facts(contract)
    assert set(contract.parameters) <= {path for part, path in ours if part == "request"}
    assert {"request", "response", "stream"} <= {part for part, _ in ours}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_contract_rendered_as_a_page_agrees_with_itself(dialect: str, language: Language) -> None:
    contract = load(dialect)
    ours = {path: known.fact for (part, path), known in contract_facts(contract).items() if part == "request"}
    lines = []
    for path, fact in ours.items():
        if not path.endswith("[]") and ".*" not in path and fact.supported:
            lines.append(line(expressible(fact), path.replace("[]", "").split("."), ours.get(f"{path}[]"), language))
    facts = read_facts(read_page(html_page(lines).encode(), "own"))
    differences = [
        (row.path, row.member)
        for row in compare_page(facts, contract)
        if row.part == "request"
        and row.status is not DriftStatus.AGREES
        and row.member not in ("formats", "media_bytes")
    ]
    assert len(lines) == facts.rows
    inexpressible = {
        *(
            (name, "default") for name, parameter in contract.parameters.items() if parameter.default_note
        ),  # worded differently
        ("messages[].content", "required"),  # an exception, which this kind of cell cannot state
        ("messages[].content", "length"),
        ("tools[].function.parameters.properties.*", "presence"),
        *(
            [("stop_token_ids[]", "presence")] if dialect == "mindie-2.3" else []
        ),  # elements of any type, of which only some are used
    }
    assert set() == set(differences) - inexpressible - {(name, "presence") for name in contract.unsupported}


def test_facts_are_rendered_as_sentences() -> None:
    fact = Fact("request", "p", types=("integer",), range=(Interval(1, 9),), default=3, nullable=True)
    assert sentences(fact, None, "en") == [
        "The value is of the integer type",
        "The value range is [1, 9]",
        "The default value is 3",
        "Also, the value can be null",
    ]
    assert sentences(fact, None, "zh") == ["int类型", "取值范围[1, 9]", "默认值3", "可以为null"]
