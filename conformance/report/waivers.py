"""Read waivers: known failures that are accepted until a date, from a YAML file.

    - id: stream.done-last           # a requirement; glob patterns are allowed
      reason: the gateway drops it, ticket 123
      owner: platform team
      expires: 2026-12-31

A waiver covers the failing requirements that its `id` matches. An expired waiver covers nothing and fails the run, and
so does a waiver that no failure needs any more.
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

FIELDS = ("id", "reason", "owner", "expires")


@dataclass(frozen=True, slots=True)
class Waiver:
    """One entry of the file. It is in force up to and including the day `expires`. `file` is for messages."""

    id: str
    reason: str
    owner: str
    expires: date
    file: str = "waivers.yaml"

    @property
    def source(self) -> str:
        """The file and the id, in the form of a requirement's source."""
        return f"{self.file}#{self.id}"

    def has_expired(self, today: date) -> bool:
        """Return whether the expiry date has passed."""
        return today > self.expires

    def covers(self, requirement: str) -> bool:
        """Return whether the waiver applies to the requirement with this id."""
        return fnmatchcase(requirement, self.id)

    @property
    def description(self) -> str:
        """The owner, the expiry date and the reason, on one line."""
        return f"waived by {self.owner} until {self.expires.isoformat()}: {self.reason}"


def read(path: Path) -> tuple[Waiver, ...]:
    """Read the waivers of a file. Raise UsageError with the place and the mistake if the file is invalid."""
    try:
        rows: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"cannot read --waivers {path}: {reason}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"--waivers {path}: invalid YAML: {' '.join(str(error).split())}") from error
    if rows is None:
        return ()
    if not isinstance(rows, list):
        raise UsageError(f"--waivers {path}: expected a list of objects with {', '.join(FIELDS)}")
    waivers = tuple(_waiver(row, f"--waivers {path}: item {number}", path.name) for number, row in enumerate(rows, 1))
    ids = [waiver.id for waiver in waivers]
    duplicate = next((identity for index, identity in enumerate(ids) if identity in ids[:index]), None)
    if duplicate is not None:
        raise UsageError(f"--waivers {path}: duplicate id {duplicate!r}")
    return waivers


def _waiver(row: object, place: str, file: str) -> Waiver:
    if not isinstance(row, dict) or set(row) != set(FIELDS):
        actual = ", ".join(map(str, row)) if isinstance(row, dict) else type(row).__name__
        raise UsageError(f"{place}: expected exactly the fields {', '.join(FIELDS)}, got {actual or 'no fields'}")
    for name in ("id", "reason", "owner"):
        if not isinstance(row[name], str) or not row[name].strip():
            raise UsageError(f"{place}: invalid {name}: expected a string that is not empty, got {row[name]!r}")
    return Waiver(row["id"].strip(), row["reason"].strip(), row["owner"].strip(), _date(row["expires"], place), file)


def _date(value: object, place: str) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise UsageError(f"{place}: invalid expires: expected a date such as 2026-12-31, got {value!r}") from None


def find_waiver(waivers: Iterable[Waiver], requirement: str, today: date) -> Waiver | None:
    """Return the first waiver in force that covers a requirement, or None."""
    return next((waiver for waiver in waivers if waiver.covers(requirement) and not waiver.has_expired(today)), None)
