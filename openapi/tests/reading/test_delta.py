"""The facts of a page as a delta: it resolves, and the resulting dialect agrees with the page."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from openapi.contract import resolution
from openapi.contract.contract import ContractError, build_contract, load, names
from openapi.contract.loading import make_sources_absolute
from openapi.reading.compare.contract_facts import contract_facts
from openapi.reading.compare.delta import DialectDelta, nearest_dialect
from openapi.reading.compare.delta_placement import DeltaTree
from openapi.reading.compare.delta_text import render_delta
from openapi.reading.compare.drift import DriftStatus, compare_page
from openapi.reading.facts.facts import read_facts
from openapi.reading.pages.page import read_page
from openapi.tests.reading.rendering import Line, html_page, line
from openapi.tests.reading.test_drift import LINES, changed, facts
from openapi.tests.reading.test_rendered import DIALECTS, expressible, some_fact

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from openapi.reading.facts.facts import Facts

EXPRESSIBLE = ("types", "range", "enum", "default", "nullable", "length", "items", "characters")


def extended(text: str, base: str, monkeypatch: pytest.MonkeyPatch) -> Contract:
    """Return the contract of a dialect that consists of this delta."""
    files, read = resolution.dialect_files(), resolution.read
    own = {**yaml.safe_load(text), "id": "new", "aliases": [], "title": "New", "document": load(base).document.id}
    monkeypatch.setattr(resolution, "dialect_files", lambda: {**files, "new": "dialects/new.yaml"})
    monkeypatch.setattr(resolution, "read", lambda path: own if path == "dialects/new.yaml" else read(path))
    monkeypatch.setattr(resolution, "resolve_built_in", resolution.resolve_built_in.__wrapped__)
    return build_contract(make_sources_absolute(resolution.resolve("new")))


def missing(page: Facts, contract: Contract) -> list[tuple[str, str, str | None, str | None]]:
    """Return the statements of the page about parameters that the contract does not have."""
    return [
        (row.path, row.member, row.page, row.contract)
        for row in compare_page(page, contract)
        if row.part == "request"
        and row.status in (DriftStatus.DIFFERS, DriftStatus.ONLY_IN_PAGE)
        and row.member in (*EXPRESSIBLE, "presence", "supported")
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
        ("default value 1.0", "default value backendDefault"),
        ("List[string] type or string type.", "string type. The value cannot be empty."),
    ],
)
def test_the_delta_of_a_changed_page_gives_a_dialect_that_agrees(
    monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    page = facts(changed(before, after))
    base = load("siliconstorm")
    assert missing(page, base) != []
    actual = extended(render_delta(page, base, "page"), "siliconstorm", monkeypatch)
    assert missing(page, actual) == []


def test_new_and_missing_parameters_are_added_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        *LINES,
        Line(("novelty",), "Required", "dict type."),
        Line(("novelty", "level"), "Required", "int type, value range [1, 5]."),
        Line(("novelty", "names"), "Optional", "List[string] type. The number of elements must be at least 2."),
        Line(("breadth",), "Optional", "Float type, value range (0.0, 1.0], default value 0.5, can be null."),
    ]
    page, base = facts(lines), load("siliconstorm")
    delta = DialectDelta(page, base)
    assert delta.tree.add["parameters/novelty"]["schema"] == {
        "type": "object",
        "properties": {
            "level": {"type": "integer", "minimum": 1, "maximum": 5},
            "names": {"type": "array", "minItems": 2, "items": {"type": "string"}},
        },
        "required": ["level"],
    }
    assert delta.tree.add["parameters/breadth"] == {
        "summary": "breadth",
        "source": "#request/breadth",
        "schema": {"type": "number", "exclusiveMinimum": 0.0, "maximum": 1.0},
        "null_value": {"expect": "accept", "level": "MUST"},
        "default": 0.5,
    }
    assert "parameters/tools" in delta.tree.remove
    actual = extended(render_delta(page, base, "page"), "siliconstorm", monkeypatch)
    assert missing(page, actual) == []
    assert set(actual.parameters) == {row.path[0] for row in lines}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_delta_of_a_dialect_on_itself_changes_nothing(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    base = load(dialect)
    ours = {path: known.fact for (part, path), known in contract_facts(base).items() if part == "request"}
    lines = [
        line(expressible(fact), path.replace("[]", "").split("."), ours.get(f"{path}[]"), "en")
        for path, fact in ours.items()
        if not path.endswith("[]") and ".*" not in path and fact.supported
    ]
    page = read_facts(read_page(html_page(lines).encode(), "own"))
    actual = extended(render_delta(page, base, "page"), dialect, monkeypatch)
    for name, parameter in base.parameters.items():
        assert actual.parameters[name].default == parameter.default, name
        assert actual.parameters[name].required == parameter.required, name


@pytest.mark.takes_turns
@pytest.mark.parametrize("seed", range(60))
def test_new_parameters_of_any_kind_give_a_dialect_that_agrees(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    lines = list(LINES)
    for at in range(3):
        fact, element = some_fact(rng, f"novelty_{at}")
        lines.append(line(fact, (f"novelty_{at}",), element, "en"))
    page, base = facts(lines), load("siliconstorm")
    actual = extended(render_delta(page, base, "page"), "siliconstorm", monkeypatch)
    assert missing(page, actual) == []


def test_a_fact_that_a_delta_cannot_express_is_listed_by_hand() -> None:
    lines = [*LINES, Line(("n",), "Optional", "int type, this value must be between 1 <= N <= BEST_OF.")]
    delta = DialectDelta(facts(lines), load("mindie"))
    assert ("n", "range [1, best_of], in parameters/n") in [(fact.path, text) for fact, text in delta.by_hand]
    assert delta.tree.replace["parameters/n/schema"] == {"type": "integer", "minimum": 1}


def test_no_parameter_is_removed_while_a_passage_is_unread() -> None:
    page = html_page(LINES).replace('<td colspan="2"><p>top_k</p></td>', "<td><p>top_k</p></td>")
    delta = DialectDelta(read_facts(read_page(page.encode(), "own")), load("siliconstorm"))
    assert delta.tree.remove == []
    assert "request top_k: the whole parameter" in delta.unstated


def test_a_range_without_brackets_includes_its_ends() -> None:
    lines = [*LINES, Line(("novelty",), "Optional", "Float type. Number between 0.0 and 2.0. Can be null.")]
    lines += [Line(("n",), "Optional", "int type. Number between 1 and 9.")]
    delta = DialectDelta(facts(lines), load("mindie"))
    assert delta.tree.add["parameters/novelty"]["schema"] == {"type": "number", "minimum": 0.0, "maximum": 2.0}
    assert delta.tree.replace["parameters/n/schema"] == {"type": "integer", "minimum": 1, "maximum": 9}
    assert delta.by_hand == []


def test_a_bound_on_one_side_keeps_the_inherited_one_on_the_other() -> None:
    delta = DialectDelta(facts([*LINES, Line(("n",), "Optional", "int type. At most 9.")]), load("openai"))
    assert delta.tree.replace["parameters/n/schema"] == {"type": "integer", "minimum": 1, "maximum": 9}


def test_an_excluded_integer_becomes_a_not_keyword() -> None:
    delta = DialectDelta(facts(changed("[0, 2147483647]", "-1 or (0, 2147483647]")), load("siliconstorm"))
    assert delta.tree.replace["parameters/top_k/schema"] == {
        "type": "integer",
        "minimum": -1,
        "maximum": 2147483647,
        "not": {"const": 0},
    }


def test_a_delta_does_not_change_the_tree_of_its_dialect() -> None:
    tree = DeltaTree("mindie-2.3")
    before = yaml.safe_dump(tree.get("parameters/stop/schema"))
    tree.set("parameters/stop/schema", tree.get("parameters/stop/schema"))
    tree.set("parameters/stop/schema/anyOf/0", {"type": "integer"})
    assert tree.replace["parameters/stop/schema"]["anyOf"][0] == {"type": "integer"}
    assert yaml.safe_dump(tree.get("parameters/stop/schema")) == before
    assert [tree.can_set(path) for path in ("", "a/b", "a/0", "parameters/stop/schema/anyOf/7")] == [
        *(False, True, False, False)
    ]


def test_values_that_only_the_dialect_states_are_listed_but_not_written() -> None:
    delta = DialectDelta(facts(LINES), load("siliconstorm"))
    assert "request stop: items [0, 1024]" in delta.unstated
    assert delta.tree.replace["parameters/stop/schema"] == {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
    }


def test_the_delta_is_yaml_with_counts_and_unread_text() -> None:
    text = render_delta(facts(LINES), load("siliconstorm"), "page.md")
    assert text.startswith(
        "# page.md: HTML or Markdown tables, 10 rows, 13 facts\n# cells: 39 read, 1 read in part, 0 not read\n"
    )
    assert set(yaml.safe_load(text)) == {"extends", "replace", "remove"}
    assert "request stream: It is best left alone for 3 days" in text
    assert "#   line " in text


def test_the_nearest_dialect_has_the_fewest_differences() -> None:
    other_range = [
        replace(row, value=row.value.replace("[0, 2147483647]", "-1 or (0, 2147483647]"))
        for row in changed("value range [0.0, 2.0]", "value range greater than or equal to 0.0")
    ]
    assert nearest_dialect(facts(other_range)).name == "mindie-vllm-1.0"
    paragraphs = "Request#\n\nParam\n\nType\n\nDescription\n\nseed\n\ninteger (default: 0)\n\nAny.\n\nEnd#\n"
    assert nearest_dialect(read_facts(read_page(paragraphs.encode(), "own"))).name == "ovms-2024"


def test_an_unknown_dialect_raises_contract_error() -> None:
    with pytest.raises(ContractError, match="unknown dialect"):
        load("unknown-dialect")
    assert "unknown-dialect" not in names()


def reloaded(value: Any) -> Any:
    return yaml.safe_load(yaml.safe_dump(value))


def test_numbers_are_exact_in_yaml() -> None:
    text = render_delta(facts(LINES), load("siliconstorm"), "page")
    assert yaml.safe_load(text)["replace"]["parameters/seed/schema"]["maximum"] == 2**64 - 1
    delta = DialectDelta(facts(changed("[0.0, 2.0]", "(1e-6, 0.1]")), load("siliconstorm"))
    schema = delta.tree.replace["parameters/temperature/schema"]
    assert reloaded(schema) == {"type": "number", "exclusiveMinimum": 1e-06, "maximum": 0.1}
