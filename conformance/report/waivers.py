"""Waivers: failures that somebody answers for until a day, read from a YAML file.

    - id: stream.done-last           # a requirement; globs are fine
      reason: the gateway drops it, ticket 123
      owner: platform team
      expires: 2026-12-31

A waiver covers the failing requirements that its `id` matches. One whose day has passed covers nothing and fails
itself, and so does one that nothing needs any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import yaml

from conformance.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MEMBERS = ("id", "reason", "owner", "expires")


@dataclass(frozen=True, slots=True)
class Waiver:
    """One line of the file. It holds through the day `expires`. `file` is for messages."""

    id: str
    reason: str
    owner: str
    expires: date
    file: str = "waivers.yaml"

    @property
    def source(self) -> str:
        """Where it stands."""
        return f"{self.file}#{self.id}"

    def expired(self, today: date) -> bool:
        """Whether its day has passed."""
        return today > self.expires

    def covers(self, requirement: str) -> bool:
        """Whether it is about that requirement."""
        return fnmatchcase(requirement, self.id)

    @property
    def words(self) -> str:
        """Who waives until when, and why."""
        return f"waived by {self.owner} until {self.expires.isoformat()}: {self.reason}"


def read(path: Path) -> tuple[Waiver, ...]:
    """The waivers of a file. Raises UsageError that names the place and the mistake."""
    try:
        rows: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"--waivers {path}: {reason}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"--waivers {path}: this is no YAML: {' '.join(str(error).split())}") from error
    if rows is None:
        return ()
    if not isinstance(rows, list):
        raise UsageError(f"--waivers {path}: a list is needed, each item with {', '.join(MEMBERS)}")
    found = tuple(_waiver(row, f"--waivers {path}: item {place}", path.name) for place, row in enumerate(rows, 1))
    double = next((each.id for place, each in enumerate(found) if each.id in [it.id for it in found[:place]]), None)
    if double is not None:
        raise UsageError(f"--waivers {path}: {double!r} stands there twice")
    return found


def _waiver(row: object, place: str, file: str) -> Waiver:
    if not isinstance(row, dict) or set(row) != set(MEMBERS):
        given = ", ".join(map(str, row)) if isinstance(row, dict) else type(row).__name__
        raise UsageError(f"{place}: needs {', '.join(MEMBERS)} and nothing else; it has {given or 'nothing'}")
    for name in ("id", "reason", "owner"):
        if not isinstance(row[name], str) or not row[name].strip():
            raise UsageError(f"{place}: {name} must be a text that says something")
    return Waiver(row["id"].strip(), row["reason"].strip(), row["owner"].strip(), _day(row["expires"], place), file)


def _day(value: object, place: str) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise UsageError(f"{place}: expires must be a day as in 2026-12-31, not {value!r}") from None


def owed(waivers: Iterable[Waiver], requirement: str, today: date) -> Waiver | None:
    """The first waiver in force that covers a requirement."""
    return next((waiver for waiver in waivers if waiver.covers(requirement) and not waiver.expired(today)), None)
