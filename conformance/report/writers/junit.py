"""JUnit XML: one test case per requirement, grouped by topic, as CI systems show them."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as Xml

from conformance.report.writers.evidence import commands

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(results: dict[str, Any]) -> str:
    """The results as JUnit XML. A row that fails is a failure, a defect of ours an error, a warning system-out."""
    target = results["target"]
    rows, known = results["requirements"], commands(results)
    suite = Xml.Element(
        "testsuite",
        name=f"chatproof {target['dialect']}",
        tests=str(len(rows)),
        failures=str(sum(row["fails"] for row in rows)),
        errors=str(sum(row["outcome"] == "ERROR" for row in rows)),
        skipped=str(sum(_skipped(row) for row in rows)),
        time=f"{results['run']['duration_s']:.3f}",
        timestamp=results["run"]["started_at"],
    )
    properties = Xml.SubElement(suite, "properties")
    for name in ("url", "dialect", "model"):
        Xml.SubElement(properties, "property", name=name, value=_clean(str(target[name])))
    Xml.SubElement(properties, "property", name="verdict", value=results["verdict"])
    for row in rows:
        case = Xml.SubElement(suite, "testcase", classname=f"chatproof.{row['check'].split('.')[0]}", name=row["id"])
        if row["outcome"] == "ERROR":
            Xml.SubElement(case, "error", message=_clean(row["note"]))
        elif row["fails"]:
            claim = f"{row['keyword']}: {row['summary'].removesuffix('.')}"
            failure = Xml.SubElement(case, "failure", message=_clean(f"{claim}: {_why(row)}"))
            failure.text = _clean(_details(row, known))
        elif _skipped(row):
            Xml.SubElement(case, "skipped", message=_clean(f"{row['outcome']}: {row['note']}"))
        elif row["findings"]:
            Xml.SubElement(case, "system-out").text = _clean(f"{row['outcome']}\n{_details(row, known)}")
    Xml.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(suite, encoding="unicode") + "\n"


def _skipped(row: dict[str, Any]) -> bool:
    return row["outcome"] in ("UNTESTABLE", "NO_OCCASION", "NOT_APPLICABLE") and not row["fails"]


def _why(row: dict[str, Any]) -> str:
    """What is wrong, in few words: lists of failures show no more."""
    first = row["findings"][0] if row["findings"] else {}
    return row["note"] or f"expected {first['expected']}, got {first['got']}"


def _details(row: dict[str, Any], known: dict[str, str]) -> str:
    lines = [f"{row['keyword']} {row['source']}"]
    lines += [
        f"{found['exchange']} {found['where']}: expected {found['expected']}, got {found['got']}"
        for found in row["findings"]
    ]
    lines += [known[found["exchange"]] for found in row["findings"][:1] if found["exchange"] in known]
    return "\n".join(lines)


def _clean(text: str) -> str:
    """XML 1.0 has no words for control characters and halves of pairs."""
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
