"""Write the findings as SARIF 2.1.0 for code-scanning pages."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Final
from urllib.parse import quote

from conformance.report.writers.cause_groups import describe_causes, describe_caveats, describe_document
from conformance.report.writers.evidence import neutralize, repeat_commands
from conformance.report.writers.workflow_commands import annotated_file

MAX_RESULTS: Final = 5000
"""The number of results that code-scanning pages show of one run."""
MAX_PER_ROW: Final = 10
LONGEST: Final = 1000
LEVELS: Final = {"FAIL": "error", "ERROR": "error", "UNTESTABLE": "error", "WARN": "warning", "WAIVED": "warning"}


def write(results: dict[str, Any]) -> str:
    """Return a SARIF log with one rule per requirement and one result per finding.

    The results of a waived requirement are suppressed, with the waiver as justification. Those of a consequence are
    notes that name the cause, and those of the cause list its consequences.
    """
    rows = results["requirements"]
    commands = repeat_commands(results)
    consequences = {cause["requirement"]: cause["consequences"] for cause in results["causes"]}
    version = results["tool"]["version"]
    run = {
        "tool": {"driver": {"name": "chatproof", "version": version, "rules": [_rule(row) for row in rows]}},
        "automationDetails": {"id": f"chatproof/{results['target']['dialect']}"},
        "results": [
            {**result, "locations": [_location(place, annotated_file(results))]}
            for index, row in enumerate(rows)
            for place, result in _results(row, index, commands, consequences.get(row["id"], []))
        ][:MAX_RESULTS],
        "invocations": [
            {
                "executionSuccessful": results["run"]["exhausted"] is None,
                "startTimeUtc": _utc(results["run"]["started_at"]),
                "toolExecutionNotifications": [
                    {"level": "warning", "message": {"text": _escape(neutralize(text, LONGEST))}}
                    for _, text in describe_caveats(results)
                ],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "properties": {"causes": describe_causes(results), "document": "; ".join(describe_document(results))},
    }
    log = {"version": "2.1.0", "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=True) + "\n"


def _rule(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "shortDescription": {"text": _escape(_summary(row))},
        "help": {"text": f"{row['keyword']}, {row['source']}"},
        "properties": {"tags": [row["keyword"], row["check"].partition(".")[0]]},
    }


def _summary(row: dict[str, Any]) -> str:
    return neutralize(row["summary"], LONGEST) or str(row["id"])


def _results(
    row: dict[str, Any], index: int, commands: dict[str, str], consequences: list[str]
) -> list[tuple[str, dict[str, Any]]]:
    """Return the place of each finding of a row, and its result without a location."""
    if not row["fails"] and row["outcome"] not in ("FAIL", "WARN", "ERROR", "WAIVED"):
        return []
    linked = ""
    if row["causes"]:
        linked = f" This is a consequence of {', '.join(row['causes'])}."
    if consequences:
        linked = f" Consequences: {', '.join(consequences)}."
    if not row["findings"]:
        message = f"{_summary(row)}: {neutralize(row['note'], LONGEST)}.{linked}"
        return [_result(row, index, message, row["id"], {})]
    results = []
    for finding in row["findings"][:MAX_PER_ROW]:
        place = f"{finding['exchange']}{finding['where']}"
        expected, got = (neutralize(finding[name], LONGEST) for name in ("expected", "got"))
        message = f"{_summary(row)} Expected {expected}, got {got}.{linked}"
        results.append(_result(row, index, message, place, {"curl": commands.get(finding["exchange"], "")}))
    return results


def _result(
    row: dict[str, Any], index: int, message: str, place: str, properties: dict[str, str]
) -> tuple[str, dict[str, Any]]:
    name = neutralize(place, LONGEST)
    fingerprint = hashlib.sha256(f"{row['id']}\n{name}".encode()).hexdigest()
    result: dict[str, Any] = {
        "ruleId": row["id"],
        "ruleIndex": index,
        "level": "note" if row["causes"] else LEVELS.get(row["outcome"], "note"),
        "message": {"text": _escape(message)},
        "partialFingerprints": {"requirementAndPlace/v1": fingerprint},
        "properties": {**properties, **({"causes": row["causes"]} if row["causes"] else {})},
    }
    if row["outcome"] == "WAIVED":
        result["suppressions"] = [{"kind": "external", "justification": neutralize(row["note"], LONGEST)}]
    return name, result


def _location(place: str, file: str) -> dict[str, Any]:
    return {
        "physicalLocation": {"artifactLocation": {"uri": quote(file)}, "region": {"startLine": 1}},
        "logicalLocations": [{"fullyQualifiedName": place}],
    }


def _escape(text: str) -> str:
    """Return a message without links: SARIF 2.1.0, section 3.11.6, reads [TEXT](URL), and viewers link bare URLs."""
    return re.sub(r"([\\\[\]])", r"\\\1", text).replace("://", ":/\N{WORD JOINER}/")


def _utc(started_at: str) -> str:
    return started_at.replace("+00:00", "Z")
