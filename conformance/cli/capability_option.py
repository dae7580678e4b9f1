"""Parse `--capability +X,-Y`, by which the user states what the server has and what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable


def parse(options: Iterable[str]) -> tuple[tuple[str, bool], ...]:
    """Return (name, has it) pairs in the given order; a name without a sign counts as one with a plus.

    Raise UsageError for an empty name, and for a name with both signs.
    """
    pairs: dict[str, bool] = {}
    for option in options:
        for part in option.split(","):
            name = part.strip()
            has = not name.startswith("-")
            name = name.removeprefix("-" if not has else "+").strip()
            if not name:
                raise UsageError(f"invalid --capability {option!r}: expected names with a sign, such as +logprobs,-n")
            if pairs.setdefault(name, has) != has:
                raise UsageError(f"invalid --capability {option!r}: {name} has both signs")
    return tuple(pairs.items())
