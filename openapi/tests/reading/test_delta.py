"""A page's facts as a dialect's delta: it resolves, and the dialect it makes agrees with the page."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from openapi.contract import resolution
from openapi.contract.contract import ContractError, build_contract, load, names
from openapi.contract.loading import make_sources_absolute
from openapi.reading.compare.contract_facts import held
from openapi.reading.compare.delta import Delta, delta_text, nearest
from openapi.reading.compare.delta_placement import Placing
from openapi.reading.compare.drift import Status, compare
from openapi.reading.facts.facts import facts_of
from openapi.reading.pages.page import rows_of
from openapi.tests.reading.rendering import Line, html_page, line
from openapi.tests.reading.test_drift import LINES, changed, facts
from openapi.tests.reading.test_rendered import DIALECTS, sayable, some_fact

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from openapi.reading.facts.facts import Facts

SETTLED = ("types", "range", "enum", "default", "nullable", "length", "items", "characters")


def extended(text: str, base: str, monkeypatch: pytest.MonkeyPatch) -> Contract:
    """The contract of a dialect that consists of this delta."""
    files, read = resolution.dialect_files(), resolution.read
    own = {**yaml.safe_load(text), "id": "new", "aliases": [], "title": "New", "document": load(base).document.id}
    monkeypatch.setattr(resolution, "dialect_files", lambda: {**files, "new": "dialects/new.yaml"})
    monkeypatch.setattr(resolution, "read", lambda path: own if path == "dialects/new.yaml" else read(path))
    return build_contract(make_sources_absolute(resolution.resolve("new")))


def unmet(page: Facts, contract: Contract) -> list[tuple[str, str, str | None, str | None]]:
    """What the page says of parameters, and the contract does not."""
    return [
        (each.path, each.member, each.page, each.contract)
        for each in compare(page, contract)
        if each.part == "request"
        and each.status in (Status.DIFFERS, Status.ONLY_IN_PAGE)
        and each.member in (*SETTLED, "presence", "supported")
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[0.0, 2.0]", "(0.0, 2.5]"),
        ("default value 1.0", "default value 0.5"),
        ("[0, 2147483647]", "-1 or (0, 2147483647]"),
        ("int32 type, value range [0, 2147483647]", "Float type, value range [0.5, 9]"),
        ("default false", "default true, can be null"),
        ("default value maxIterTimes", "default value 16"),
        ("default value 1.0", "default value howItPleases"),
        ("List[string] type or string type.", "string type. The value cannot be empty."),
    ],
)
def test_a_changed_page_as_delta_makes_a_dialect_that_agrees(
    monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    page = facts(changed(before, after))
    base = load("siliconstorm")
    assert unmet(page, base) != []
    actual = extended(delta_text(page, base, "page"), "siliconstorm", monkeypatch)
    assert unmet(page, actual) == []


def test_new_and_missing_parameters_are_added_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        *LINES,
        Line(("novelty",), "Required", "dict type."),
        Line(("novelty", "level"), "Required", "int type, value range [1, 5]."),
        Line(("novelty", "names"), "Optional", "List[string] type. The number of elements must be at least 2."),
        Line(("breadth",), "Optional", "Float type, value range (0.0, 1.0], default value 0.5, can be null."),
    ]
    page, base = facts(lines), load("siliconstorm")
    delta = Delta(page, base)
    assert delta.placing.add["parameters/novelty"]["schema"] == {
        "type": "object",
        "properties": {
            "level": {"type": "integer", "minimum": 1, "maximum": 5},
            "names": {"type": "array", "minItems": 2, "items": {"type": "string"}},
        },
        "required": ["level"],
    }
    assert delta.placing.add["parameters/breadth"] == {
        "summary": "breadth",
        "source": "#request/breadth",
        "schema": {"type": "number", "exclusiveMinimum": 0.0, "maximum": 1.0},
        "null_value": {"expect": "accept", "level": "MUST"},
        "default": 0.5,
    }
    assert "parameters/tools" in delta.placing.remove
    actual = extended(delta_text(page, base, "page"), "siliconstorm", monkeypatch)
    assert unmet(page, actual) == []
    assert set(actual.parameters) == {each.path[0] for each in lines}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_delta_of_a_dialect_on_itself_changes_no_fact(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    base = load(dialect)
    ours = {path: each.fact for (part, path), each in held(base).items() if part == "request"}
    lines = [
        line(sayable(fact), path.replace("[]", "").split("."), ours.get(f"{path}[]"), "en")
        for path, fact in ours.items()
        if not path.endswith("[]") and ".*" not in path and fact.supported
    ]
    page = facts_of(rows_of(html_page(lines).encode(), "own"))
    actual = extended(delta_text(page, base, "page"), dialect, monkeypatch)
    for name, parameter in base.parameters.items():
        assert actual.parameters[name].default == parameter.default, name
        assert actual.parameters[name].required == parameter.required, name


@pytest.mark.parametrize("seed", range(60))
def test_new_parameters_of_any_kind_make_a_dialect_that_agrees(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    lines = list(LINES)
    for at in range(3):
        fact, element = some_fact(rng, f"novelty_{at}")
        lines.append(line(fact, (f"novelty_{at}",), element, "en"))
    page, base = facts(lines), load("siliconstorm")
    actual = extended(delta_text(page, base, "page"), "siliconstorm", monkeypatch)
    assert unmet(page, actual) == []


def test_what_no_delta_can_hold_is_to_be_set_by_hand() -> None:
    lines = [*LINES, Line(("n",), "Optional", "int type, this value must be between 1 <= N <= BEST_OF.")]
    delta = Delta(facts(lines), load("mindie"))
    assert "request n: range [1, best_of], in parameters/n" in delta.by_hand
    assert delta.placing.replace["parameters/n/schema"] == {"type": "integer", "minimum": 1}


def test_where_rows_are_left_no_parameter_counts_as_gone() -> None:
    page = html_page(LINES).replace('<td colspan="2"><p>top_k</p></td>', "<td><p>top_k</p></td>")
    delta = Delta(facts_of(rows_of(page.encode(), "own")), load("siliconstorm"))
    assert delta.placing.remove == []
    assert "request top_k: the whole parameter" in delta.unsaid


def test_ranges_whose_ends_the_page_does_not_settle_are_set_by_hand() -> None:
    lines = [*LINES, Line(("novelty",), "Optional", "Float type. Number between 0.0 and 2.0. Can be null.")]
    lines += [Line(("n",), "Optional", "int type. Number between 1 and 9.")]
    delta = Delta(facts(lines), load("mindie"))
    assert delta.placing.add["parameters/novelty"]["schema"] == {"type": "number"}
    assert delta.placing.replace["parameters/n/schema"] == {"type": "integer"}
    assert delta.by_hand == ["request novelty: range 0..2", "request n: range 1..9, in parameters/n"]


def test_a_hole_in_a_range_is_a_not() -> None:
    delta = Delta(facts(changed("[0, 2147483647]", "-1 or (0, 2147483647]")), load("siliconstorm"))
    assert delta.placing.replace["parameters/top_k/schema"] == {
        "type": "integer",
        "minimum": -1,
        "maximum": 2147483647,
        "not": {"const": 0},
    }


def test_placing_never_changes_the_tree_it_is_made_for() -> None:
    placing = Placing("mindie-2.3")
    before = yaml.safe_dump(placing.at("parameters/stop/schema"))
    placing.put("parameters/stop/schema", placing.at("parameters/stop/schema"))
    placing.put("parameters/stop/schema/anyOf/0", {"type": "integer"})
    assert placing.replace["parameters/stop/schema"]["anyOf"][0] == {"type": "integer"}
    assert yaml.safe_dump(placing.at("parameters/stop/schema")) == before
    assert [placing.reaches(place) for place in ("", "a/b", "a/0", "parameters/stop/schema/anyOf/7")] == [
        *(False, True, False, False)
    ]


def test_what_only_the_dialect_says_is_named_and_not_repeated() -> None:
    delta = Delta(facts(LINES), load("siliconstorm"))
    assert "request stop: items [0, 1024]" in delta.unsaid
    assert delta.placing.replace["parameters/stop/schema"] == {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
    }


def test_the_text_is_yaml_with_its_count_and_its_remainder() -> None:
    text = delta_text(facts(LINES), load("siliconstorm"), "page.md")
    assert text.startswith(
        "# page.md: HTML or Markdown tables, 10 rows, 13 facts\n# cells: 39 read, 1 read in part, 0 left to a person\n"
    )
    assert set(yaml.safe_load(text)) == {"extends", "replace", "remove"}
    assert "request stream: It is best left alone for 3 days" in text
    assert "#   line " in text


def test_the_nearest_dialect_is_the_one_that_differs_least() -> None:
    other_range = [
        replace(each, value=each.value.replace("[0, 2147483647]", "-1 or (0, 2147483647]"))
        for each in changed("value range [0.0, 2.0]", "value range greater than or equal to 0.0")
    ]
    assert nearest(facts(other_range)).name == "mindie-vllm-1.0"
    paragraphs = "Request#\n\nParam\n\nType\n\nDescription\n\nseed\n\ninteger (default: 0)\n\nAny.\n\nEnd#\n"
    assert nearest(facts_of(rows_of(paragraphs.encode(), "own"))).name == "ovms-2024"


def test_an_unknown_dialect_is_a_contract_error() -> None:
    with pytest.raises(ContractError, match="unknown dialect"):
        load("nobody")
    assert "nobody" not in names()


def plain(value: Any) -> Any:
    return yaml.safe_load(yaml.safe_dump(value))


def test_numbers_stay_exact_in_yaml() -> None:
    text = delta_text(facts(LINES), load("siliconstorm"), "page")
    assert yaml.safe_load(text)["replace"]["parameters/seed/schema"]["maximum"] == 2**64 - 1
    delta = Delta(facts(changed("[0.0, 2.0]", "(1e-6, 0.1]")), load("siliconstorm"))
    schema = delta.placing.replace["parameters/temperature/schema"]
    assert plain(schema) == {"type": "number", "exclusiveMinimum": 1e-06, "maximum": 0.1}
