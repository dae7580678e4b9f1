"""Weight: how much disk the load tests need, with everything that they pull in."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.requirements import Requirement

if TYPE_CHECKING:
    from importlib.metadata import Distribution

EXTRA: Final = "load"


def installed_mb(name: str = "chatproof", extra: str = EXTRA) -> float:
    """Megabytes (of 10^6 bytes) of all distributions that `name[extra]` needs, found in this environment."""
    return sum(map(_size_bytes, _needed(name, extra).values())) / 1e6


def _needed(name: str, extra: str) -> dict[str, Distribution]:
    """The distributions by name, `name` itself left out: it may be a working copy."""
    found: dict[str, Distribution] = {}
    waiting, seen = [(name, frozenset({extra, ""}))], set()
    while waiting:
        wanted = waiting.pop()
        if wanted in seen:
            continue
        seen.add(wanted)
        try:
            distribution = metadata.distribution(wanted[0])
        except metadata.PackageNotFoundError:  # for another platform, or optional
            continue
        if wanted[0] != name:
            found[wanted[0]] = distribution
        for line in distribution.requires or ():
            needed = Requirement(line)
            if needed.marker is None or any(needed.marker.evaluate({"extra": each}) for each in wanted[1]):
                waiting.append((re.sub(r"[-_.]+", "-", needed.name).lower(), frozenset({*needed.extras, ""})))
    return found


def _size_bytes(distribution: Distribution) -> int:
    paths = [Path(str(file.locate())) for file in distribution.files or ()]
    return sum(path.stat().st_size for path in paths if path.is_file())
