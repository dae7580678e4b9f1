"""The outcomes that a requirement can have, and which of them fail a run."""

from __future__ import annotations

from enum import StrEnum

from openapi.contract.contract import Keyword


class Outcome(StrEnum):
    """The outcome of one requirement."""

    PASS = "PASS"  # noqa: S105 - no password
    FAIL = "FAIL"
    WARN = "WARN"
    OBSERVED = "OBSERVED"
    UNTESTABLE = "UNTESTABLE"
    NOT_EXERCISED = "NOT_EXERCISED"  # the condition of the requirement did not occur
    NOT_APPLICABLE = "NOT_APPLICABLE"  # the capability is not declared
    WAIVED = "WAIVED"  # it fails, and a waiver accepts that
    ERROR = "ERROR"  # an internal error of the suite


UNJUDGED = (Outcome.NOT_EXERCISED, Outcome.NOT_APPLICABLE)
"""The outcomes of requirements that were not judged at all."""
VIOLATED = (Outcome.FAIL, Outcome.WARN, Outcome.UNTESTABLE)
"""The outcomes that can be a consequence of another failure."""


def row_fails(outcome: Outcome, keyword: Keyword, *, strict: bool) -> bool:
    """Return whether a row with this outcome and keyword fails the run."""
    if outcome is Outcome.FAIL:
        return True
    if outcome is Outcome.WARN:
        return strict
    return outcome is Outcome.UNTESTABLE and (keyword is Keyword.MUST or (strict and keyword is Keyword.SHOULD))
