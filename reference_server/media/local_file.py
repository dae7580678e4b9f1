"""Local media files: regular files below one folder, reached without any symbolic link."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from reference_server.media.limits import MediaError

if TYPE_CHECKING:
    from pathlib import Path

STEP_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a FIFO must not block the server
UNREADABLE: Final = "no file of this path below --media-root can be read"


def is_local(location: str) -> bool:
    """Return whether a location is an absolute path or a file URL."""
    return location.startswith("/") or location[:7].lower() == "file://"


def read_local_file(location: str, root: Path | None, limit_bytes: int) -> bytes:
    """Return the bytes of a file below `root`; raise MediaError.

    A path names a file below the root as in a web server: `/a.png` is ROOT/a.png. A path that begins with the root's
    own path names the same file. Each step is opened relative to the one before and never follows a link, so that
    nothing that is changed meanwhile leads out of the root.
    """
    if root is None:
        raise MediaError("local paths are not allowed: the operator names a folder with --media-root")
    steps = _steps(location, root)
    with ExitStack() as opened:
        try:
            step = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            opened.callback(os.close, step)
            for at, name in enumerate(steps):
                folder = os.O_DIRECTORY if at < len(steps) - 1 else 0
                step = os.open(name, STEP_FLAGS | folder, dir_fd=step)
                opened.callback(os.close, step)
            found = os.fstat(step)
        except (OSError, ValueError):  # ValueError: a null character
            raise MediaError(UNREADABLE) from None
        if not stat.S_ISREG(found.st_mode):
            raise MediaError("the path names something other than a regular file")
        if found.st_size > limit_bytes:
            raise MediaError(f"the file is larger than {limit_bytes} bytes")
        if found.st_size == 0:
            raise MediaError("the file is empty")
        return _read(step, limit_bytes)


def _steps(location: str, root: Path) -> list[str]:
    path = location
    if not location.startswith("/"):
        url = urlsplit(location)
        if url.netloc not in ("", "localhost") or url.query or url.fragment:
            raise MediaError("invalid file URL: expected file:///PATH")
        path = unquote(url.path)
    parts = path.split("/")
    if ".." in parts:
        raise MediaError("the path contains `..`")
    pure = PurePosixPath(path)
    steps = pure.relative_to(root).parts if pure.is_relative_to(root) else pure.parts[1:]
    if not steps:
        raise MediaError("the path names something other than a regular file")
    return list(steps)


def _read(descriptor: int, limit_bytes: int) -> bytes:
    """Read a file that may grow meanwhile."""
    parts: list[bytes] = []
    size = 0
    while part := os.read(descriptor, 1 << 20):
        size += len(part)
        if size > limit_bytes:
            raise MediaError(f"the file is larger than {limit_bytes} bytes")
        parts.append(part)
    return b"".join(parts)
