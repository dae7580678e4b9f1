"""Write reports, each from the content of results.json alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.report.results import to_json
from conformance.report.writers import badge, html, junit, markdown, sarif

if TYPE_CHECKING:
    from collections.abc import Callable

WRITERS: dict[str, Callable[[dict[str, Any]], str]] = {
    "json": to_json,
    "junit": junit.write,
    "markdown": markdown.write,
    "html": html.write,
    "sarif": sarif.write,
    "badge": badge.write,
}

BY_SUFFIX: dict[tuple[str, str], Callable[[dict[str, Any]], str]] = {("badge", ".json"): badge.write_endpoint}
"""Kinds that are written in another format to files with a certain suffix."""
