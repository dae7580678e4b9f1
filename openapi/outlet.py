"""The outlet: standard output and error as a command line needs them, so that what is printed can always be printed."""

from __future__ import annotations

import io
import os
import sys
from typing import Any, TextIO

import click


class Outlet(io.FileIO):
    """A stream of which the rest is said to nobody once its reader has left: the exit code is as it would have been."""

    def write(self, data: Any) -> int:
        """As a file's. Raises UsageError where there is no room, once: what follows is said to nobody."""
        if not data:  # click asks so what a stream takes, and no answer says that it takes nothing
            return 0
        try:
            return super().write(data)
        except OSError as error:
            nobody = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nobody, self.fileno())
            os.close(nobody)
            if not isinstance(error, BrokenPipeError):
                raise click.UsageError(f"cannot write what is to be printed: {error.strerror}") from error
            return super().write(data)


def open_streams() -> None:
    """What is printed can always be printed: where nobody reads it, or it is closed, or its encoding lacks a letter."""
    for number in range(3):  # in this order, because a file that is opened takes the first number that is free
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = _outlet(sys.stdout, 1)
    sys.stderr = _outlet(sys.stderr, 2)


def _outlet(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:  # it was closed
        return open(number, "w", encoding="utf-8", closefd=False)  # it has no path
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")  # where the encoding lacks a character, its number is told
    buffer = stream.buffer  # the file itself where Python does not buffer
    if type(getattr(buffer, "raw", buffer)) is not io.FileIO:
        return stream
    outlet = Outlet(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(outlet) if isinstance(buffer, io.BufferedWriter) else outlet,
        stream.encoding,
        stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
