"""`python -m loadtests`: the same as `chatproof load`."""

from __future__ import annotations

from loadtests.cli.load_command import load

if __name__ == "__main__":
    load()
