"""Markdown: a page for pull requests and wikis. What a server said stands in code spans and cannot format the page."""

from __future__ import annotations

import re
from typing import Any

from conformance.report.results import differences
from conformance.report.writers.capabilities import told
from conformance.report.writers.evidence import LONGEST_COMMAND, commands

MOST_FINDINGS = 5
LONGEST = 300
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def write(results: dict[str, Any]) -> str:
    """The results as Markdown: verdict, counts, every row that fails or warns, and a table of all rows."""
    target, run, known = results["target"], results["run"], commands(results)
    counts = ", ".join(f"{count} {name}" for name, count in results["counts"].items() if count)
    lines = [
        f"# chatproof: {results['verdict']}",
        "",
        f"{_code(target['url'])} as {_code(target['dialect'])}, model {_code(target['model'])}, "
        f"{run['requests']} requests in {run['duration_s']:.1f} s, chatproof {results['tool']['version']}.",
        "",
        f"{counts}.",
    ]
    for label, names, origin in told(target):
        lines += ["", f"{label.capitalize()}: {', '.join(map(_code, names))} ({origin})."]
    if run["retries"]:
        lines += ["", f"{run['retries']} requests were sent again, after waiting {run['waited_s']:.1f} s."]
    if not target["tls_verified"]:
        lines += ["", "The server's certificate was not verified."]
    if run["exhausted"]:
        lines += ["", f"The run ended early: {run['exhausted']}."]
    for title, rows in (
        ("Failures", [row for row in results["requirements"] if row["fails"] or row["outcome"] == "ERROR"]),
        ("Waived", [row for row in results["requirements"] if row["outcome"] == "WAIVED"]),
        ("Warnings", [row for row in results["requirements"] if row["outcome"] == "WARN" and not row["fails"]]),
    ):
        if rows:
            lines += ["", f"## {title}"]
        for row in rows:
            lines += [
                "",
                f"### {row['id']}",
                "",
                f"{row['keyword']}, {_code(row['source'])}: {_code(row['summary'])}",
                "",
            ]
            lines += [f"- {_code(row['note'])}"] if row["note"] else []
            for found in row["findings"][:MOST_FINDINGS]:
                lines.append(
                    f"- {_code(found['exchange'])} {_code(found['where'])}: "
                    f"expected {_code(found['expected'])}, got {_code(found['got'])}"
                )
            first = row["findings"][0]["exchange"] if row["findings"] else None
            lines += [f"- again: {_code(known[first], LONGEST_COMMAND)}"] if first in known else []
            more = len(row["findings"]) - MOST_FINDINGS
            lines += [f"- and {more} more"] if more > 0 else []
    for other in results.get("also", ()):
        name = other["target"]["dialect"]
        lines += ["", f"## Also by {name}: {other['verdict']}", ""]
        lines += [f"| requirement | {results['target']['dialect']} | {name} | seen |", "|---|---|---|---|"]
        lines += [
            f"| {_code(identity)} | {one or 'not asked for'} | {two or 'not asked for'} | {_code(seen)} |"
            for identity, one, two, seen in differences(results, other)
        ]
    lines += ["", "## All requirements", "", "| outcome | keyword | requirement | source |", "|---|---|---|---|"]
    lines += [
        f"| {row['outcome']} | {row['keyword']} | {_code(row['id'])} | {_code(row['source'])} |"
        for row in results["requirements"]
    ]
    return "\n".join(lines) + "\n"


def _code(text: str, longest: int = LONGEST) -> str:
    """A code span that holds the text whatever it contains."""
    shown = CONTROL.sub(" ", text[:longest]).replace("|", "\\|").strip() or " "
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"
