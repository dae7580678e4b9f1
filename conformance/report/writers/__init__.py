"""Reports, each made from the content of results.json and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.report.results import text
from conformance.report.writers import badge, junit, markdown, sarif
from conformance.report.writers import html as page

if TYPE_CHECKING:
    from collections.abc import Callable

WRITERS: dict[str, Callable[[dict[str, Any]], str]] = {
    "json": text,
    "junit": junit.write,
    "markdown": markdown.write,
    "html": page.write,
    "sarif": sarif.write,
    "badge": badge.write,
}

BY_ENDING: dict[tuple[str, str], Callable[[dict[str, Any]], str]] = {("badge", ".json"): badge.endpoint}
"""Kinds that have another form in files whose name ends so."""
