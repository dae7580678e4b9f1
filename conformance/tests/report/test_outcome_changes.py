"""`chatproof diff`: a requirement that is no longer judged is lost, and that fails unless it is allowed."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console
from rich.table import Table

from conformance.report.results import to_json
from conformance.report.writers import outcome_changes
from conformance.report.writers.outcome_changes import BETTER, LOST, OTHER, WORSE, compare_results
from conformance.tests.report.judgements import results_with_failures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.tests.conftest import CommandResult, Good


GOODS = ["mindie-2.3", "openai"]  # results are handled in the same way for every dialect


def results(outcome: str, *, exchanges: int = 1) -> dict[str, Any]:
    """Return the part of a results document that is compared, with one requirement; without an outcome with none."""
    row = {
        "id": "topic.requirement",
        "outcome": outcome,
        "fails": outcome in ("FAIL", "ERROR"),
        "exchanges": exchanges,
        "findings": [{"expected": "a", "got": "b"}] if outcome in ("FAIL", "WARN") else [],
        "note": "the reason",
    }
    return {"requirements": [row] if outcome else []}


@pytest.mark.parametrize("before", ["PASS", "FAIL", "WARN", "OBSERVED", "WAIVED"])
@pytest.mark.parametrize("after", ["NOT_EXERCISED", "NOT_APPLICABLE", "UNTESTABLE", ""])
def test_a_requirement_that_is_no_longer_judged_is_lost(before: str, after: str) -> None:
    (change,) = compare_results(results(before), results(after))
    assert (change.kind, change.reason) == (LOST, "the reason" if after else "not part of the second run")


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("PASS", "FAIL", WORSE),
        ("PASS", "WARN", WORSE),
        ("PASS", "ERROR", WORSE),
        ("NOT_EXERCISED", "FAIL", WORSE),
        ("", "FAIL", WORSE),
        ("FAIL", "PASS", BETTER),
        ("UNTESTABLE", "PASS", BETTER),
        ("NOT_EXERCISED", "PASS", OTHER),
        ("", "PASS", OTHER),
        ("NOT_EXERCISED", "", OTHER),
    ],
)
def test_a_requirement_that_is_still_judged_is_worse_better_or_neither(before: str, after: str, kind: str) -> None:
    assert [kind] == [change.kind for change in compare_results(results(before), results(after))]


def test_an_observation_without_an_exchange_is_not_judged() -> None:
    assert [LOST] == [change.kind for change in compare_results(results("OBSERVED"), results("OBSERVED", exchanges=0))]
    assert not list(compare_results(results("OBSERVED"), results("OBSERVED")))


def test_lost_requirements_have_a_table_of_their_own() -> None:
    changes = [
        *compare_results(results("PASS"), results("")),
        *compare_results(results("PASS"), results("FAIL")),
    ]
    tables, alone = list(outcome_changes.make_tables(changes)), list(outcome_changes.make_tables(changes[:1]))
    assert [[1, 1], [1]] == [
        [table.row_count for table in shown if isinstance(table, Table)] for shown in (tables, alone)
    ]
    assert not list(outcome_changes.make_tables([]))


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_names_of_requirements_are_in_one_piece_in_a_terminal_of_any_usual_width(width: int) -> None:
    name = "parameters.temperature.maximum-out"
    change = outcome_changes.OutcomeChange(name, "PASS", "NOT_EXERCISED", LOST, "not part of the second run " * 3)
    output = io.StringIO()
    for table in outcome_changes.make_tables([change], width):
        Console(file=output, width=width).print(table)
    lines = output.getvalue().splitlines()
    assert any(name in line and line.startswith("lost") for line in lines)
    assert max(map(len, lines)) <= width
    assert "not exercised" in " ".join(output.getvalue().split())


def test_diff_fails_for_lost_requirements_unless_they_are_allowed(
    read_good: Callable[[str], Good], chatproof: Callable[..., CommandResult], tmp_path: Path
) -> None:
    content = json.loads(read_good("mindie-2.3").results)
    (tmp_path / "a.json").write_text(json.dumps(content), encoding="utf-8")
    row = next(row for row in content["requirements"] if row["outcome"] == "PASS")
    row |= {"outcome": "NOT_EXERCISED", "note": "the tool is gone", "exchanges": 0}
    (tmp_path / "b.json").write_text(json.dumps(content), encoding="utf-8")
    refused, allowed = chatproof("diff", "a.json", "b.json"), chatproof("diff", "a.json", "b.json", "--allow-lost")
    assert (refused.code, allowed.code) == (1, 0)
    assert "0 worse, 1 no longer judged, 0 better, 1 changed" in refused.stdout
    assert "why it is no longer judged" in refused.stdout


def test_requirements_that_got_worse_between_two_runs_are_listed(good: Good) -> None:
    before, after = json.loads(good.results), results_with_failures(good)
    changes = list(compare_results(before, after))
    assert changes
    assert {WORSE} == {change.kind for change in changes}
    assert {BETTER} == {change.kind for change in compare_results(after, before)}
    assert not list(compare_results(after, after))


def test_diff_exits_with_1_if_a_requirement_got_worse(
    read_good: Callable[[str], Good], chatproof: Callable[..., CommandResult], tmp_path: Path
) -> None:
    good = read_good("mindie-2.3")
    (tmp_path / "a.json").write_text(good.results, encoding="utf-8")
    (tmp_path / "b.json").write_text("".join(to_json(results_with_failures(good))), encoding="utf-8")
    assert [chatproof("diff", *names).code for names in (("a.json", "a.json"), ("a.json", "b.json"))] == [0, 1]
    assert "worse" in chatproof("diff", "a.json", "b.json").stdout
