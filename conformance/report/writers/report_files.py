"""Read `--report KIND=PATH` options, and write the report files."""

from __future__ import annotations

import gzip
import os
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import UsageError
from conformance.report.writers import BY_SUFFIX, WRITERS
from openapi.whole_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, BinaryIO

    from rich.console import Console

RESULTS = Path("results.json")


def parse_options(options: Iterable[str], defaults: tuple[tuple[str, Path], ...] = ()) -> list[tuple[str, Path]]:
    """Return the (kind, file) pairs of the options, preceded by the defaults whose kind is not among them.

    Raise UsageError for an unknown kind, for a file that is named twice and for one that cannot be written.
    """
    reports: list[tuple[str, Path]] = []
    for option in options:
        kind, equals, path = option.partition("=")
        if kind not in WRITERS or not equals or not path:
            raise UsageError(
                f"invalid --report {option!r}: expected KIND=PATH, where KIND is one of {', '.join(WRITERS)}"
            )
        if any(path == str(other) for _, other in reports):
            raise UsageError(f"invalid --report {option!r}: another report is already written to {path}")
        reports.append((kind, Path(path)))
    kinds = {kind for kind, _ in reports}
    reports = [*(default for default in defaults if default[0] not in kinds), *reports]
    for _, file in reports:
        _require_writable(file)
    return reports


def write_reports(reports: Iterable[tuple[str, Path]], results: dict[str, Any], console: Console | None = None) -> None:
    """Write the reports, create their folders, and print each file's name on the console.

    Each file is replaced as a whole; one whose name ends in .gz is compressed. Raise UsageError for a file that cannot
    be written.
    """
    for kind, path in reports:
        suffix = Path(path.name.removesuffix(".gz")).suffix
        content = BY_SUFFIX.get((kind, suffix), WRITERS[kind])(results)
        pieces = (content,) if isinstance(content, str) else content
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, partial(_write_pieces, pieces, packed=path.suffix == ".gz"))
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
        if console is not None:
            console.print(f"{kind} written to {path}", style="dim", markup=False)


def _write_pieces(pieces: Iterable[str], file: BinaryIO, *, packed: bool) -> None:
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else nullcontext(file) as target:
        for piece in pieces:
            target.write(piece.encode(errors="backslashreplace"))


def _require_writable(file: Path) -> None:
    try:
        # `write_reports` creates the folders that are missing below the first one that exists.
        folder = next(parent for parent in file.absolute().parents if parent.exists())
        is_folder = file.is_dir()
        writable = folder.is_dir() and os.access(folder, os.W_OK)
    except OSError as error:  # for example, a name that is too long, or a folder without search permission
        raise UsageError(f"cannot write {file}: {error.strerror}") from error
    if is_folder:
        raise UsageError(f"cannot write {file}: it is a folder")
    if not writable:
        raise UsageError(f"cannot write {file}: {folder} is not a writable folder")
