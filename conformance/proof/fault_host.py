"""Start the fault host: the reference server as a child process that serves each fault below a path of its own."""

from __future__ import annotations

import json
import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.errors import HarnessError
from conformance.plan.media import media_folder
from conformance.run import embedded_server
from conformance.run.media.media_host import serve_media
from openapi.contract.contract import load, names
from openapi.contract.resolution import is_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

MODULE = "reference_server.faults"
FAULTLESS = "none"
FIRST_DIALECT = "mindie-2.3"  # the dialect in which a fault is tested if several dialects have it


@dataclass(frozen=True, slots=True)
class HostedFault:
    """One fault as the fault host lists it.

    bugs: the numbers of the bugs in the catalogue that it stands for.
    declares, denies: capabilities that the server claims to have, or to lack, while it has the fault.
    parameter: the only parameter with which the fault shows, if there is one.
    shows_in: a JSON Schema of the only request bodies in which the fault shows; None: there may be any.
    affects: where the fault shows: in how "requests" are read, in "sampling", in how "answers" or "refusals" are
        written, or "anywhere".
    benign: this is not a fault but a variation that every document allows.
    timeout_s: how long an answer may take with the fault, if longer than usual.
    flaky: where the fault shows depends on chance or on concurrent requests.
    origin: who wrote the fault, if it was not the author of the checks.
    group: the class of misbehaviour by which faults are counted; of the project's own faults, the topic.
    """

    name: str
    line: str
    bugs: tuple[int, ...]
    declares: tuple[str, ...]
    denies: tuple[str, ...]
    parameter: str | None
    affects: str
    benign: bool
    timeout_s: float | None
    flaky: bool
    dialects: tuple[str, ...]
    origin: str = ""
    group: str = ""
    shows_in: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class HostedMode:
    """One mode of the faultless server in one dialect.

    key: whether it requires the host's API key.
    full_text: whether its streams repeat the whole text so far.
    """

    dialect: str
    name: str
    key: bool
    full_text: bool


@dataclass(frozen=True, slots=True)
class RunningFaultHost:
    """A running fault host: its URL, the API key for servers that require one, its faults and its modes.

    is_running: tells whether the process still runs.
    media: where the host finds the media files of the suite, as `media_host.serve_media` yields it.
    """

    url: str
    key: str
    faults: tuple[HostedFault, ...]
    modes: tuple[HostedMode, ...] = ()
    is_running: Callable[[], bool] = lambda: True
    media: str = ""

    def address(self, dialect: str, fault: str = FAULTLESS) -> str:
        """Return the URL at which a fault is served in a dialect, by its id or location."""
        return f"{self.url}/{load(dialect).name if is_path(dialect) else dialect}/{fault}"


def list_dialects() -> tuple[str, ...]:
    """Return every dialect, FIRST_DIALECT first."""
    return tuple(dict.fromkeys([FIRST_DIALECT, *names().values()]))


@contextmanager
def start_fault_host(dialects: Iterable[str] = ()) -> Iterator[RunningFaultHost]:
    """Start the host on a free port of the loopback interface, and stop it afterwards.

    dialects: those that are served besides the built-in ones, by their locations.

    Raise the exceptions of `embedded_server.serve`.
    """
    embedded_server.require_packages()
    key = secrets.token_urlsafe(24)
    own = [option for dialect in dialects if is_path(dialect) for option in ("--dialect", dialect)]
    options = ("--api-key-env", embedded_server.KEY_VARIABLE, "--media-root", str(media_folder()), *own)
    with (
        embedded_server.run_module(MODULE, options, key) as output,
        serve_media(embedded_server.MEDIA_HOST) as media,
    ):
        faults, modes = _read_list(output.lines)
        yield RunningFaultHost(output.address, key, faults, modes, output.is_running, media)


def _read_list(lines: tuple[str, ...]) -> tuple[tuple[HostedFault, ...], tuple[HostedMode, ...]]:
    try:
        listed = json.loads(lines[-1])
        modes = tuple(
            HostedMode(dialect, row["name"], row["key"], row["full_text"])
            for dialect, rows in listed["modes"].items()
            for row in rows
        )
        faults = tuple(
            HostedFault(
                name=row["name"],
                line=row["line"],
                bugs=tuple(row["bugs"]),
                declares=tuple(row["declares"]),
                denies=tuple(row["denies"]),
                parameter=row["parameter"],
                affects=row["affects"],
                benign=row["benign"],
                timeout_s=row["timeout_s"],
                flaky=row["flaky"],
                dialects=tuple(row["dialects"]),
                origin=row["origin"],
                group=row["group"],
                shows_in=row["shows_in"],
            )
            for row in listed["faults"]
        )
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise HarnessError(f"invalid list of faults from the fault host: {error!r}") from error
    return faults, modes
