"""results.json: the one file that every report is made from, and from which a run can be judged again.

`schema_version` 1; its JSON Schema is `results.schema.json` beside this module.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from conformance.curl import curl

if TYPE_CHECKING:
    from conformance.run import Record
    from conformance.verdict import Report
    from openapi.contract import Contract

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a report says of a run besides its rows."""

    url: str
    model: str
    capabilities: tuple[str, ...]
    capabilities_from: str
    strict: bool
    started_at: str
    duration_s: float
    insecure: bool = False


def build(report: Report, record: Record, contract: Contract, facts: RunFacts) -> dict[str, Any]:
    """The content of results.json. The API key is in none of it: exchanges are redacted when recorded."""
    document = contract.document
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "chatproof", "version": version("chatproof")},
        "target": {
            "url": facts.url,
            "dialect": contract.name,
            "model": facts.model,
            "document": {"id": document.id, "version": document.version, "sha256": document.sha256},
            "capabilities": list(facts.capabilities),
            "capabilities_from": facts.capabilities_from,
            "tls_verified": not facts.insecure,
        },
        "run": {
            "started_at": facts.started_at,
            "duration_s": round(facts.duration_s, 3),
            "requests": record.requests,
            "strict": facts.strict,
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
                "exchanges": row.exchanges,
                "findings": [
                    {**asdict(found.finding), "scenario": found.scenario, "exchange": found.exchange}
                    for found in row.findings
                ],
            }
            for row in report.rows
        ],
        "exchanges": [{**exchange.to_dict(), "curl": curl(exchange)} for exchange in record.exchanges.values()],
    }


def text(results: dict[str, Any]) -> str:
    """The bytes of the file."""
    return json.dumps(results, indent=1, ensure_ascii=False) + "\n"


def schema() -> dict[str, Any]:
    """The JSON Schema of results.json."""
    content: dict[str, Any] = json.loads(files("conformance").joinpath("results.schema.json").read_text("utf-8"))
    return content
