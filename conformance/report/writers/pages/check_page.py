"""Write the results as one self-contained HTML page in which nothing that a server sent can act.

The first screen has the verdict, the causes, and the commands that reproduce them. All text is neutralized and escaped
by Jinja. A content security policy allows the page's own style and script, by their digests, and no connection. Without
script, everything is there except the filters.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from conformance.report.results import compare_dialects, format_counts, format_source
from conformance.report.writers.capability_groups import group_capabilities
from conformance.report.writers.cause_groups import (
    MOST_CAUSES,
    describe_causes,
    describe_document,
    describe_requests,
    describe_retries,
    list_problems,
    other_causes,
)
from conformance.report.writers.evidence import LONGEST_COMMAND, Reproduction, neutralize
from conformance.report.writers.pages.page_exchanges import describe_exchanges, make_id
from conformance.report.writers.pages.page_template import render_page
from openapi.contract.contract import ContractError, load, names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.contract.contract import Contract

MAX_FINDINGS: Final = 10
LONGEST: Final = 600
LONGEST_REASON: Final = 2000
MOST_SENTENCES: Final = 3
MEANINGS: Final = {
    "FAIL": "violated",
    "ERROR": "not judged because of an internal error of chatproof",
    "UNTESTABLE": "could not be observed",
    "WARN": "violated, but only recommended",
    "WAIVED": "violated, and accepted by a waiver",
    "PASS": "satisfied",
    "OBSERVED": "optional behaviour, with what was seen",
    "NOT_EXERCISED": "the condition of the requirement did not occur",
    "NOT_APPLICABLE": "not declared by the server",
}
"""The outcomes in the order in which the page lists them."""
FOLDED: Final = ("PASS", "OBSERVED", "NOT_EXERCISED", "NOT_APPLICABLE")


def write(results: dict[str, Any]) -> str:
    """Return the page."""
    taken: set[str] = set()
    exchange_ids = {item["id"]: make_id("exchange", item["id"], taken) for item in results["exchanges"]}
    rows = {row["key"]: row for row in _rows(results, exchange_ids, taken)}
    shows: dict[str, list[dict[str, str]]] = {}
    for row in rows.values():
        for name in dict.fromkeys(finding["exchange"] for finding in row["findings"]):
            shows.setdefault(name, []).append({part: row[part] for part in ("id", "name", "outcome")})
    present = [name for name in MEANINGS if any(row["outcome"] == name for row in rows.values())]
    causes = list(_causes(results, rows))
    empty = "Nothing that was selected was judged." if rows else "Nothing was judged."
    judged = bool(rows) and not results["run"].get("unjudged")
    ordered = sorted(rows.values(), key=lambda row: (not row["fails"], row["name"]))
    return render_page(
        "report",
        target={name: _plain(results["target"][name]) for name in ("url", "dialect", "model")},
        verdict=results["verdict"],
        headline=_sentence(describe_causes(results) or ("No requirement fails." if judged else empty)),
        ended_early=_plain(results["run"]["exhausted"] or "", LONGEST_REASON),
        unjudged=_plain(results["run"].get("unjudged", ""), LONGEST_REASON),
        counts=_sentence(format_counts(results)) if rows else "",
        causes_title="What is broken" if causes else "Findings",
        causes=causes[:MOST_CAUSES],
        further_causes=causes[MOST_CAUSES:],
        nothing="None." if judged else empty,
        outcomes=present,
        topics=_topics(ordered, present),
        keywords=sorted({row["keyword"] for row in rows.values()}),
        others=[{"name": _plain(other["target"]["dialect"]), "verdict": other["verdict"]} for other in _also(results)],
        differing=list(_differing(results)),
        groups=[
            {
                "outcome": name,
                "meaning": MEANINGS[name],
                "open": name not in FOLDED,
                "rows": [row for row in ordered if row["outcome"] == name],
            }
            for name in present
        ],
        exchanges=list(describe_exchanges(results, exchange_ids, shows)),
        facts=[(name, _plain(value, LONGEST_REASON)) for name, value in _facts(results)],
    )


def _rows(results: dict[str, Any], exchange_ids: Mapping[str, str], taken: set[str]) -> Iterator[dict[str, Any]]:
    """Yield what the page shows of each requirement."""
    contract, reproduction = _load_contract(results), Reproduction(results)
    others = [
        (_plain(other["target"]["dialect"]), {row["id"]: row["outcome"] for row in other["requirements"]})
        for other in _also(results)
    ]
    for row in results["requirements"]:
        identity = make_id("requirement", row["id"], taken)
        command = reproduction.command(row)
        yield {
            "key": row["id"],
            "id": identity,
            "name": _plain(row["id"]),
            "explain": _plain(reproduction.recorded.explain_command(row["id"]), LONGEST_COMMAND),
            "topic": _plain(row["check"].partition(".")[0]),
            "keyword": row["keyword"],
            "outcome": row["outcome"],
            "fails": row["fails"],
            "summary": _plain(row["summary"]),
            "source": _plain(format_source(row)),
            "sentences": _sentences(contract, row),
            "note": _plain(row["note"]),
            "also_explained": _plain(other_causes(row)),
            "command": command and neutralize(command, LONGEST_COMMAND),
            "steps": [(_plain(name), neutralize(line, LONGEST_COMMAND)) for name, line in reproduction.steps(row)],
            "more": max(0, len(row["findings"]) - MAX_FINDINGS),
            "others": [(name, outcomes.get(row["id"], "")) for name, outcomes in others],
            "findings": [
                {
                    "id": make_id("finding", f"{row['id']}-{number}", taken),
                    "exchange": _plain(finding["exchange"]),
                    "exchange_id": exchange_ids.get(finding["exchange"]),
                    **{name: _plain(finding[name]) for name in ("where", "expected", "got")},
                }
                for number, finding in enumerate(reproduction.order(row)[:MAX_FINDINGS], 1)
            ],
        }


def _causes(results: dict[str, Any], rows: Mapping[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for group in list_problems(results):
        consequences = [rows[row["id"]] for row in group.consequences]
        title = group.title if consequences else ""
        yield {"row": rows[group.row["id"]], "consequences": consequences, "title": title}


def _topics(rows: list[dict[str, Any]], outcomes: list[str]) -> list[tuple[str, list[int]]]:
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(row["topic"], Counter())[row["outcome"]] += 1
    return [(topic, [counts[topic][name] for name in outcomes]) for topic in sorted(counts)]


def _also(results: dict[str, Any]) -> list[dict[str, Any]]:
    return list(results.get("also", ()))


def _differing(results: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the requirements whose outcomes differ between dialects, with one outcome for each of them."""
    judged = [results, *_also(results)]
    outcomes = [{row["id"]: row["outcome"] for row in one["requirements"]} for one in judged]
    seen: dict[str, str] = {}
    for other in judged[1:]:
        for identity, _, _, finding in compare_dialects(results, other):
            seen.setdefault(identity, finding)
    for identity, finding in seen.items():
        yield {
            "name": _plain(identity),
            "outcomes": [one.get(identity, "") for one in outcomes],
            "seen": _plain(finding),
        }


def _load_contract(results: dict[str, Any]) -> Contract | None:
    """Return the contract of a built-in dialect, for its sentences; None for another one."""
    name = results["target"]["dialect"]
    try:
        return load(name) if name in names() else None
    except ContractError:
        return None


def _sentences(contract: Contract | None, row: dict[str, Any]) -> list[str]:
    """Return the sentences of the document that a requirement judges."""
    if contract is None:
        return []
    saying = [item for item in contract.sentences if row["check"] in item.home.checks or item.source == row["source"]]
    own = [item for item in saying if item.source == row["source"]] or saying
    return [f"{item.keyword.value}: {item.says} ({item.source})" for item in own[:MOST_SENTENCES]]


def _facts(results: dict[str, Any]) -> Iterator[tuple[str, str]]:
    target, run = results["target"], results["run"]
    contract = _load_contract(results)
    yield "server", target["url"]
    yield "dialect", f"{target['dialect']} ({target['document']['id']})"
    if contract is not None and contract.document.kind == "page":
        document = contract.document
        yield "document", f"{document.vendor} {document.product} {document.version}: {document.title}, {document.page}"
    yield "model", target["model"]
    if run["exhausted"]:
        yield "ended early", run["exhausted"]
    for line in describe_document(results):
        yield "coverage", line
    yield "sent", f"{run['started_at']}, {describe_requests(run)}"
    yield "program", f"chatproof {results['tool']['version']}"
    for label, capabilities, origin in group_capabilities(target):
        yield label, f"{', '.join(capabilities)} ({origin})"
    if run["retries"]:
        yield "retries", describe_retries(run)
    if not target["tls_verified"]:
        yield "TLS", "the server's certificate was not verified"


def _sentence(text: str) -> str:
    return f"{text.removesuffix('.')}."


def _plain(value: Any, longest: int = LONGEST) -> str:
    return neutralize(str(value), longest)
