"""Write the results as JUnit XML for CI systems: one test case per requirement, grouped by topic."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as Xml

from conformance.report.writers.cause_groups import (
    describe_causes,
    describe_caveats,
    describe_document,
    describe_unjudged,
)
from conformance.report.writers.evidence import Reproduction, show_shortest_first

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow, such as control characters and lone surrogates."""


def write(results: dict[str, Any]) -> str:
    """Return the results as JUnit XML.

    A failing row is a `failure`, but `skipped` if it was not observed before a run ended early. An internal error of
    the suite is an `error`, as is a run that ended early without another failure. A warning is written to `system-out`.
    A consequence begins with the name of its cause.
    """
    results = show_shortest_first(results)
    target, rows, reproduction = results["target"], results["requirements"], Reproduction(results)
    # Without a case that says so, a CI system would show a run that judged nothing as an empty or green suite.
    ended_early, proven = results["run"]["exhausted"] or "", any(row["fails"] and not _is_unseen(row) for row in rows)
    not_judged = describe_unjudged(results["run"]) or ("" if proven else ended_early)
    suite = Xml.Element(
        "testsuite",
        name=f"chatproof {target['dialect']}",
        tests=str(len(rows) + bool(not_judged)),
        failures=str(sum(row["fails"] and not (ended_early and _is_unseen(row)) for row in rows)),
        errors=str(sum(row["outcome"] == "ERROR" for row in rows) + bool(not_judged)),
        skipped=str(sum(_is_skipped(row, ended_early) for row in rows)),
        time=f"{results['run']['duration_s']:.3f}",
        timestamp=results["run"]["started_at"],
    )
    properties = Xml.SubElement(suite, "properties")
    for name in ("url", "dialect", "model"):
        Xml.SubElement(properties, "property", name=name, value=_clean(str(target[name])))
    Xml.SubElement(properties, "property", name="verdict", value=results["verdict"])
    for name, text in (
        ("causes", describe_causes(results)),
        ("document", "; ".join(describe_document(results))),
        *describe_caveats(results),
    ):
        if text:
            Xml.SubElement(properties, "property", name=name, value=_clean(text))
    if not_judged:
        case = Xml.SubElement(suite, "testcase", classname="chatproof.run", name="run.judges")
        Xml.SubElement(case, "error", message=_clean(not_judged))
    for row in rows:
        case = Xml.SubElement(
            suite,
            "testcase",
            classname=f"chatproof.{row['check'].split('.')[0]}",
            name=row["id"],
            time=f"{row.get('duration_s', 0):.3f}",  # of all answers that show it; one answer shows several
        )
        if row["outcome"] == "ERROR":
            Xml.SubElement(case, "error", message=_clean(row["note"]))
        elif _is_skipped(row, ended_early):
            Xml.SubElement(case, "skipped", message=_clean(f"{row['outcome']}: {row['note']}"))
        elif row["fails"]:
            claim = f"{row['keyword']}: {row['summary'].removesuffix('.')}"
            cause = f"consequence of {row['causes'][0]}: " if row["causes"] else ""
            failure = Xml.SubElement(case, "failure", message=_clean(f"{cause}{claim}: {_problem(row)}"))
            failure.text = _clean(_details(row, reproduction))
        elif row["findings"]:
            Xml.SubElement(case, "system-out").text = _clean(f"{row['outcome']}\n{_details(row, reproduction)}")
    Xml.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(suite, encoding="unicode") + "\n"


def _is_unseen(row: dict[str, Any]) -> bool:
    return bool(row["outcome"] == "UNTESTABLE")


def _is_skipped(row: dict[str, Any], ended_early: str) -> bool:
    """Return whether a row counts as skipped: also one that must be observed, in a run that ended before it was."""
    unjudged = row["outcome"] in ("UNTESTABLE", "NOT_EXERCISED", "NOT_APPLICABLE")
    return unjudged and not (row["fails"] and not (ended_early and _is_unseen(row)))


def _problem(row: dict[str, Any]) -> str:
    """Return the problem on one line, which is all that lists of failures show."""
    first = row["findings"][0] if row["findings"] else {}
    return row["note"] or f"expected {first['expected']}, got {first['got']}"


def _details(row: dict[str, Any], reproduction: Reproduction) -> str:
    findings = row["findings"]
    lines = [f"{row['keyword']} {row['source']}"]
    if row["causes"]:
        lines.append(f"consequence of {', '.join(row['causes'])}")
    lines += [
        f"{finding['exchange']} {finding['where']}: expected {finding['expected']}, got {finding['got']}"
        for finding in findings
    ]
    lines += filter(None, [reproduction.command(row)])
    lines += [f"{name}: {line}" for name, line in reproduction.steps(row)]
    return "\n".join(lines)


def _clean(text: str) -> str:
    """Replace the characters that XML 1.0 does not allow."""
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
