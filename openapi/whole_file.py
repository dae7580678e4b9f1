"""Replace a file as a whole, so that a reader never finds half of it, not even after a full disk or an interrupt."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` write a temporary file in the same folder, which then replaces the file. Raises OSError.

    A symbolic link keeps pointing to the file. A device or pipe is written directly, because it cannot be replaced.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        with path.open("wb") as device:
            write(device)
        return
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            write(file)
        if path.exists():
            shutil.copymode(path, name)
        else:
            mask = os.umask(0)
            os.umask(mask)
            Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def write_whole_text(path: Path, text: str) -> None:
    """Replace a file by a string in UTF-8. Raises OSError."""
    write_whole(path, lambda file: file.write(text.encode(errors="backslashreplace")))
