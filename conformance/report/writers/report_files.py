"""The files of reports: which ones the options ask for, and their writing."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.report.writers import BY_ENDING, WRITERS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rich.console import Console

RESULTS = Path("results.json")


def read(reports: Iterable[str], always: tuple[tuple[str, Path], ...] = ()) -> list[tuple[str, Path]]:
    """(kind, file) pairs of KIND=PATH options; those of `always` whose kind was not asked for come first.

    Raises UsageError for an unknown kind, a file that stands there twice and one that cannot be written.
    """
    found: list[tuple[str, Path]] = []
    for report in reports:
        kind, equals, path = report.partition("=")
        if kind not in WRITERS or not equals or not path:
            raise UsageError(f"--report {report!r}: write KIND=PATH, with KIND one of {', '.join(WRITERS)}")
        if any(path == str(other) for _, other in found):
            raise UsageError(f"--report {report!r}: two reports cannot share the file {path}")
        found.append((kind, Path(path)))
    found = [*(alway for alway in always if alway[0] not in {kind for kind, _ in found}), *found]
    for _, file in found:
        _refuse_unwritable(file)
    return found


def save(reports: Iterable[tuple[str, Path]], results: dict[str, Any], console: Console | None = None) -> None:
    """Writes reports and makes their folders; a file whose name ends in .gz is packed. Says so on the console.

    Raises UsageError for a file that cannot be written.
    """
    for kind, path in reports:
        ending = Path(path.name.removesuffix(".gz")).suffix
        data = BY_ENDING.get((kind, ending), WRITERS[kind])(results).encode(errors="backslashreplace")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
        if console is not None:
            console.print(f"{kind} written to {path}", style="dim", markup=False)


def _refuse_unwritable(file: Path) -> None:
    try:
        folder = next(
            parent for parent in file.absolute().parents if parent.exists()
        )  # `save` makes what is missing below
        writable = folder.is_dir() and os.access(folder, os.W_OK) and not file.is_dir()
    except OSError as error:  # a name that is too long, a folder that nobody may look into
        raise UsageError(f"cannot write {file}: {error.strerror}") from error
    if not writable:
        raise UsageError(f"cannot write {file}: it is a folder, or {folder} is none that you may write in")
