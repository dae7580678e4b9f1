"""Attributions: what causes each finding, as data in `findings/<server>.yaml`.

An attribution names requirements (patterns as in a shell), the cause, the behaviour of the server in one sentence, and
how an independent request confirms it. A finding without an attribution fails the command, so that a new false
positive cannot hide.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import yaml

from tests.third_parties.catalogue import HERE
from tests.third_parties.confirmation import RECORDED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.third_parties.judging import Row

CAUSES: Final = ("server", "model", "chatproof")
"""Causes of a finding. A finding that chatproof causes is a false positive."""


@dataclass(frozen=True, slots=True)
class Report:
    """A defect as it can be reported to the authors of a server."""

    title: str
    expected: str


@dataclass(frozen=True, slots=True)
class Attribution:
    """The cause of findings.

    dialects: those of the runs that it is about; empty: all.
    confirm: the confirmation (see confirmation.py; in the file also the name of one in recipes.yaml); `recorded`: the
        recorded exchange is shown; None: the cited requests are sent again.
    sometimes: why the finding depends on chance, so the attribution stays even if a run does not have it.
    """

    requirements: tuple[str, ...]
    cause: str
    behaviour: str
    dialects: tuple[str, ...] = ()
    confirm: Mapping[str, Any] | str | None = None
    report: Report | None = None
    sometimes: str | None = None

    def covers(self, requirement: str, dialect: str) -> bool:
        """Whether this attribution is about a requirement in a run of a dialect."""
        return (not self.dialects or dialect in self.dialects) and any(
            fnmatchcase(requirement, pattern) for pattern in self.requirements
        )


@cache
def load(server: str) -> tuple[Attribution, ...]:
    """Return the attributions of a server; none if it has no file.

    Raises ValueError if an attribution has an unknown cause.
    """
    path = HERE / "findings" / f"{server}.yaml"
    rows = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else None
    return tuple(_attribution(path.name, row) for row in rows or ())


def find(attributions: Sequence[Attribution], row: Row, dialect: str) -> Attribution | None:
    """Return the first attribution of a requirement, so that special ones can precede general ones."""
    return next((attribution for attribution in attributions if attribution.covers(row.requirement, dialect)), None)


@cache
def _recipes() -> Any:
    return yaml.safe_load((HERE / "recipes.yaml").read_text(encoding="utf-8"))


def _attribution(source: str, row: Mapping[str, Any]) -> Attribution:
    if row["cause"] not in CAUSES:
        raise ValueError(f"{source}: invalid cause {row['cause']!r}: expected one of {', '.join(CAUSES)}")
    report = row.get("report")
    confirm = row.get("confirm")
    if isinstance(confirm, str) and confirm != RECORDED:
        confirm = _recipes()[confirm]
    return Attribution(
        requirements=tuple(row["requirements"]),
        cause=row["cause"],
        behaviour=row["behaviour"],
        dialects=tuple(row.get("dialects", ())),
        confirm=confirm,
        report=Report(report["title"], report["expected"]) if report else None,
        sometimes=row.get("sometimes"),
    )
