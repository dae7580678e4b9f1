"""Run a command that ends when its parent process ends, however that ends: `python guard.py PARENT COMMAND...`.

Linux sends the command SIGTERM then. Elsewhere the command runs without this guard.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask for the signal, then become the command."""
    parent, *command = sys.argv[1:]
    with suppress(OSError, AttributeError):  # another system, or another C library
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if str(os.getppid()) == parent:  # otherwise it ended before the signal was asked for
        os.execvp(command[0], command)  # noqa: S606 - the command is the operator's


if __name__ == "__main__":
    main()
