"""results.json: the one file that every report is made from, and from which a run can be judged again.

`schema_version` 2; its JSON Schema is `results.schema.json` beside this module.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from conformance.check import NoOccasion
from conformance.client.curl import curl
from conformance.plan.scenarios.schemathesis_cases import NOTHING, Draw

if TYPE_CHECKING:
    from conformance.plan.capabilities import Declaration
    from conformance.report.verdict import Report
    from conformance.run.run import Record
    from openapi.contract.contract import Contract

SCHEMA_VERSION = 2


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a report says of a run besides its rows."""

    url: str
    model: str
    declaration: Declaration
    strict: bool
    started_at: str
    duration_s: float
    insecure: bool = False
    only: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    draw: Draw = NOTHING
    known: tuple[str, ...] = ()  # all capabilities of the dialect


def build(report: Report, record: Record, contract: Contract, facts: RunFacts) -> dict[str, Any]:
    """The content of results.json. The API key is in none of it: exchanges are redacted when recorded."""
    document, declaration = contract.document, facts.declaration
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "chatproof", "version": version("chatproof")},
        "target": {
            "url": facts.url,
            "dialect": contract.name,
            "model": facts.model,
            "document": {"id": document.id, "version": document.version, "sha256": document.sha256},
            "capabilities": sorted(declaration.declared),
            "capabilities_from": declaration.whence,
            "capability_origins": {
                name: {"word": declaration.word(name), "from": declaration.origin(name)}
                for name in sorted({*declaration.declared, *declaration.denied, *facts.known})
            },
            "tls_verified": not facts.insecure,
        },
        "run": {
            "started_at": facts.started_at,
            "duration_s": round(facts.duration_s, 3),
            "requests": record.requests,
            "tokens": record.tokens,
            "retries": record.retries,
            "waited_s": round(record.waited_s, 3),
            "strict": facts.strict,
            "only": list(facts.only),
            "topics": list(facts.topics),
            "draw": asdict(facts.draw),
            "exhausted": report.exhausted,
        },
        "verdict": report.verdict.value,
        "counts": report.counts,
        "requirements": [
            {
                "id": row.id,
                "check": row.check,
                "keyword": row.keyword.value,
                "source": row.source,
                "reading": row.reading,
                "summary": row.summary,
                "outcome": row.outcome.value,
                "fails": report.fails(row, strict=facts.strict),
                "note": row.note,
                "waiver": None
                if row.waiver is None
                else {
                    "id": row.waiver.id,
                    "reason": row.waiver.reason,
                    "owner": row.waiver.owner,
                    "expires": row.waiver.expires.isoformat(),
                },
                "exchanges": row.exchanges,
                "findings": [
                    {**asdict(found.finding), "scenario": found.scenario, "exchange": found.exchange}
                    for found in row.findings
                ],
            }
            for row in report.rows
        ],
        "missing": [
            {"scenario": scenario, "step": step, "reason": str(why), "applies": not isinstance(why, NoOccasion)}
            for (scenario, step), why in record.missing.items()
        ],
        "exchanges": [{**exchange.to_dict(), "curl": curl(exchange)} for exchange in record.exchanges.values()],
    }


def with_others(results: dict[str, Any], others: list[dict[str, Any]]) -> dict[str, Any]:
    """The results with those of further dialects under `also`; exchanges that they share stand there once."""
    known = {exchange["id"] for exchange in results["exchanges"]}
    also = []
    for other in others:
        new = [exchange for exchange in other["exchanges"] if exchange["id"] not in known]
        results = {**results, "exchanges": [*results["exchanges"], *new]}
        results["run"] = {**results["run"], "requests": results["run"]["requests"] + other["run"]["requests"]}
        shared = {name: other[name] for name in ("target", "verdict", "counts", "requirements", "missing")}
        also.append({**shared, "requests": other["run"]["requests"]})
    return {**results, "also": also}


def counted(results: dict[str, Any]) -> str:
    """How many requirements came to each outcome, as words of one line."""
    return ", ".join(f"{count} {name.lower().replace('_', ' ')}" for name, count in results["counts"].items() if count)


def differences(results: dict[str, Any], other: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Where two dialects come to different words of which one is bad: (requirement, word, other word, what was seen).

    A word is empty where the dialect asks for no such thing.
    """
    ours = {row["id"]: row for row in results["requirements"]}
    theirs = {row["id"]: row for row in other["requirements"]}
    found = []
    for identity in dict.fromkeys([*ours, *theirs]):
        rows = (ours.get(identity), theirs.get(identity))
        one, two = (row["outcome"] if row else "" for row in rows)
        if one != two and {one, two} & {"FAIL", "WARN", "ERROR"}:
            findings = [finding for row in reversed(rows) if row for finding in row["findings"]]
            seen = f"expected {findings[0]['expected']}, got {findings[0]['got']}" if findings else ""
            found.append((identity, one, two, seen))
    return found


def current(content: dict[str, Any]) -> dict[str, Any]:
    """The content of a results file of any version, as today's version would tell it; it fits the schema.

    Version 1 said NOT_APPLICABLE for what is not declared and for what had no occasion. What is not declared are the
    rows called `capability.NAME`, so all others had no occasion.
    """
    if content["schema_version"] == SCHEMA_VERSION:
        return content
    also = {"also": [_told_apart(each) for each in content["also"]]} if "also" in content else {}
    return {**_told_apart(content), **also, "schema_version": SCHEMA_VERSION}


def _told_apart(judged: dict[str, Any]) -> dict[str, Any]:
    idle = {
        row["id"]
        for row in judged["requirements"]
        if row["outcome"] == "NOT_APPLICABLE" and not row["id"].startswith("capability.")
    }
    rows = [{**row, "outcome": "NO_OCCASION"} if row["id"] in idle else row for row in judged["requirements"]]
    counts = {**judged["counts"], "NO_OCCASION": len(idle)}
    counts["NOT_APPLICABLE"] -= len(idle)
    return {**judged, "counts": counts, "requirements": rows}


def text(results: dict[str, Any]) -> str:
    """The bytes of the file."""
    return json.dumps(results, indent=1, ensure_ascii=False) + "\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of results.json."""
    content: dict[str, Any] = json.loads(files("conformance").joinpath("results.schema.json").read_text("utf-8"))
    return content
