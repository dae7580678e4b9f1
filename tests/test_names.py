"""Names: public class names are unique, and the glossary lists the exceptions."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("chatproof", "openapi", "reference_server", "conformance", "loadtests", "benchmarks", "docs", "lint")
MOST_SHARED = 8


def public_classes() -> dict[str, list[str]]:
    """Map each public class name of the product code to the files that define it."""
    files = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "tests" not in path.parts:
                for node in ast.parse(path.read_text(encoding="utf-8")).body:
                    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                        files[node.name].append(str(path.relative_to(ROOT)))
    return dict(files)


def shared_names() -> set[str]:
    """Return the class names that the glossary lists as one concept in two packages."""
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    section = glossary.partition("## Shared class names\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


def test_public_class_names_are_unique_except_for_those_in_the_glossary() -> None:
    repeated = {name: files for name, files in public_classes().items() if len(files) > 1}
    assert {name: repeated[name] for name in repeated.keys() - shared_names()} == {}


def test_the_glossary_lists_at_most_eight_shared_names_and_each_is_in_use() -> None:
    repeated = {name for name, files in public_classes().items() if len(files) > 1}
    assert shared_names() <= repeated
    assert len(shared_names()) <= MOST_SHARED
