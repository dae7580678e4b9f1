"""The kill matrix shows which checks detect which faults, and what is missing or has changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from chatproof import main
from conformance.judge.check_registry import gather_checks
from conformance.proof import faults_command, kill_table
from conformance.proof.kill_matrix import (
    FaultRow,
    KillMatrix,
    add_known_rows,
    compare_tables,
    faults_of,
    read_rows,
    render,
    to_data,
)
from conformance.proof.mutation_testing import MutationResult
from openapi.contract.contract import names

MATRIX = Path(__file__).resolve().parents[3] / "docs" / "kill-matrix.md"


def fault(name: str, **killers: str) -> FaultRow:
    """A fault that these checks detect."""
    return FaultRow(
        name, f"It does {name}.", "mindie-2.3", (1,), False, {f"topic.{key}": value for key, value in killers.items()}
    )


def test_an_undetected_fault_and_a_check_that_detects_nothing_are_listed() -> None:
    matrix = KillMatrix((fault("one", a="M"), fault("two")), ("topic.a", "topic.b"), {})
    assert (("two",), ("topic.b",), 0.5) == (matrix.survivors, matrix.idle, matrix.score)
    assert not matrix.holds


def test_an_excused_check_may_detect_nothing() -> None:
    matrix = KillMatrix((fault("one", a="M"),), ("topic.a", "topic.b"), {"topic.b": "no fault can violate it"})
    assert matrix.holds
    assert "- `topic.b`: no fault can violate it" in render(matrix, [])


def test_the_fault_that_the_fewest_checks_detect_is_listed_first() -> None:
    matrix = KillMatrix((fault("broad", a="M", b="S"), fault("narrow", a="o")), ("topic.a", "topic.b"), {})
    text = render(matrix, ["no false positives"])
    assert "| `topic.a` | 2 | `narrow`, `broad` |" in text
    assert "| `broad` | It does broad. | mindie-2.3 | `topic.a`, `topic.b`* |" in text
    assert "- no false positives" in text
    assert [("narrow", "It does narrow."), ("broad", "It does broad.")] == faults_of(to_data(matrix), "topic.a")


def test_a_variation_may_be_observed_and_does_not_count_as_a_fault() -> None:
    odd = replace(fault("odd", b="o"), benign=True)
    matrix = KillMatrix((fault("one", a="M"), odd), ("topic.a", "topic.b"), {})
    assert matrix.holds
    assert ((), 1.0, ("odd",)) == (matrix.survivors, matrix.score, matrix.killed_by("topic.b"))


def test_an_excused_fault_lowers_the_score_without_being_a_survivor() -> None:
    matrix = KillMatrix((fault("one", a="M"), fault("two")), ("topic.a",), {"two": "no check can detect it"})
    assert matrix.holds
    assert 0.5 == matrix.score


def test_an_excuse_that_is_no_longer_needed_fails() -> None:
    excused = {"topic.a": "no fault can violate it", "one": "no check can detect it"}
    matrix = KillMatrix((fault("one", a="M"),), ("topic.a",), excused)
    assert ("topic.a", "one") == matrix.stale
    assert not matrix.holds


def test_changes_since_the_matrix_was_written_are_listed() -> None:
    before = to_data(KillMatrix((fault("gone", a="M"), fault("kept", a="M")), (), {}))
    after = to_data(KillMatrix((fault("kept", a="S"), fault("new", a="M")), (), {}))
    expected = ["gone: removed", "kept: killed_by {'topic.a': 'M'} -> {'topic.a': 'S'}", "new: new"]
    assert expected == compare_tables(before, after)
    assert [] == compare_tables(before, before)


def test_a_partial_run_updates_its_rows_and_drops_faults_that_no_longer_exist() -> None:
    before = to_data(KillMatrix((fault("gone", a="M"), fault("kept", a="M"), fault("again", a="M")), (), {}))
    part = KillMatrix((fault("again", b="S"), fault("new", b="M")), (), {})
    rows = {row.name: row.killers for row in add_known_rows(part, before, ("kept", "again", "new")).rows}
    assert {"again": {"topic.b": "S"}, "new": {"topic.b": "M"}, "kept": {"topic.a": "M"}} == rows


def test_a_flaky_fault_must_be_detected_with_the_same_strength_by_any_check() -> None:
    before = to_data(KillMatrix((replace(fault("crowd", a="M", b="S"), flaky=True, shown_by=("x",)),), (), {}))
    more = to_data(KillMatrix((fault("crowd", a="M", b="S", c="o"),), (), {}))
    others = to_data(KillMatrix((fault("crowd", d="M"),), (), {}))
    less = to_data(KillMatrix((fault("crowd", a="S", c="S"),), (), {}))
    none = to_data(KillMatrix((fault("crowd"),), (), {}))
    assert [[], []] == [compare_tables(before, after) for after in (more, others)]
    assert [1, 1] == [len(compare_tables(before, after)) for after in (less, none)]
    assert [] == compare_tables(more, before)


def test_a_fault_must_be_detected_as_strongly_by_one_of_the_earlier_checks() -> None:
    before = to_data(KillMatrix((fault("usual", a="M", b="M", c="S"),), (), {}))
    fewer, weaker, others, none = (
        to_data(KillMatrix((fault("usual", **killers),), (), {}))
        for killers in ({"b": "M"}, {"b": "S", "c": "S"}, {"d": "M"}, {})
    )
    assert [0, 1, 1, 1] == [len(compare_tables(before, after)) for after in (fewer, weaker, others, none)]


def test_what_is_observed_of_a_variation_may_change() -> None:
    before = to_data(KillMatrix((replace(fault("odd", a="o"), benign=True),), (), {}))
    after = to_data(KillMatrix((replace(fault("odd", b="o"), benign=True),), (), {}))
    assert [] == compare_tables(before, after)


def test_a_row_of_the_kill_table_is_read_as_it_was_written() -> None:
    row = replace(fault("crowd", a="M"), flaky=True, shown_by=("greedy", "tools"), bugs=())
    assert (row,) == read_rows(to_data(KillMatrix((row,), (), {})))


def test_a_check_is_shown_with_the_faults_that_it_detects(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (
        replace(fault("broad"), killers={"stream.done-last": "M", "stream.done-once": "M"}),
        replace(fault("narrow"), killers={"stream.done-last": "M"}),
    )
    monkeypatch.setattr(kill_table, "read", lambda: to_data(KillMatrix(rows, (), {})))
    result = CliRunner().invoke(main, ["checks", "show", "stream.done-last"])
    assert 0 == result.exit_code, result.output
    assert "fault   narrow  It does narrow.\nfault   broad  It does broad.\n" in result.output


def test_the_committed_kill_table_and_its_excuses_name_existing_checks() -> None:
    named = {check for row in kill_table.read()["faults"].values() for check in row["killed_by"]}
    assert set(gather_checks()) >= named | {name for name in kill_table.EXCUSED if "." in name}


def test_the_fewest_faults_are_less_than_a_third_and_show_every_check_to_fail() -> None:
    rows = {row.name: row for row in read_rows(kill_table.read())}
    chosen = {name: rows[name].verifying_checks for name in kill_table.choose_fewest(rows.values())}
    detected = {check for row in rows.values() if not row.benign for check in row.killers}
    assert detected == set().union(*chosen.values())
    assert len(chosen) < len(rows) / 3


def test_a_fault_that_chance_can_hide_is_chosen_only_if_its_check_detects_no_other() -> None:
    chance = replace(fault("chance", a="M", b="M"), flaky=True)
    steady = fault("steady", a="M")
    assert {"steady"} == kill_table.choose_fewest([replace(chance, killers=steady.killers), steady])
    assert {"steady", "chance"} == kill_table.choose_fewest([chance, steady])


def test_a_fault_is_chosen_by_the_checks_that_verify_it_and_no_variation_is_chosen() -> None:
    many = replace(fault("many", a="M", b="M", c="M"), verified_by={"topic.a": "greedy"})
    variation = replace(fault("legal", a="o", b="o"), benign=True)
    assert {"many", "other"} == kill_table.choose_fewest([many, variation, fault("other", b="M", c="S")])


@pytest.mark.parametrize(("undetected", "code"), [("", 0), ("omits-done", 1)])
def test_the_fewest_faults_fail_only_if_one_is_no_longer_detected_and_not_by_chance(
    monkeypatch: pytest.MonkeyPatch, undetected: str, code: int
) -> None:
    table = {row.name: row for row in read_rows(kill_table.read())}
    chosen = kill_table.choose_fewest(table.values()) | {"omits-done"}
    tested = [row for row in table.values() if row.name in chosen or row.benign]
    rows = [replace(row, killers={}) if row.name == undetected else strongest_alone(row) for row in tested]
    result = MutationResult(KillMatrix(tuple(rows), tuple(gather_checks()), {}), (), tuple(names()))
    hosted = [SimpleNamespace(name=name) for name in table]
    monkeypatch.setattr(faults_command, "_run_faults", lambda *_, **__: (result, hosted))
    done = CliRunner().invoke(faults_command.run, ["--check", str(MATRIX), "--fewest"])
    assert (code, undetected in done.output.split("has changed")[-1]) == (done.exit_code, True), done.output[-500:]


def strongest_alone(row: FaultRow) -> FaultRow:
    """Return a row as it is if it is not flaky; otherwise with its strongest check alone."""
    return (
        replace(row, killers=dict([min(row.killers.items(), key=lambda item: "MSo".index(item[1]))]))
        if row.flaky
        else row
    )


@pytest.mark.parametrize("options", [[], ["--check", "matrix.md", "--thorough"]])
def test_the_fewest_faults_are_tested_only_to_compare_them_with_the_matrix(options: list[str]) -> None:
    result = CliRunner().invoke(faults_command.run, ["--fewest", *options])
    assert (2, "chatproof: --fewest requires --check, and excludes --thorough\n") == (result.exit_code, result.stderr)


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ([], "chatproof faults run --known --write docs/kill-matrix.md"),
        (["--check", "my matrix.md"], "chatproof faults run --known --write 'my matrix.md'"),
    ],
)
def test_the_command_that_records_other_scenarios_names_the_file_of_the_matrix(
    monkeypatch: pytest.MonkeyPatch, options: list[str], command: str
) -> None:
    matrix = KillMatrix((fault("one", a="M"),), ("topic.a",), {})
    result = MutationResult(matrix, (), (), stale=("one", "two"))
    monkeypatch.setattr(faults_command, "_run_faults", lambda *_, **__: (result, []))
    printed = CliRunner().invoke(faults_command.run, options).output
    assert f"2 faults took longer, as the recorded scenarios no longer show what they did: one, two. `{command}`" in (
        printed
    )
