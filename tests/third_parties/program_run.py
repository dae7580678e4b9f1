"""Run a client or a suite of another project against the reference server or the gateway.

A program prints one JSON object for each case, on a line of its own: `case`, `ok` and `detail`. Its environment has
BASE_URL (with /v1), API_KEY and MODEL.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from tests.third_parties.catalogue import HERE
from tests.third_parties.environments import NotInstalledError, expand, install
from tests.third_parties.processes import ENVIRONMENT, KEY, NotStartedError, our_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.third_parties.catalogue import Program

RUN_S: Final = 900.0
MODEL: Final = "tiny"
GATEWAY: Final = "gateway"


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that a program did with a server."""

    name: str
    ok: bool
    detail: str


@dataclass(slots=True)
class ProgramRun:
    """The results of one program, by what it ran against."""

    program: Program
    version: str | None = None
    not_run: str | None = None
    cases: dict[str, list[Case]] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of the program."""
        return self.program.name

    def failures(self) -> Iterator[tuple[str, Case, str | None]]:
        """Yield each failed case with the server's name and the known reason."""
        for against, cases in self.cases.items():
            for case in cases:
                if not case.ok:
                    yield against, case, self._known(case.name)

    def _known(self, name: str) -> str | None:
        """Return why a case is known to fail; the names in the data are patterns."""
        return next((reason for pattern, reason in self.program.known.items() if fnmatchcase(name, pattern)), None)

    def problems(self) -> Iterator[str]:
        """Yield one line for everything that makes the command fail."""
        for against, reason in self.broken.items():
            yield f"{self.program.name} against {against}: {reason}"
        for against, case, known in self.failures():
            if known is None:
                yield f"{self.program.name} against {against}: {case.name}: {case.detail}"


def run_program(
    program: Program, work: Path, checkouts: Mapping[str, Path], say: Callable[[str], None], *, again: bool
) -> ProgramRun:
    """Install a program and run it against each of its servers; with `again`, read the logs of an earlier run."""
    result = ProgramRun(program)
    if program.unavailable is not None:
        result.not_run = f"not run: {program.unavailable}"
        return result
    if program.source is not None and program.source not in checkouts:
        result.not_run = f"not run: no folder given with --source {program.source}=FOLDER"
        return result
    folder = work / program.name
    if program.software is not None:
        say(f"{program.name}: installing")
        try:
            result.version = install(program.software, work).version
            for script in (HERE / "clients").glob("*.mjs"):  # node looks for modules in the folder of a script
                shutil.copy(script, folder)
        except NotInstalledError as error:
            result.not_run = f"not installed: {error}"
            return result
    for against in program.against:
        log = folder / f"{against}.log"
        if again and log.exists() and (cases := list(_cases(log.read_text(encoding="utf-8")))):
            result.cases[against] = cases
            continue
        say(f"{program.name}: running against {against}")
        source = str(checkouts.get(program.source or "", ""))
        try:
            with _serving(against, folder) as url:
                _run(program, folder, source, against, url, result)
        except NotStartedError as error:
            result.broken[against] = f"the server was not started: {error}"
    return result


def _run(program: Program, folder: Path, source: str, against: str, url: str, result: ProgramRun) -> None:
    command = shlex.split(expand(program.command, folder, url=url, source=source, our_python=sys.executable))
    variables = {"BASE_URL": f"{url}/v1", "API_KEY": KEY, "MODEL": MODEL, "SERVER_URL": url}
    variables |= {"OPENAI_API_KEY": KEY, "SOURCE": source, "NODE_PATH": str(folder / "node_modules")}
    environment = {**os.environ, **ENVIRONMENT, **variables}
    environment.pop("PYTHONPATH", None)
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        result.broken[against] = f"not finished after {RUN_S:.0f} s"
        return
    (folder / f"{against}.log").write_text(ended.stdout + ended.stderr, encoding="utf-8")
    result.cases[against] = cases = list(_cases(ended.stdout))
    if not cases:
        lines = (ended.stderr or ended.stdout).strip().splitlines()
        result.broken[against] = f"exit {ended.returncode}: {(lines or ['no output'])[-1][:300]}"


def _cases(output: str) -> Iterator[Case]:
    for line in output.splitlines():
        if line.startswith('{"case"'):
            row: dict[str, Any] = json.loads(line)
            yield Case(row["case"], bool(row["ok"]), str(row.get("detail", "")))


@contextmanager
def _serving(against: str, folder: Path) -> Iterator[str]:
    """Serve a dialect with the embedded model, or the gateway in front of the reference server."""
    if against != GATEWAY:
        with our_server(["--dialect", against, "--model", MODEL], folder / "server.log", with_key=True) as url:
            yield url
        return
    with (
        our_server(["--dialect", "vllm", "--model", MODEL], folder / "upstream.log", with_key=False) as upstream,
        our_server(
            ["--dialect", "openai", "--model", MODEL, "--upstream", upstream], folder / "server.log", with_key=True
        ) as url,
    ):
        yield url
