"""Arguments that are passed on to Locust: held against its own parser before anything is started."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from loadtests.errors import UsageError
from loadtests.run.options import add

if TYPE_CHECKING:
    from collections.abc import Sequence

UNPATCHED: Final = "LOCUST_SKIP_MONKEY_PATCH"
PER_CORE: Final = 16
"""Processes that this machine may be asked for; more could only slow each other."""
HOST: Final = ("-H", "--host")


def sorted_out(url: str | None, more: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """The URL of the server and the arguments for Locust, from what stood where the URL may stand and what followed.

    The URL may stand after options of Locust too, or be named as Locust names it. Raises UsageError with what Locust's
    parser says. Where there is anything to hold against it, that costs the import of Locust, without the patches that
    it makes to the process that imports it.
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

    def leave(status: int = 0, message: str | None = None) -> None:
        if not status:
            raise SystemExit(0)  # as after --version
        words = "; ".join((message or "").removeprefix(f"{parser.prog}: error: ").split("\n")).strip("; ")
        raise UsageError(f"{words} (`locust --help` lists what may be passed on to Locust)")

    parser = get_parser()
    parser.exit = leave
    add(parser)
    known, unknown = parser.parse_known_args(list(more))
    unknown += known.user_classes  # Locust's positional arguments; there is one class of users to choose from
    if url is None and (found := next((each for each in unknown if "://" in each), None)) is not None:
        unknown.remove(found)
        url, more = found, tuple(each for each in more if each != found)
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    most = PER_CORE * (os.cpu_count() or 1)
    if known.processes is not None and not -1 <= known.processes <= most:
        raise UsageError(f"--processes {known.processes}: write 1 to {most}, or -1 for one for each core")
    if any(each.partition("=")[0] in HOST for each in more):
        if url is not None:
            raise UsageError(f"the server is named twice: {url} and --host {known.host}")
        url = known.host
    return url, tuple(more)
