"""What runs of different depths detect, and what chance changes, is measured and shown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from click.testing import CliRunner

from chatproof import main
from conformance.plan.depth import DEPTHS
from conformance.proof import kill_table
from conformance.proof.correct_servers.repeats_command import compare
from conformance.proof.depths import depth_table
from conformance.proof.kill_matrix import KillMatrix, render

if TYPE_CHECKING:
    from pathlib import Path

TABLE = {
    "faults": 4,
    "depths": {
        "quick": {"requests": {"openai": 50, "vllm": 51}, "strengths": {"one": "M"}},
        "thorough": {"requests": {"openai": 1200}, "strengths": {"one": "M", "two": "S", "three": "M"}},
    },
}
ROWS = ["| quick | 51 | 1 of 4 (25.0%) | 1 |", "| thorough | 1,200 | 3 of 4 (75.0%) | 2 |"]


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner(catch_exceptions=False, env={"COLUMNS": "200"}).invoke(main, ["faults", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_the_summary_has_a_row_for_each_depth() -> None:
    assert ROWS == depth_table.render_summary(TABLE)[2:]


def test_new_figures_replace_the_former_ones_and_nothing_else() -> None:
    matrix = KillMatrix((), (), {})
    before = render(matrix, ["a note"], depth_table.render_summary({**TABLE, "faults": 8}))
    assert render(matrix, ["a note"], depth_table.render_summary(TABLE)) == depth_table.replace_summary(before, TABLE)


def test_the_committed_figures_are_of_faults_in_the_kill_table_and_deeper_runs_detect_more() -> None:
    """A few new faults may not be measured yet: the page states of how many the figures are."""
    table = depth_table.read()
    faults = {name for name, row in kill_table.read()["faults"].items() if not row.get("benign")}
    assert [*DEPTHS] == [*table["depths"]]
    assert 0.9 * len(faults) < table["faults"] <= len(faults)
    quick, standard, thorough = (result["strengths"] for result in table["depths"].values())
    assert len(quick) < len(standard) <= len(thorough) > 0.98 * table["faults"]
    assert faults >= quick.keys() | standard.keys() | thorough.keys()


def test_a_quick_run_detects_a_fault_that_no_answer_hides() -> None:
    code, output, _ = run("depths", "--only", "omits-done", "--depth", "quick")
    assert (0, "| quick | 50 | 1 of 1 (100.0%) | 1 |") == (code, output.splitlines()[2])


def test_figures_of_some_depths_are_not_written(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("kept")
    code, _, error = run("depths", "--depth", "quick", "--write", str(page))
    assert (2, "chatproof: --write requires all depths: remove --depth\n") == (code, error)
    assert page.read_text() == "kept"


def test_figures_of_some_faults_are_added_to_those_of_the_others() -> None:
    new = {"faults": 1, "depths": {"quick": {"requests": {"openai": 49}, "strengths": {"four": "S"}}}}
    expected = {"requests": {"openai": 49, "vllm": 51}, "strengths": {"four": "S", "one": "M"}}
    for own, tested in ((9, 5), (4, 4)):
        added = depth_table.add_known(new, TABLE, {"one"}, own)
        assert {"faults": tested, "depths": {"quick": expected}} == added


def test_outcomes_that_differ_are_listed_by_requirement() -> None:
    first, later = {"a.x": "PASS", "b.y": "WARN"}, {"a.x": "PASS", "b.y": "PASS", "c.z": "FAIL"}
    assert ["b.y: WARN -> PASS", "c.z: no row -> FAIL"] == compare(first, later)
    assert [] == compare(first, json.loads(json.dumps(first)))
