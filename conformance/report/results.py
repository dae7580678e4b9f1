"""Build the content of results.json, from which every report is made and a run can be judged again.

The JSON Schema is `conformance/results.schema.json`. `results_file` reads files of this and of older versions.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.check import NotExercised
from conformance.client.curl import KEY_VARIABLE
from conformance.plan.scenarios.schemathesis_cases import NOTHING, Draw
from conformance.report.recorded_exchanges import RecordedExchanges
from openapi.contract.contract import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.plan.capabilities import DeclaredCapabilities
    from conformance.plan.depth import Depth
    from conformance.record import Record
    from conformance.report.requirement_row import RequirementRow
    from conformance.report.verdict import Report
    from openapi.contract.contract import Contract

SCHEMA_VERSION = 4


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The facts about a run that a report shows in addition to its rows."""

    url: str
    model: str
    declaration: DeclaredCapabilities
    strict: bool
    started_at: str
    duration_s: float
    insecure: bool = False
    only: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    draw: Draw = NOTHING
    depth: Depth = "standard"
    known: tuple[str, ...] = ()  # all capabilities of the dialect
    annotate: str | None = None  # the file at which code-scanning pages show the findings
    key_variable: str | None = None  # the environment variable with the API key


def build_results(
    report: Report, record: Record, contract: Contract, facts: RunFacts, coverage: dict[str, Any]
) -> dict[str, Any]:
    """Return the content of results.json. It never contains the API key: exchanges are redacted when recorded.

    coverage: how many sentences of the document were judged.
    """
    document, declaration = contract.document, facts.declaration
    durations_s = {item.id: item.response.ended_at_s for item in record.exchanges.values() if item.response}
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "chatproof", "version": version("chatproof")},
        "target": {
            "url": facts.url,
            "dialect": contract.name,
            "model": facts.model,
            "document": {"id": document.id, "version": document.version, "sha256": document.sha256},
            "capabilities": sorted(declaration.declared),
            "capabilities_from": declaration.source,
            "capability_origins": {
                name: {"status": declaration.status_of(name), "from": declaration.source_of(name)}
                for name in sorted({*declaration.declared, *declaration.denied, *facts.known})
            },
            "tls_verified": not facts.insecure,
            **({} if facts.key_variable is None else {"key_variable": facts.key_variable}),
            **({} if name_of(contract) == contract.name else {"dialect_file": _shorten_path(contract.location)}),
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
            "depth": facts.depth,
            "draw": asdict(facts.draw),
            "exhausted": report.exhausted,
            **({} if report.unjudged is None else {"unjudged": report.unjudged}),
            **({} if facts.annotate is None else {"annotate": facts.annotate}),
        },
        "verdict": report.verdict.value,
        "counts": report.counts,
        "causes": list_causes(report.rows),
        "document": coverage,
        "requirements": [
            {
                **_row(row, fails=report.fails(row, strict=facts.strict)),
                "duration_s": round(sum(durations_s.get(name, 0.0) for name in row.seen), 3),
                **_analogy(row, contract),
            }
            for row in report.rows
        ],
        "missing": [
            {"scenario": scenario, "step": step, "reason": str(reason), "applies": not isinstance(reason, NotExercised)}
            for (scenario, step), reason in record.missing.items()
        ],
        "exchanges": RecordedExchanges(record.exchanges.values(), facts.key_variable or KEY_VARIABLE),
    }


def _shorten_path(path: str) -> str:
    """Return a path relative to the working folder if it is inside, as the commands of reports name the results too."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path


def _row(row: RequirementRow, *, fails: bool) -> dict[str, Any]:
    waiver = row.waiver
    return {
        "id": row.id,
        "check": row.check,
        "keyword": row.keyword.value,
        "source": row.source,
        "interpretation": row.interpretation,
        "summary": row.summary,
        "outcome": row.outcome.value,
        "fails": fails,
        "note": row.note,
        "causes": list(row.causes),
        "waiver": None
        if waiver is None
        else {
            "id": waiver.id,
            "reason": waiver.reason,
            "owner": waiver.owner,
            "expires": waiver.expires.isoformat(),
        },
        "exchanges": row.exchanges,
        "findings": [
            {**asdict(located.finding), "scenario": located.scenario, "exchange": located.exchange}
            for located in row.findings
        ],
        **({"compared": [list(names) for names in row.compared]} if row.compared else {}),
    }


def _analogy(row: RequirementRow, contract: Contract) -> dict[str, str]:
    """Return the dialect by analogy with which a dialect outside this package has a requirement."""
    parent = None if contract.is_built_in else contract.parents.get(row.source.partition("#")[0])
    return {} if parent is None else {"by_analogy_with": parent}


def format_source(row: dict[str, Any]) -> str:
    """Return the source of a requirement, and the dialect by analogy with which it has it, on one line."""
    parent = row.get("by_analogy_with")
    return f"{row['source']}, by analogy with {parent}" if parent else str(row["source"])


def list_causes(rows: Iterable[RequirementRow]) -> list[dict[str, Any]]:
    """Return each requirement that explains others, with these others, in the order of the rows."""
    consequences: dict[str, list[str]] = {}
    rows = list(rows)
    for row in rows:
        if row.causes:
            consequences.setdefault(row.causes[0], []).append(row.id)
    return [{"requirement": row.id, "consequences": consequences[row.id]} for row in rows if row.id in consequences]


def add_dialects(results: dict[str, Any], others: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the results with those of further dialects under `also`; exchanges that they share are listed once."""
    also = []
    for other in others:
        results = {**results, "exchanges": results["exchanges"].extend(other["exchanges"])}
        results["run"] = {**results["run"], "requests": results["run"]["requests"] + other["run"]["requests"]}
        names = ("target", "verdict", "counts", "causes", "document", "requirements", "missing")
        shared = {name: other[name] for name in names}
        also.append({**shared, "requests": other["run"]["requests"]})
    return {**results, "also": also}


def format_counts(results: dict[str, Any]) -> str:
    """Return the number of requirements with each outcome, on one line."""
    counts = (f"{count} {name.lower().replace('_', ' ')}" for name, count in results["counts"].items() if count)
    return ", ".join(counts) or "nothing was judged"


def compare_dialects(results: dict[str, Any], other: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return the requirements whose outcomes differ between two dialects, if at least one of them is bad.

    Each item is (requirement, outcome, other outcome, first finding). An outcome is empty if the dialect does not have
    the requirement.
    """
    rows = {row["id"]: row for row in results["requirements"]}
    other_rows = {row["id"]: row for row in other["requirements"]}
    differing = []
    for identity in dict.fromkeys([*rows, *other_rows]):
        pair = (rows.get(identity), other_rows.get(identity))
        outcome, other_outcome = (row["outcome"] if row else "" for row in pair)
        if outcome != other_outcome and {outcome, other_outcome} & {"FAIL", "WARN", "ERROR"}:
            findings = [finding for row in reversed(pair) if row for finding in row["findings"]]
            seen = f"expected {findings[0]['expected']}, got {findings[0]['got']}" if findings else ""
            differing.append((identity, outcome, other_outcome, seen))
    return differing


def to_json(results: dict[str, Any]) -> Iterator[str]:
    """Yield the content of the file in pieces: one for each exchange, and the rest."""
    encode = json.JSONEncoder(indent=1, ensure_ascii=False).encode
    # No other field has these characters: in a string the line end and the quotes would be escaped.
    before, between, after = encode({**results, "exchanges": []}).partition('\n "exchanges": []')
    yield f"{before}{between[:-1]}"
    separator = "\n  "
    for exchange in results["exchanges"]:
        yield separator + encode(exchange).replace("\n", "\n  ")
        separator = ",\n  "
    yield f"{chr(10) + ' ' if len(results['exchanges']) else ''}]{after}\n"


def load_schema() -> dict[str, Any]:
    """Return the JSON Schema of results.json."""
    content: dict[str, Any] = json.loads(files("conformance").joinpath("results.schema.json").read_text("utf-8"))
    return content
