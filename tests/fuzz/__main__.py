"""Fuzz the reference server with requests, and checks, `check` and `load` with answers. All are seeded."""

from __future__ import annotations

import argparse
import sys

from openapi.contract.contract import names
from tests.fuzz import client_runs, media_files, recorded_answers, server_cases

PARTS = ("all", "server", "media", "recorded", "clients", "check", "load")


def main() -> int:
    """Run what the arguments name."""
    every = sorted(set(names().values()))
    parser = argparse.ArgumentParser(prog="tox -e fuzz --", description=__doc__)
    parser.add_argument("part", nargs="?", choices=PARTS, default="all")
    parser.add_argument("--cases", type=int, default=10_000, help="requests for each dialect")
    parser.add_argument("--responses", type=int, default=20_000, help="mutated answers for each command")
    parser.add_argument("--files", type=int, default=1000, help="mutated media files")
    parser.add_argument("--dialect", action="append", choices=every, help="only this dialect (repeatable)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    dialects = arguments.dialect or every
    code = 0
    if arguments.part in ("all", "server"):
        code = server_cases.main(dialects, arguments.cases, arguments.seed)
    if arguments.part in ("all", "media"):
        code = max(code, media_files.main(arguments.files, arguments.seed))
    if arguments.part in ("all", "recorded"):
        code = max(code, recorded_answers.main(dialects, arguments.responses, arguments.seed))
    if arguments.part not in ("server", "media", "recorded"):
        kinds = [arguments.part] if arguments.part in ("check", "load") else ["check", "load"]
        code = max(code, client_runs.main(dialects, arguments.responses, arguments.seed, kinds))
    return code


if __name__ == "__main__":
    sys.exit(main())
