"""SARIF 2.1.0: for code-scanning pages. One result per finding, at most as many as those pages show."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from conformance.report.writers.evidence import commands, inert

MOST: Final = 5000
"""Results that code-scanning pages show of one run."""
MOST_OF_ONE: Final = 10
LONGEST: Final = 1000
LEVELS: Final = {"FAIL": "error", "ERROR": "error", "UNTESTABLE": "error", "WARN": "warning", "WAIVED": "warning"}


def write(results: dict[str, Any]) -> str:
    """The findings as a SARIF log. A waived one is suppressed, with who waives it; what passed is only a rule."""
    rows = results["requirements"]
    known = commands(results)
    version = results["tool"]["version"]
    run = {
        "tool": {"driver": {"name": "chatproof", "version": version, "rules": [_rule(row) for row in rows]}},
        "automationDetails": {"id": f"chatproof/{results['target']['dialect']}"},
        "results": [result for at, row in enumerate(rows) for result in _results(row, at, known)][:MOST],
        "invocations": [
            {
                "executionSuccessful": results["run"]["exhausted"] is None,
                "startTimeUtc": _utc(results["run"]["started_at"]),
            }
        ],
        "columnKind": "unicodeCodePoints",
    }
    log = {"version": "2.1.0", "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=True) + "\n"


def _rule(row: dict[str, Any]) -> dict[str, Any]:
    summary = inert(row["summary"], LONGEST) or row["id"]
    return {
        "id": row["id"],
        "shortDescription": {"text": summary},
        "help": {"text": f"{row['keyword']}, {row['source']}"},
        "properties": {"tags": [row["keyword"], row["check"].partition(".")[0]]},
    }


def _results(row: dict[str, Any], at: int, known: dict[str, str]) -> list[dict[str, Any]]:
    shown = row["fails"] or row["outcome"] in ("FAIL", "WARN", "ERROR", "WAIVED")
    if not shown:
        return []
    level = LEVELS.get(row["outcome"], "note")
    summary = inert(row["summary"], LONGEST) or row["id"]
    if not row["findings"]:
        return [_result(row, at, level, f"{summary}: {inert(row['note'], LONGEST)}", row["id"], {})]
    found = []
    for finding in row["findings"][:MOST_OF_ONE]:
        where = f"{finding['exchange']}{finding['where']}"
        said = f"{summary} Expected {inert(finding['expected'], LONGEST)}, got {inert(finding['got'], LONGEST)}."
        found.append(_result(row, at, level, said, where, {"curl": known.get(finding["exchange"], "")}))
    return found


def _result(
    row: dict[str, Any], at: int, level: str, said: str, where: str, properties: dict[str, str]
) -> dict[str, Any]:
    place = inert(where, LONGEST)
    print_ = hashlib.sha256(f"{row['id']}\n{place}".encode()).hexdigest()
    result: dict[str, Any] = {
        "ruleId": row["id"],
        "ruleIndex": at,
        "level": level,
        "message": {"text": said},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": "results.json"}, "region": {"startLine": 1}},
                "logicalLocations": [{"fullyQualifiedName": place}],
            }
        ],
        "partialFingerprints": {"requirementAndPlace/v1": print_},
        "properties": properties,
    }
    if row["outcome"] == "WAIVED":
        result["suppressions"] = [{"kind": "external", "justification": inert(row["note"], LONGEST)}]
    return result


def _utc(started_at: str) -> str:
    return started_at.replace("+00:00", "Z")
