"""Read `--report KIND=PATH` options, and write the report files."""

from __future__ import annotations

import gzip
import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.report.report_kinds import OTHER_NAMES, describe_kinds, list_names
from conformance.report.writers import BY_SUFFIX, WRITERS
from openapi.did_you_mean import suggest
from openapi.whole_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any, BinaryIO

    from rich.console import Console

RESULTS = Path("results.json")


def parse_options(
    options: Iterable[str], defaults: tuple[tuple[str, Path], ...] = (), kinds: Collection[str] = tuple(WRITERS)
) -> list[tuple[str, Path]]:
    """Return the (kind, file) pairs of the options, preceded by the defaults whose kind is not among them.

    kinds: the kinds that the command writes.

    Raise UsageError for an unknown kind, for a file that is named twice and for one that cannot be written.
    """
    reports: list[tuple[str, Path]] = []
    for option in options:
        name, equals, path = option.partition("=")
        kind = OTHER_NAMES.get(name, name)
        if kind not in kinds or not equals or not path:
            expected = f"KIND=PATH, where KIND is one of {describe_kinds(kinds)}"
            hint = f"; for example {name}=FILE" if kind in kinds else suggest(name, list_names(kinds))
            raise UsageError(f"invalid --report {option!r}: expected {expected}{hint}")
        if any(path == str(other) for _, other in reports):
            raise UsageError(f"invalid --report {option!r}: another report is already written to {path}")
        reports.append((kind, Path(path)))
    given = {kind for kind, _ in reports}
    reports = [*(default for default in defaults if default[0] not in given), *reports]
    for _, file in reports:
        _require_writable(file)
    return reports


def write_reports(
    reports: Iterable[tuple[str, Path]],
    results: dict[str, Any],
    console: Console | None = None,
    logs: Collection[Path] = (),
) -> None:
    """Write the reports, and print each file's name on the console. Raise UsageError as `write_report` does.

    logs: files that have grown during the run, whose names are printed too.
    """
    for kind, path in reports:
        if path not in logs:
            suffix = Path(path.name.removesuffix(".gz")).suffix
            write_report(path, BY_SUFFIX.get((kind, suffix), WRITERS[kind])(results))
        if console is not None:
            print_written(kind, path, console)


def print_written(kind: str, path: Path, console: Console) -> None:
    """Print that a report is written. The name of the file is never wrapped."""
    console.print(f"{kind} written to {path}", style="dim", markup=False, soft_wrap=True)


def live_logs(reports: Iterable[tuple[str, Path]]) -> list[Path]:
    """Return the files of JSON lines that can grow during a run: not the compressed ones."""
    return [path for kind, path in reports if kind == "jsonl" and path.suffix != ".gz"]


def write_report(path: Path, content: str | Iterable[str]) -> None:
    """Write one report, and create its folder. The file is replaced as a whole; `.gz` at the end compresses it.

    Raise UsageError for a file that cannot be written.
    """
    pieces = (content,) if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, partial(_write_pieces, pieces, packed=path.suffix == ".gz"))
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _write_pieces(pieces: Iterable[str], file: BinaryIO, *, packed: bool) -> None:
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else nullcontext(file) as target:
        for piece in pieces:
            target.write(piece.encode(errors="backslashreplace"))


def _require_writable(file: Path) -> None:
    try:
        # `write_reports` creates the folders that are missing below the first one that exists.
        folder = next(parent for parent in file.absolute().parents if parent.exists())
        if file.is_dir():
            raise UsageError(f"cannot write {file}: it is a folder")
        if file.exists() and not file.is_file():  # a device or pipe, which is written directly
            return
        # Only writing shows whether a folder accepts files: the superuser has permission for all of them.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except NotADirectoryError as error:
        raise UsageError(f"cannot write {file}: {folder} is not a folder") from error
    except OSError as error:  # for example, a name that is too long, or a folder without permission
        raise UsageError(f"cannot write {file}: {error.strerror}") from error
