"""Check the arguments for Locust with its own parser before anything is started."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from loadtests.errors import UsageError
from loadtests.run.options import add_options

if TYPE_CHECKING:
    from collections.abc import Sequence

UNPATCHED: Final = "LOCUST_SKIP_MONKEY_PATCH"
PROCESSES_PER_CORE: Final = 16
"""The most processes for each core of this machine; more would only slow each other down."""
HOST: Final = ("-H", "--host")


def split_arguments(url: str | None, more: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """Return the URL of the server and the arguments for Locust.

    url: the first positional argument; more: the rest. The URL may also follow options of Locust, or be given by
    Locust's `--host`. Raise UsageError with the message of Locust's parser. If there are arguments to check, that
    costs the import of Locust, without the patches that it applies to the process.
    """
    if url is not None and url.startswith("-"):
        more, url = (url, *more), None
    if not more:
        return url, ()
    os.environ[UNPATCHED] = "1"
    try:
        from locust.argument_parser import get_parser
    finally:
        del os.environ[UNPATCHED]

    def exit_parser(status: int = 0, message: str | None = None) -> None:
        if not status:
            raise SystemExit(0)  # for example after --version
        text = "; ".join((message or "").removeprefix(f"{parser.prog}: error: ").split("\n")).strip("; ")
        raise UsageError(f"{text} (`locust --help` lists the options of Locust)")

    parser = get_parser()
    parser.exit = exit_parser
    add_options(parser)
    known, unknown = parser.parse_known_args(list(more))
    unknown += known.user_classes  # Locust's positional arguments; there is only one class of users
    if url is None and (late := next((argument for argument in unknown if "://" in argument), None)) is not None:
        unknown.remove(late)
        url, more = late, tuple(argument for argument in more if argument != late)
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    limit = PROCESSES_PER_CORE * (os.cpu_count() or 1)
    if known.processes is not None and not -1 <= known.processes <= limit:
        raise UsageError(f"--processes {known.processes}: expected 1 to {limit}, or -1 for one per core")
    if any(argument.partition("=")[0] in HOST for argument in more):
        if url is not None:
            raise UsageError(f"the server is given twice: {url} and --host {known.host}")
        url = known.host
    return url, tuple(more)
