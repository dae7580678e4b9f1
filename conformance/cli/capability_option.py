"""The option `--capability +x,-y`: which capabilities the user says that the server has or lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable


def read(options: Iterable[str]) -> tuple[tuple[str, bool], ...]:
    """(name, has it) pairs in the order written; a name without a sign is one that the server has.

    Raises UsageError for an empty name, and for one that is both wanted and unwanted.
    """
    found: dict[str, bool] = {}
    for option in options:
        for part in option.split(","):
            name = part.strip()
            has = not name.startswith("-")
            name = name.removeprefix("-" if not has else "+").strip()
            if not name:
                raise UsageError(f"--capability {option!r}: write names with a sign, as in +logprobs,-n")
            if found.setdefault(name, has) != has:
                raise UsageError(f"--capability {option!r}: {name} cannot be both there and lacking")
    return tuple(found.items())
