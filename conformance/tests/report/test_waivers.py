"""Waivers: what a file may say, and what becomes of a failure that somebody answers for."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import pytest

from conformance.errors import UsageError
from conformance.plan.plan import Plan
from conformance.report.verdict import Outcome, Verdict, build_report
from conformance.report.waivers import Waiver, read
from conformance.tests.report.judgements import FINDING, judgement
from openapi.contract.contract import load

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.report.verdict import Report

TODAY = date(2026, 11, 21)
WAIVER = Waiver("stream.*", "the gateway", "platform", date(2026, 12, 1))


def judged(*waivers: Waiver, failing: bool = True, exhausted: str | None = None) -> Report:
    """The report over one requirement that fails or holds."""
    one = judgement(identity="stream.done-last")
    one = replace(one, findings=(FINDING,)) if failing else one
    return build_report(Plan(load("openai"), (), (), ()), [one], strict=False, exhausted=exhausted, waivers=waivers, today=TODAY)


def outcomes(found: Report) -> dict[str, str]:
    """What became of every row."""
    return {row.id: row.outcome.value for row in found.rows}


def test_a_failure_that_is_waived_fails_nothing_and_says_who_answers_for_it() -> None:
    found = judged(WAIVER)
    assert (found.verdict, outcomes(found)) == (Verdict.CONFORMANT, {"stream.done-last": Outcome.WAIVED})
    assert found.rows[0].note == "waived by platform until 2026-12-01: the gateway; else FAIL"
    assert found.rows[0].findings


def test_a_waiver_holds_through_its_last_day() -> None:
    assert judged(replace(WAIVER, expires=TODAY)).verdict is Verdict.CONFORMANT


def test_an_expired_waiver_covers_nothing_and_fails() -> None:
    found = judged(replace(WAIVER, expires=date(2026, 11, 20)))
    assert outcomes(found) == {"stream.done-last": "FAIL", "waivers.stream.*": "FAIL"}
    assert "it expired on 2026-11-20" in found.rows[1].note


def test_a_waiver_that_nothing_needs_fails() -> None:
    found = judged(WAIVER, failing=False)
    assert (found.verdict, outcomes(found)["waivers.stream.*"]) == (Verdict.NONCONFORMANT, "FAIL")


def test_a_waiver_is_not_stale_where_what_it_covers_had_no_occasion() -> None:
    idle = replace(judgement(identity="stream.done-last"), unobserved="the answer is too short", applies=False)
    found = build_report(Plan(load("openai"), (), (), ()), [idle], strict=False, exhausted=None, waivers=(WAIVER,), today=TODAY)
    assert outcomes(found) == {"stream.done-last": "NOT_EXERCISED"}


def test_a_waiver_is_not_stale_where_nothing_that_it_covers_was_planned() -> None:
    assert judged(replace(WAIVER, id="usage.*"), failing=False).verdict is Verdict.CONFORMANT


def test_a_run_that_ended_early_says_nothing_of_stale_waivers() -> None:
    assert outcomes(judged(WAIVER, failing=False, exhausted="--max-requests 1")) == {"stream.done-last": "PASS"}


def test_a_defect_of_ours_is_not_waived() -> None:
    one = replace(judgement(identity="stream.done-last"), error="x")
    found = build_report(Plan(load("openai"), (), (), ()), [one], strict=False, exhausted=None, waivers=(WAIVER,), today=TODAY)
    assert outcomes(found)["stream.done-last"] == "ERROR"


def test_a_file_is_read_with_its_days(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("- id: stream.*\n  reason: the gateway\n  owner: platform\n  expires: '2026-12-01'\n")
    assert read(path) == (replace(WAIVER, file="w.yaml"),)
    path.write_text("")
    assert read(path) == ()


MISTAKES = {
    "id: x": "a list is needed",
    "- {id: x}": "item 1: needs id, reason, owner, expires",
    "- 7": "it has int",
    "- {id: x, reason: '', owner: o, expires: 2026-12-01}": "reason must be a text",
    "- {id: x, reason: r, owner: 7, expires: 2026-12-01}": "owner must be a text",
    "- {id: x, reason: r, owner: o, expires: never}": "as in 2026-12-31, not 'never'",
    "- {id: x, reason: r, owner: o, expires: 2026-12-01 10:00:00}": "as in 2026-12-31",
    "- {id: x, reason: r, owner: o, expires: 2026-12-01, more: 1}": "nothing else",
    "- [": "no YAML",
    "- &a {id: x, reason: r, owner: o, expires: 2026-12-01}\n- *a": "stands there twice",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_in_the_file_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        read(path)
    assert MISTAKES[text] in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="UTF-8"):
        read(path)
