"""Waivers: what a file may contain, and which failures a waiver accepts."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import pytest

from conformance.errors import UsageError
from conformance.plan.plan import Plan
from conformance.report.outcome import Outcome
from conformance.report.verdict import Verdict, build_report
from conformance.report.waivers import Waiver, read
from conformance.tests.report.judgements import FINDING, make_judgement
from openapi.contract.contract import load

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.report.verdict import Report

TODAY = date(2026, 11, 21)
WAIVER = Waiver("stream.*", "the gateway", "platform", date(2026, 12, 1))


def judged(*waivers: Waiver, failing: bool = True, exhausted: str | None = None) -> Report:
    """The report on one requirement that fails or passes."""
    one = make_judgement(identity="stream.done-last")
    one = replace(one, findings=(FINDING,)) if failing else one
    return build_report(
        Plan(load("openai"), (), (), ()), [one], strict=False, exhausted=exhausted, waivers=waivers, today=TODAY
    )


def outcomes(report: Report) -> dict[str, str]:
    """The outcome of each row."""
    return {row.id: row.outcome.value for row in report.rows}


def test_a_waived_failure_does_not_fail_the_run_and_names_its_owner() -> None:
    report = judged(WAIVER)
    assert (report.verdict, outcomes(report)) == (Verdict.CONFORMANT, {"stream.done-last": Outcome.WAIVED})
    assert report.rows[0].note == "waived by platform until 2026-12-01: the gateway; otherwise FAIL"
    assert report.rows[0].findings


def test_a_waiver_is_in_force_on_its_expiry_date() -> None:
    assert judged(replace(WAIVER, expires=TODAY)).verdict is Verdict.CONFORMANT


def test_an_expired_waiver_covers_nothing_and_fails() -> None:
    report = judged(replace(WAIVER, expires=date(2026, 11, 20)))
    assert outcomes(report) == {"stream.done-last": "FAIL", "waivers.stream.*": "FAIL"}
    assert "it expired on 2026-11-20" in report.rows[1].note


def test_a_waiver_that_no_failure_needs_fails() -> None:
    report = judged(WAIVER, failing=False)
    assert (report.verdict, outcomes(report)["waivers.stream.*"]) == (Verdict.NONCONFORMANT, "FAIL")


def test_a_waiver_is_not_stale_if_its_requirement_was_not_exercised() -> None:
    unexercised = replace(
        make_judgement(identity="stream.done-last"), unobserved="the answer is too short", applies=False
    )
    report = build_report(
        Plan(load("openai"), (), (), ()), [unexercised], strict=False, exhausted=None, waivers=(WAIVER,), today=TODAY
    )
    assert outcomes(report) == {"stream.done-last": "NOT_EXERCISED"}


def test_a_waiver_is_not_stale_if_its_requirement_was_not_planned() -> None:
    assert judged(replace(WAIVER, id="usage.*"), failing=False).verdict is Verdict.CONFORMANT


def test_a_run_that_ended_early_reports_no_stale_waiver() -> None:
    assert outcomes(judged(WAIVER, failing=False, exhausted="--max-requests 1")) == {"stream.done-last": "PASS"}


def test_an_internal_error_is_not_waived() -> None:
    one = replace(make_judgement(identity="stream.done-last"), error="x")
    report = build_report(
        Plan(load("openai"), (), (), ()), [one], strict=False, exhausted=None, waivers=(WAIVER,), today=TODAY
    )
    assert outcomes(report)["stream.done-last"] == "ERROR"


def test_a_file_is_read_with_its_dates(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("- id: stream.*\n  reason: the gateway\n  owner: platform\n  expires: '2026-12-01'\n")
    assert read(path) == (replace(WAIVER, file="w.yaml"),)
    path.write_text("")
    assert read(path) == ()


MISTAKES = {
    "id: x": "expected a list",
    "- {id: x}": "item 1: expected exactly the fields id, reason, owner, expires, got id",
    "- 7": "got int",
    "- {id: x, reason: '', owner: o, expires: 2026-12-01}": "invalid reason: expected a string",
    "- {id: x, reason: r, owner: 7, expires: 2026-12-01}": "invalid owner: expected a string",
    "- {id: x, reason: r, owner: o, expires: never}": "such as 2026-12-31, got 'never'",
    "- {id: x, reason: r, owner: o, expires: 2026-12-01 10:00:00}": "such as 2026-12-31",
    "- {id: x, reason: r, owner: o, expires: 2026-12-01, more: 1}": "got id, reason, owner, expires, more",
    "- [": "invalid YAML",
    "- &a {id: x, reason: r, owner: o, expires: 2026-12-01}\n- *a": "duplicate id 'x'",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_in_the_file_is_reported_on_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        read(path)
    assert MISTAKES[text] in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="UTF-8"):
        read(path)
