"""Withdraw verdicts of older versions that nothing supports: a run that judged nothing selected was conformant then."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from conformance.report.outcome import Outcome
from conformance.report.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection

REASON: Final = (
    "none of the selected requirements was judged, which the chatproof that wrote the file called conformant; "
    "run the check again with a selection that the server exercises"
)


def withdraw_unsupported(document: dict[str, Any]) -> dict[str, Any]:
    """Return results, and those of further dialects in them, with a verdict that their rows support."""
    run = document["run"]
    new = _withdraw(document, run)
    if new is not document:
        new["run"] = {**run, "unjudged": REASON}
    if "also" in document:
        new = {**new, "also": [_withdraw(other, run) for other in document["also"]]}
    return new


def _withdraw(judged: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """Return the results of one dialect, inconclusive if they are conformant without a judged requirement."""
    supported = judged["verdict"] != Verdict.CONFORMANT or any(map(_is_judged, _list_selected(judged, run)))
    return judged if supported else {**judged, "verdict": Verdict.INCONCLUSIVE.value}


def _is_judged(row: dict[str, Any]) -> bool:
    return bool(row["exchanges"] or row["findings"] or row["outcome"] == Outcome.WAIVED)


def _list_selected(judged: dict[str, Any], run: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows that the user selected: all if a pattern names a scenario, whose rows a file does not state."""
    rows: list[dict[str, Any]] = judged["requirements"]
    only, topics = run.get("only", ()), run.get("topics", ())
    named = all(any(_matches(row, [pattern]) for row in rows) for pattern in only)
    if not named:
        return rows
    chosen = [row for row in rows if not only or _matches(row, only)]
    return [row for row in chosen if not topics or row["check"].partition(".")[0] in topics]


def _matches(row: dict[str, Any], patterns: Collection[str]) -> bool:
    return any(fnmatchcase(row[name], pattern) for pattern in patterns for name in ("id", "check"))
