"""Prepare the process of a command: standard streams that cannot fail, and SIGTERM that ends like Ctrl-C."""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from types import FrameType


def prepare_process() -> None:
    """Make standard streams safe, and let SIGTERM interrupt the command."""
    _make_streams_safe()
    signal.signal(signal.SIGTERM, _interrupt)


class SafeStream(io.FileIO):
    """Standard output or error that discards what is written after its reader has closed the pipe.

    The exit code of the command is then the same as with a reader.
    """

    def write(self, data: Any) -> int:
        """Write like a file. Raises UsageError once if the device is full; later output is discarded."""
        if not data:  # click writes an empty string to find out whether a stream takes text or bytes
            return 0
        try:
            return super().write(data)
        except OSError as error:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            if not isinstance(error, BrokenPipeError):
                raise click.UsageError(f"cannot write the output: {error.strerror}") from error
            return super().write(data)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Handle SIGTERM, which cancelled pipelines send, like Ctrl-C.

    Shells ignore SIGINT in background processes; SIGTERM must end the command there too.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.default_int_handler(number, frame)
    signal.raise_signal(signal.SIGINT)


def _make_streams_safe() -> None:
    """Make stdout and stderr safe if they are closed, have lost their reader, or cannot encode a character."""
    for number in range(3):  # in this order: an opened file takes the lowest free number
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = _safe_stream(sys.stdout, 1)
    sys.stderr = _safe_stream(sys.stderr, 2)


def _safe_stream(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:  # it was closed when Python started
        return open(number, "w", encoding="utf-8", closefd=False)
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")  # write \uXXXX for characters that the encoding lacks
    buffer = stream.buffer  # the file itself if Python does not buffer
    if type(getattr(buffer, "raw", buffer)) is not io.FileIO:
        return stream
    safe = SafeStream(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(safe) if isinstance(buffer, io.BufferedWriter) else safe,
        stream.encoding,
        stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
