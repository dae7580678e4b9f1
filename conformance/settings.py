"""Settings: what both faces of the suite read from their options: the key, TLS, report files."""

from __future__ import annotations

import gzip
import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import HarnessError, UsageError
from conformance.reports import WRITERS
from conformance.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

RESULTS = Path("results.json")


def read_secret(variable: str | None) -> Secret | None:
    """The key that an environment variable holds; None without a variable. Raises UsageError."""
    if not variable:
        return None
    value = os.environ.get(variable, "")
    if not value:
        raise UsageError(f"--api-key-env {variable}: the environment has no such variable, or it is empty")
    try:
        return Secret(value)
    except HarnessError as error:
        raise UsageError(f"--api-key-env {variable}: {error}") from error


def read_verify(insecure: bool, ca_file: Path | None) -> bool | ssl.SSLContext:
    """How the server's certificate is verified. Raises UsageError for a file that holds no authorities."""
    if insecure:
        return False
    if ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(ca_file))
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"--ca-file {ca_file}: {error}") from error


def read_reports(reports: Iterable[str], always: tuple[tuple[str, Path], ...] = ()) -> list[tuple[str, Path]]:
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
    found = [*(each for each in always if each[0] not in {kind for kind, _ in found}), *found]
    for _, file in found:
        folder = next(each for each in file.absolute().parents if each.exists())  # the others are made
        if file.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise UsageError(f"cannot write {file}: it is a folder, or {folder} is none that you may write in")
    return found


def save(
    reports: Iterable[tuple[str, Path]], results: dict[str, Any], tell: Callable[[str], object] = lambda _: None
) -> None:
    """Writes reports, packed where a name ends in .gz, and their folders; tells of each. Raises UsageError."""
    for kind, path in reports:
        data = WRITERS[kind](results).encode(errors="backslashreplace")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
        tell(f"{kind} written to {path}")
