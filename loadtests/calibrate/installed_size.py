"""Measure how much disk space the load tests need, including all dependencies."""

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
    """Return the megabytes (10^6 bytes) of all installed distributions that `name[extra]` requires."""
    return sum(map(_size_bytes, _find_required(name, extra).values())) / 1e6


def _find_required(name: str, extra: str) -> dict[str, Distribution]:
    """Return the distributions by name, without `name` itself, which may be a working copy."""
    required: dict[str, Distribution] = {}
    queue, seen = [(name, frozenset({extra, ""}))], set()
    while queue:
        item = queue.pop()
        if item in seen:
            continue
        seen.add(item)
        try:
            distribution = metadata.distribution(item[0])
        except metadata.PackageNotFoundError:  # for another platform, or optional
            continue
        if item[0] != name:
            required[item[0]] = distribution
        for line in distribution.requires or ():
            requirement = Requirement(line)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": chosen}) for chosen in item[1]):
                normalized = re.sub(r"[-_.]+", "-", requirement.name).lower()
                queue.append((normalized, frozenset({*requirement.extras, ""})))
    return required


def _size_bytes(distribution: Distribution) -> int:
    paths = [Path(str(file.locate())) for file in distribution.files or ()]
    return sum(path.stat().st_size for path in paths if path.is_file())
