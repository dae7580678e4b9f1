"""Write reports, each from the content of results.json alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from conformance.report.results import to_json
from conformance.report.writers import badge, junit, markdown, sarif, workflow_commands
from conformance.report.writers.logs import har, json_lines
from conformance.report.writers.pages import check_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Writer: TypeAlias = "Callable[[dict[str, Any]], str | Iterable[str]]"
"""Makes the text of a report, as a whole or in pieces."""

WRITERS: dict[str, Writer] = {
    "json": to_json,
    "junit": junit.write,
    "markdown": markdown.write,
    "html": check_page.write,
    "sarif": sarif.write,
    "badge": badge.write,
    "jsonl": json_lines.write,
    "har": har.write,
    "github": workflow_commands.write,
}

BY_SUFFIX: dict[tuple[str, str], Writer] = {("badge", ".json"): badge.write_endpoint}
"""Kinds that are written in another format to files with a certain suffix."""
