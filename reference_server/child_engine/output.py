"""The output of a child process: every line goes to the log, and the last ones explain how it ended."""

from __future__ import annotations

import re
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

MOST_BYTES: Final = 2000
"""Longest part of a line that is written; a longer line is continued on the next one."""
KEPT: Final = 200
MOST_EXPLAINED: Final = 300  # characters
ERROR: Final = re.compile(r"\b\w*(?:error|exception)\b", re.IGNORECASE)
ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Colours, cursor movements and other control characters, which a terminal would obey."""


class ChildOutput:
    """Reads the output of a process in a thread, until it ends.

    write: called with each line. hidden: text that is never written, such as a key.
    skipped: lines with this text are left out, such as those about requests for the health.
    """

    def __init__(
        self, stream: IO[bytes], prefix: str, write: Callable[[str], None], *, hidden: str, skipped: str
    ) -> None:
        self._stream = stream
        self._prefix = prefix
        self._write = write
        self._hidden = hidden
        self._skipped = skipped
        self._lines: deque[str] = deque(maxlen=KEPT)
        self._thread = threading.Thread(target=self._forward, name=f"output of {prefix}", daemon=True)
        self._thread.start()

    def explain(self, wait_s: float) -> str:
        """Return the last line that names an error, else the last one, in words; wait for the output to end."""
        self._thread.join(wait_s)
        lines = list(self._lines)
        errors = [line for line in lines if ERROR.search(line)]
        what = "its last error is" if errors else "its last line is"
        return f"{what}: {(errors or lines)[-1].strip()[:MOST_EXPLAINED]}" if lines else "without any output"

    def _forward(self) -> None:
        with self._stream, suppress(OSError, ValueError):  # ValueError: closed by the other thread
            while line := self._stream.readline(MOST_BYTES):
                text = ESCAPES.sub("", line.decode(errors="replace")).replace(self._hidden, "***").rstrip()
                if text and self._skipped not in text:
                    self._lines.append(text)
                    self._write(f"{self._prefix}: {text}")
