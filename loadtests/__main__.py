"""`python -m loadtests`: what `chatproof load` is."""

from __future__ import annotations

from loadtests.cli.load_command import load

if __name__ == "__main__":
    load()
