"""The kill matrix: who names whom, and what makes the proof fail."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from chatproof import main
from conformance.check import gather
from conformance.proof import fault_run as trial
from conformance.proof import kill_table as ledger
from conformance.proof.fault_host import Host, Shown
from conformance.proof.fault_run import Kill
from conformance.proof.kill_matrix import Matrix, Trialled, as_data, faults_of, moves, read_rows, render, updated
from conformance.proof.mutation_testing import prove, strongest
from conformance.proof.scenario_selection import ALL, again, all_of, enough, everything
from conformance.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence


def fault(name: str, **killers: str) -> Trialled:
    """A fault that these checks name."""
    return Trialled(
        name, f"It does {name}.", "mindie-2.3", (1,), False, {f"topic.{key}": value for key, value in killers.items()}
    )


def test_a_fault_that_nobody_names_and_a_check_that_names_nothing_are_told() -> None:
    matrix = Matrix((fault("one", a="M"), fault("two")), ("topic.a", "topic.b"), {})
    assert (("two",), ("topic.b",), 0.5) == (matrix.survivors, matrix.idle, matrix.score)
    assert not matrix.holds


def test_a_check_that_is_excused_with_a_reason_may_stay_idle() -> None:
    matrix = Matrix((fault("one", a="M"),), ("topic.a", "topic.b"), {"topic.b": "nobody can show it"})
    assert matrix.holds
    assert "- `topic.b`: nobody can show it" in render(matrix, [])


def test_the_matrix_tells_the_fault_that_the_fewest_checks_name_first() -> None:
    matrix = Matrix((fault("broad", a="M", b="S"), fault("narrow", a="o")), ("topic.a", "topic.b"), {})
    text = render(matrix, ["nobody else is blamed"])
    assert "| `topic.a` | 2 | `narrow`, `broad` |" in text
    assert "| `broad` | It does broad. | mindie-2.3 | `topic.a`, `topic.b`* |" in text
    assert "- nobody else is blamed" in text
    assert [("narrow", "It does narrow."), ("broad", "It does broad.")] == faults_of(as_data(matrix), "topic.a")


def test_what_is_allowed_may_be_observed_and_is_no_fault() -> None:
    odd = replace(fault("odd", b="o"), benign=True)
    matrix = Matrix((fault("one", a="M"), odd), ("topic.a", "topic.b"), {})
    assert matrix.holds
    assert ((), 1.0, ("odd",)) == (matrix.survivors, matrix.score, matrix.killed_by("topic.b"))


def test_a_fault_that_is_excused_is_no_survivor_but_lowers_the_score() -> None:
    matrix = Matrix((fault("one", a="M"), fault("two")), ("topic.a",), {"two": "nobody can see it"})
    assert matrix.holds
    assert 0.5 == matrix.score


def test_an_excuse_that_is_no_longer_needed_fails() -> None:
    matrix = Matrix((fault("one", a="M"),), ("topic.a",), {"topic.a": "nobody can show it", "one": "unseen"})
    assert ("topic.a", "one") == matrix.stale
    assert not matrix.holds


def test_what_moved_since_the_matrix_was_written_is_told() -> None:
    before = as_data(Matrix((fault("gone", a="M"), fault("kept", a="M")), (), {}))
    after = as_data(Matrix((fault("kept", a="S"), fault("new", a="M")), (), {}))
    said = ["gone: no longer there", "kept: killed_by {'topic.a': 'M'} -> {'topic.a': 'S'}", "new: new"]
    assert said == moves(before, after)
    assert [] == moves(before, before)


def test_a_part_is_written_into_what_stands_and_what_is_no_longer_shown_goes() -> None:
    before = as_data(Matrix((fault("gone", a="M"), fault("kept", a="M"), fault("again", a="M")), (), {}))
    part = Matrix((fault("again", b="S"), fault("new", b="M")), (), {})
    rows = {row.name: row.killers for row in updated(part, before, ("kept", "again", "new")).rows}
    assert {"again": {"topic.b": "S"}, "new": {"topic.b": "M"}, "kept": {"topic.a": "M"}} == rows


def test_checks_that_go_by_the_clock_count_only_for_faults_that_play_with_time() -> None:
    slow, other = (Kill(check, check, "M", "") for check in ("stream.arrives-bit-by-bit", "stream.done-last"))
    assert {"stream.done-last": "M"} == strongest([slow, other], timed=False)
    assert {"stream.arrives-bit-by-bit": "M", "stream.done-last": "M"} == strongest([slow, other], timed=True)


def test_the_most_binding_requirement_counts() -> None:
    kills = [Kill("topic.a", f"topic.a.{strength}", strength, "") for strength in "MSo"]
    assert {"topic.a": "M"} == strongest(kills, timed=False)


def test_few_scenarios_are_enough_to_show_a_fault_to_all_that_name_it_as_bindingly() -> None:
    kills = [
        Kill("topic.a", "topic.a", "M", "", ("greedy", "plain")),
        Kill("topic.b", "topic.b.strict", "M", "", ("plain", "tools")),
        Kill("topic.b", "topic.b.lax", "S", "", ("greedy",)),
        Kill("topic.c", "topic.c", "o", "", ("cuts",)),
    ]
    killers = strongest(kills, timed=False)
    assert ("cuts", "plain") == enough(kills, killers)
    assert ("cuts", "greedy", "plain", "tools") == all_of(kills, killers)
    assert ("plain",) == enough(kills, {"topic.a": "M", "topic.b": "M"})


def test_a_fault_is_shown_again_to_what_showed_it_and_to_the_same_sample_of_others() -> None:
    met = [Scenario(f"scenario-{number}", "", ()) for number in range(40)]
    asked = again("seed-ignored", ("scenario-7", "no-longer-there"), 5)(met)
    assert 6 == len(asked)
    assert "scenario-7" in asked
    assert asked == again("seed-ignored", ("scenario-7",), 5)(met)
    assert asked != again("stop-ignored", ("scenario-7",), 5)(met)
    assert everything(met) == again("seed-ignored", (ALL,), 5)(met)


def test_a_restless_fault_has_to_be_named_as_strongly_by_whichever_check() -> None:
    before = as_data(Matrix((replace(fault("crowd", a="M", b="S"), restless=True, shown_by=("x",)),), (), {}))
    more = as_data(Matrix((fault("crowd", a="M", b="S", c="o"),), (), {}))
    others = as_data(Matrix((fault("crowd", d="M"),), (), {}))
    less = as_data(Matrix((fault("crowd", a="S", c="S"),), (), {}))
    none = as_data(Matrix((fault("crowd"),), (), {}))
    assert [[], []] == [moves(before, each) for each in (more, others)]
    assert [1, 1] == [len(moves(before, each)) for each in (less, none)]
    assert 1 == len(moves(more, before))


@pytest.mark.parametrize(
    ("named", "killers", "tries", "restless"),
    [
        (["MM", "M"], {"topic.a": "M"}, 2, False),
        (["S", "S", "S", "M"], {"topic.a": "S"}, 3, False),
        (["M"], {"topic.a": "M"}, 1, False),
        ([" S", "M"], {"topic.a": "M", "topic.b": "S"}, 2, True),
    ],
)
def test_a_fault_is_shown_up_to_three_times_before_others_are_said_to_name_it(
    monkeypatch: pytest.MonkeyPatch, named: Sequence[str], killers: dict[str, str], tries: int, restless: bool
) -> None:
    """named: how the checks a and b name it, at each try; a space: not. What a restless one shows adds up."""
    asked = iter(named)
    done: list[str] = []
    told: list[str] = []

    async def bench(_host: Host, _dialect: str) -> object:
        return SimpleNamespace(blamed=(), errors=())

    async def attempt(*_: object) -> frozenset[Kill]:
        done.append(next(asked))
        words = zip("ab", done[-1], strict=False)
        return frozenset(Kill(f"topic.{check}", check, word, "") for check, word in words if word != " ")

    monkeypatch.setattr(trial, "bench", bench)
    monkeypatch.setattr(trial, "attempt", attempt)
    before = {"crowd": replace(fault("crowd", a="M"), restless=restless)}
    shown = Shown("crowd", "", (), (), (), None, "anywhere", False, None, restless, ("mindie-2.3",))
    host = Host("", "", (shown,))
    proof = asyncio.run(prove(host, (shown,), ("mindie-2.3",), told.append, whole=False, before=before))
    assert [killers] == [row.killers for row in proof.matrix.rows]
    assert tries == len(done)
    assert told[-1].startswith("1 of 1 shown")


def test_a_row_of_the_ledger_is_read_as_it_was_written() -> None:
    row = replace(fault("crowd", a="M"), restless=True, shown_by=("greedy", "tools"), bugs=())
    assert (row,) == read_rows(as_data(Matrix((row,), (), {})))


def test_a_check_shows_the_faults_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (
        replace(fault("broad"), killers={"stream.done-last": "M", "stream.done-once": "M"}),
        replace(fault("narrow"), killers={"stream.done-last": "M"}),
    )
    monkeypatch.setattr(ledger, "read", lambda: as_data(Matrix(rows, (), {})))
    said = CliRunner().invoke(main, ["checks", "show", "stream.done-last"])
    assert 0 == said.exit_code, said.output
    assert "fault   narrow  It does narrow.\nfault   broad  It does broad.\n" in said.output


def test_the_committed_ledger_and_its_excuses_speak_of_checks_that_exist() -> None:
    named = {check for row in ledger.read()["faults"].values() for check in row["killed_by"]}
    assert set(gather()) >= named | {each for each in ledger.EXCUSED if "." in each}
