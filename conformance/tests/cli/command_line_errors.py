"""What a command prints that judged nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.tests.conftest import CommandResult

UNREACHABLE = "http://127.0.0.1:9"


def one_line(result: CommandResult, code: int) -> str:
    """The one line on stderr of a command that judged nothing and wrote no file."""
    assert (code, "") == (result.code, result.stdout), result.stderr
    assert "Traceback" not in result.stderr
    (line,) = result.stderr.splitlines()
    assert line.startswith("chatproof: ")
    assert [] == [*result.folder.iterdir()]
    return line
