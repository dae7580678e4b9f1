"""Write the results as Markdown for pull requests and wikis.

All text from a server is written in code spans, where it cannot format the page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from conformance.report.results import compare_dialects, format_counts, format_source
from conformance.report.writers.capability_groups import group_capabilities
from conformance.report.writers.cause_groups import (
    describe_causes,
    describe_consequence,
    describe_document,
    describe_requests,
    describe_retries,
    describe_unjudged,
    list_problems,
    other_causes,
)
from conformance.report.writers.evidence import LONGEST_COMMAND, Reproduction, show_shortest_first

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.report.writers.cause_groups import CauseGroup

MAX_FINDINGS = 5
LONGEST = 300
SECTIONS = (("Failures", ("failure", "untestable", "error")), ("Waived", ("waived",)), ("Warnings", ("warning",)))
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def write(results: dict[str, Any]) -> str:
    """Return the results as Markdown: verdict, counts, every cause with its consequences, and a table of all rows."""
    results = show_shortest_first(results)
    reproduction, requirements, groups = Reproduction(results), results["requirements"], list_problems(results)
    lines = list(_summary(results))
    for title, kinds in SECTIONS:
        if shown := [group for group in groups if group.kind in kinds]:
            lines += ["", f"## {title}"]
        for group in shown:
            lines += [*_row(group.row, reproduction), *_consequences(group)]
    for other in results.get("also", ()):
        lines += _other_dialect(results, other)
    if requirements:
        lines += ["", "## All requirements", "", "| outcome | keyword | requirement | source |", "|---|---|---|---|"]
    lines += [
        f"| {row['outcome']} | {row['keyword']} | {code_span(row['id'])} | {code_span(row['source'])} |"
        for row in requirements
    ]
    return "\n".join(lines) + "\n"


def _summary(results: dict[str, Any]) -> Iterator[str]:
    target, run = results["target"], results["run"]
    yield from (f"# chatproof: {results['verdict']}", "")
    yield (
        f"{code_span(target['url'])} as {code_span(target['dialect'])}, model {code_span(target['model'])}, "
        f"{describe_requests(run)}, chatproof {results['tool']['version']}."
    )
    if causes := describe_causes(results):
        yield from ("", f"**{causes}.**")
    if run["exhausted"]:
        yield from ("", f"The run ended early: {code_span(run['exhausted'], LONGEST_COMMAND)}.")
    if unjudged := describe_unjudged(run):
        yield from ("", f"{code_span(unjudged, LONGEST_COMMAND)}.")
    yield from ("", f"{format_counts(results).capitalize()}.")
    for line in describe_document(results):
        yield from ("", f"{line[0].upper()}{line[1:]}.")
    for label, names, origin in group_capabilities(target):
        yield from ("", f"{label.capitalize()}: {', '.join(map(code_span, names))} ({origin}).")
    if run["retries"]:
        yield from ("", f"{describe_retries(run)}.")
    if not target["tls_verified"]:
        yield from ("", "The server's certificate was not verified.")


def _row(row: dict[str, Any], reproduction: Reproduction) -> Iterator[str]:
    findings = row["findings"]
    yield from (
        "",
        f"### {row['id']}",
        "",
        f"{row['keyword']}, {code_span(format_source(row))}: {code_span(row['summary'])}",
        "",
    )
    if row["note"]:
        yield f"- {code_span(row['note'])}"
    for finding in findings[:MAX_FINDINGS]:
        place = f"{code_span(finding['exchange'])} {code_span(finding['where'])}"
        yield f"- {place}: expected {code_span(finding['expected'])}, got {code_span(finding['got'])}"
    if command := reproduction.command(row):
        yield f"- repeat with: {code_span(command, LONGEST_COMMAND)}"
    for name, line in reproduction.steps(row):
        yield f"  - {code_span(name)}: {code_span(line, LONGEST_COMMAND)}"
    if len(findings) > MAX_FINDINGS:
        yield f"- and {len(findings) - MAX_FINDINGS} more"


def _consequences(group: CauseGroup) -> Iterator[str]:
    if group.consequences:
        yield from ("", f"{group.title.capitalize()}:", "")
    for row in group.consequences:
        also = f" ({code_span(other_causes(row))})" if other_causes(row) else ""
        shown = code_span(describe_consequence(row))
        yield f"- {row['outcome']} {row['keyword']} {code_span(row['id'])}: {shown}{also}"


def _other_dialect(results: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    name = other["target"]["dialect"]
    yield from ("", f"## Also judged by {name}: {other['verdict']}", "")
    yield from (f"| requirement | {results['target']['dialect']} | {name} | finding |", "|---|---|---|---|")
    for identity, outcome, other_outcome, seen in compare_dialects(results, other):
        outcomes = f"{outcome or 'not required'} | {other_outcome or 'not required'}"
        yield f"| {code_span(identity)} | {outcomes} | {code_span(seen)} |"


def code_span(text: str, longest: int = LONGEST) -> str:
    """Return a code span that contains the text, whatever characters it has."""
    shown = CONTROL.sub(" ", text[:longest]).replace("|", "\\|").strip() or " "
    longest_run = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest_run + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"
