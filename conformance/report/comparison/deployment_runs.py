"""Read the results of several deployments, and group their runs.

A deployment is a name and a dialect. Its name is the one that the user gives (`NAME=FILE`), or the subfolder in which a
file is found, or the address that was judged. Of each run only what a comparison shows is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from conformance.errors import UsageError
from conformance.report.results_file import read_results
from conformance.report.writers.evidence import Reproduction
from conformance.report.writers.outcome_changes import OutcomeChange, compare_results

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ENDINGS: Final = (".json", ".json.gz")
ENDPOINT: Final = "/v1/chat/completions"
KEPT: Final = ("id", "check", "keyword", "source", "summary", "outcome", "fails", "note", "causes", "exchanges")
"""The fields of a requirement that a comparison needs."""


@dataclass(frozen=True, slots=True)
class DeploymentRun:
    """One run of a deployment: when, with which verdict, and the outcome of each requirement.

    version: of the chatproof that judged it. The outcomes are those of its checks and rules.
    extent: the depth of the run, or "selected" if it judged only what the user named.
    rows: requirements as in results.json, with the first finding at most, and the command that reproduces it.
    """

    file: Path
    url: str
    model: str
    started_at: str
    verdict: str
    counts: dict[str, int]
    requests: int
    version: str
    extent: str
    rows: dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Deployment:
    """A server judged by one dialect, and its runs in the order of their time; the last one is compared with others."""

    name: str
    dialect: str
    runs: tuple[DeploymentRun, ...]

    @property
    def latest(self) -> DeploymentRun:
        """The last run."""
        return self.runs[-1]

    def changes(self) -> Iterator[tuple[DeploymentRun, list[OutcomeChange]]]:
        """Yield each run with the outcomes that differ from the run before; the first run has none."""
        for number, run in enumerate(self.runs):
            before = self.runs[number - 1]
            yield run, list(compare_results(_as_results(before), _as_results(run))) if number else []


def read_deployments(sources: Iterable[str]) -> list[Deployment]:
    """Read results files and folders of them, and return the deployments in the order in which they are named.

    Raise UsageError for a source that does not exist, and for a file that is not a results file.
    """
    groups: dict[tuple[str, str], list[DeploymentRun]] = {}
    for name, file, folder in _list_files(sources):
        results = _read_found(file, folder)
        run = summarize_run(results, file)
        groups.setdefault((name or _address(run.url), results["target"]["dialect"]), []).append(run)
    return [
        Deployment(name, dialect, tuple(sorted(runs, key=lambda run: run.started_at)))
        for (name, dialect), runs in groups.items()
    ]


def _read_found(file: Path, folder: Path | None) -> dict[str, Any]:
    """Read a results file. The error about another file in a folder says how to leave it out."""
    try:
        return read_results(file)
    except UsageError as error:
        if folder is None:
            raise
        raise UsageError(f"{error}; name the results files in place of the folder {folder}") from error


def summarize_run(results: dict[str, Any], file: Path) -> DeploymentRun:
    """Return what a comparison shows of a run. The commands name its file."""
    reproduction = Reproduction(results, str(file))
    rows = {}
    for row in results["requirements"]:
        command = reproduction.command(row) if row["findings"] else None
        rows[row["id"]] = {
            **{name: row[name] for name in KEPT},
            "findings": reproduction.order(row)[:1],
            "command": command,
        }
    target, run = results["target"], results["run"]
    return DeploymentRun(
        file, target["url"], target["model"], run["started_at"], results["verdict"], results["counts"],
        run["requests"], results["tool"]["version"], _find_extent(run), rows,
    )  # fmt: skip


def _find_extent(run: dict[str, Any]) -> str:
    return "selected" if run.get("only") or run.get("topics") else str(run.get("depth", "standard"))


def _list_files(sources: Iterable[str]) -> Iterator[tuple[str, Path, Path | None]]:
    """Yield the files of all sources, each with the name of its deployment and the folder in which it was found.

    The name is empty if it follows from the URL, and the folder None for a file that is named.
    """
    for source in sources:
        name, equals, path = source.partition("=")
        if not equals or Path(source).exists():
            name, path = "", source
        elif not name or not path:
            raise UsageError(f"invalid source {source!r}: expected FILE, FOLDER or NAME=FILE")
        place = Path(path)
        if not place.is_dir():
            yield name, place, None
            continue
        files = sorted(file for file in place.rglob("*") if file.name.endswith(ENDINGS) and file.is_file())
        if not files:
            raise UsageError(f"{place}: the folder has no results files ({', '.join(ENDINGS)})")
        for file in files:
            folder = file.parent.relative_to(place)
            yield name or ("" if folder == Path() else folder.as_posix()), file, place


def _address(url: str) -> str:
    """Return the part of a URL that identifies a deployment: without scheme and endpoint."""
    return url.partition("://")[2].removesuffix(ENDPOINT) or url


def _as_results(run: DeploymentRun) -> dict[str, Any]:
    return {"requirements": list(run.rows.values())}
