"""The host of the faults: the reference server as a child process that shows each fault at a path of its own."""

from __future__ import annotations

import json
import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.errors import HarnessError
from conformance.run import embedded_server as embedded
from openapi.contract.contract import names

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULE = "reference_server.faults"
FAULTLESS = "none"
FIRST = "mindie-2.3"  # the dialect that is asked first where several speak to a fault


@dataclass(frozen=True, slots=True)
class Shown:
    """One fault as the server lists it.

    bugs: numbers of the catalogue of bugs. declares, denies: capabilities that it claims to have or to lack while it
    shows the fault. about: the one parameter with which it shows. shows: where it does: in "requests" that are read,
    in "sampling", in "answers" or "refusals" that are written, or "anywhere". benign: a variation that nobody may be
    blamed for. patience_s: how long an answer may take, if longer than usual. restless: chance, or what else is asked
    at the same time, decides where it shows.
    """

    name: str
    line: str
    bugs: tuple[int, ...]
    declares: tuple[str, ...]
    denies: tuple[str, ...]
    about: str | None
    shows: str
    benign: bool
    patience_s: float | None
    restless: bool
    dialects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Host:
    """A running host: where it is, the key of dialects that ask for one, and what it shows."""

    url: str
    key: str
    faults: tuple[Shown, ...]

    def address(self, dialect: str, fault: str = FAULTLESS) -> str:
        """Where a fault of a dialect is shown."""
        return f"{self.url}/{dialect}/{fault}"


def dialects() -> tuple[str, ...]:
    """Every dialect, the one first that is asked first."""
    return tuple(dict.fromkeys([FIRST, *names().values()]))


@contextmanager
def start() -> Iterator[Host]:
    """Starts the host on a free port of the loopback and ends it afterwards; raises as `embedded.serve` does."""
    embedded.demand_parts()
    key = secrets.token_urlsafe(24)
    with embedded.child(MODULE, ("--api-key-env", embedded.KEY_VARIABLE), key) as said:
        yield Host(said.address, key, _read(said.before))


def _read(lines: tuple[str, ...]) -> tuple[Shown, ...]:
    try:
        rows = json.loads(lines[-1])
        return tuple(
            Shown(
                row["name"],
                row["line"],
                tuple(row["bugs"]),
                tuple(row["declares"]),
                tuple(row["denies"]),
                row["about"],
                row["shows"],
                row["benign"],
                row["patience_s"],
                row["restless"],
                tuple(row["dialects"]),
            )
            for row in rows
        )
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise HarnessError(f"the host of the faults did not list them: {error!r}") from error
