"""Write docs/licences.md: the licence of everything that `pip install '.[all]'` installs.

The licences come from the metadata of the installed packages. `--check` writes nothing, and exits with 1 if the page
does not list the same packages and licences.
"""

from __future__ import annotations

import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "licences.md"
HEAD: Final = """# Licences of the dependencies

`python lint/licences.py` writes this page from the metadata of the installed packages, for everything that
`pip install '.[all]'` installs on Linux. Versions are in [requirements.lock](../requirements.lock).

| package | licence | needed by |
|---|---|---|
"""
LONGEST: Final = 60
UNKNOWN: Final = "not stated"


def list_closure() -> dict[str, str]:
    """Return all packages that are installed with chatproof, each with the extra that needs it ("" without one)."""
    needed: dict[str, str] = {}
    waiting = [("chatproof", "", extra) for extra in ("", "server", "media", "load", "fuzz")]
    visited: set[tuple[str, str]] = set()
    while waiting:
        name, extra, wanted = waiting.pop(0)
        if (name, wanted) in visited:
            continue
        visited.add((name, wanted))
        try:
            requirements = distribution(name).requires or ()
        except PackageNotFoundError:  # for another system
            continue
        if name != "chatproof":
            needed.setdefault(name, extra)
        for text in requirements:
            requirement = Requirement(text)
            marker = requirement.marker
            if marker is None or marker.evaluate({"extra": wanted}):
                if wanted and name == "chatproof" and (marker is None or "extra" not in str(marker)):
                    continue  # the plain installation has it
                origin = wanted if name == "chatproof" else extra
                child = canonicalize_name(requirement.name)
                waiting += [(child, origin, part) for part in ("", *sorted(requirement.extras))]
    return needed


def read_licence(found: Distribution) -> str:
    """Return the licence of a package: its SPDX expression, else its classifiers, else the field."""
    metadata = found.metadata
    if "License-Expression" in metadata:
        return metadata["License-Expression"]
    classifiers = [
        text.rpartition(" :: ")[2] for text in metadata.get_all("Classifier", []) if text.startswith("License")
    ]
    if classifiers:
        return "; ".join(classifiers)
    first = metadata["License"].strip().partition("\n")[0] if "License" in metadata else ""
    return first if 0 < len(first) <= LONGEST else UNKNOWN


def write_page() -> str:
    """Return the content of the page."""
    rows = []
    for name, extra in sorted(list_closure().items()):
        licence = read_licence(distribution(name)).replace("|", "/")
        rows.append(f"| {name} | {licence} | {f'`{extra}`' if extra else 'every installation'} |\n")
    return HEAD + "".join(rows)


def main() -> int:
    """Write or check the page."""
    page = write_page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page:
        return 0
    print("docs/licences.md is not up to date: run python lint/licences.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
