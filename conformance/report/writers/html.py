"""Write the results as one self-contained HTML file in which nothing that a server sent can act.

A content security policy forbids all scripts, images and connections. All text is escaped and neutralized. Sections
fold with `details`, which needs no script.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import TYPE_CHECKING, Any, Final

from conformance.report.results import compare_dialects, format_counts, format_source
from conformance.report.writers.capability_groups import group_capabilities
from conformance.report.writers.cause_groups import describe_causes, describe_document, list_problems, other_causes
from conformance.report.writers.evidence import ExchangeIndex, answer_excerpt, neutralize, repeat_commands

if TYPE_CHECKING:
    from conformance.report.writers.cause_groups import CauseGroup

MAX_FINDINGS: Final = 10
LONGEST: Final = 600
LONGEST_ANSWER: Final = 1500
LONGEST_COMMAND: Final = 2000
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
FOLDED: Final = ("OBSERVED", "NOT_EXERCISED", "NOT_APPLICABLE")
STYLE: Final = """
:root{color-scheme:light dark;--line:#8884;--soft:#8881}
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .5rem}
code,pre{font:13px/1.45 ui-monospace,monospace}
pre{background:var(--soft);padding:.6rem;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0}
details{border:1px solid var(--line);border-radius:6px;margin:.4rem 0;padding:.4rem .7rem}
summary{cursor:pointer;overflow-wrap:anywhere;padding-left:10.75rem;text-indent:-10.75rem}summary *{text-indent:0}
table{border-collapse:collapse;width:100%}td,th{text-align:left;border-bottom:1px solid var(--line);padding:.2rem .6rem .2rem 0;overflow-wrap:anywhere}th{white-space:nowrap}.wide{overflow-x:auto}.wide td:last-child{min-width:14rem}
details th:first-child{width:5rem}details th:nth-child(2){width:18rem}details th:last-child{width:20rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:0 1rem}dd{margin:0;overflow-wrap:anywhere}
.w{display:inline-block;min-width:9.5rem;font-weight:600}
.FAIL,.ERROR,.UNTESTABLE,.nonconformant{color:#c62828}.WARN,.inconclusive{color:#a15c00}.PASS,.conformant{color:#2e7d32}
.WAIVED,.OBSERVED{color:#1565c0}.NOT_EXERCISED,.NOT_APPLICABLE{opacity:.6}
@media(prefers-color-scheme:dark){.FAIL,.ERROR,.UNTESTABLE,.nonconformant{color:#ff8a80}.WARN,.inconclusive{color:#ffcc80}.PASS,.conformant{color:#a5d6a7}.WAIVED,.OBSERVED{color:#90caf9}}
"""  # noqa: E501 - style sheets have long lines


def write(results: dict[str, Any]) -> str:
    """Return the page: verdict, facts, causes with their evidence and consequences, then all rows by outcome.

    The groups of outcomes that need no action are folded.
    """
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    order = list(MEANINGS)
    rows = sorted(results["requirements"], key=lambda row: (not row["fails"], order.index(row["outcome"])))
    commands, exchanges = repeat_commands(results), ExchangeIndex(results["exchanges"])
    target = results["target"]
    none = "None." if results["requirements"] else "Nothing was judged."
    findings = "".join(_cause(group, commands, exchanges) for group in list_problems(results)) or f"<p>{none}</p>"
    return "\n".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{_text(target['dialect'])}: {results['verdict']}</title><style>{STYLE}</style></head><body>",
            f'<h1>chatproof: <span class="{results["verdict"]}">{results["verdict"]}</span></h1>',
            _facts(results),
            f"<h2>Findings</h2>{findings}",
            *(_other_dialect(results, other) for other in results.get("also", ())),
            f"<h2>All requirements</h2>{''.join(_group(name, rows) for name in MEANINGS)}" if rows else "",
            "</body></html>\n",
        )
    )


def _facts(results: dict[str, Any]) -> str:
    target, run = results["target"], results["run"]
    facts = [
        ("server", target["url"]),
        ("dialect", f"{target['dialect']} ({target['document']['id']})"),
        ("model", target["model"]),
        *(("failures", line) for line in (describe_causes(results),) if line),
        *(("ended early", reason) for reason in (run["exhausted"],) if reason),
        ("result", format_counts(results)),
        *(("document", line) for line in describe_document(results)),
        ("run", f"{run['started_at']}, {run['requests']} requests in {run['duration_s']:.1f} s, "
                f"chatproof {results['tool']['version']}"),
    ]  # fmt: skip
    facts += [(label, f"{', '.join(names)} ({origin})") for label, names, origin in group_capabilities(target)]
    if run["retries"]:
        facts.append(
            ("retries", f"{run['retries']} requests were sent again, after {run['waited_s']:.1f} s of waiting")
        )
    if not target["tls_verified"]:
        facts.append(("TLS", "the server's certificate was not verified"))
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{_text(value)}</dd>' for name, value in facts)}</dl>"


def _cause(group: CauseGroup, commands: dict[str, str], exchanges: ExchangeIndex) -> str:
    """Return a cause with its evidence, and below it its consequences with theirs."""
    nested = "".join(_row(row, commands, exchanges) for row in group.consequences)
    below = f"<p>{group.title}:</p>{nested}" if nested else ""
    return _row(group.row, commands, exchanges, f" ({group.title})" if nested else "", below)


def _row(
    row: dict[str, Any], commands: dict[str, str], exchanges: ExchangeIndex, suffix: str = "", below: str = ""
) -> str:
    evidence = "".join(
        f"<p><code>{_text(finding['exchange'])} {_text(finding['where'])}</code>"
        f"<br>expected {_text(finding['expected'])}<br>got {_text(finding['got'])}</p>"
        for finding in row["findings"][:MAX_FINDINGS]
    )
    more = len(row["findings"]) - MAX_FINDINGS
    evidence += f"<p>and {more} more</p>" if more > 0 else ""
    first = row["findings"][0]["exchange"] if row["findings"] else None
    if first in commands:
        command = escape(neutralize(commands[first], LONGEST_COMMAND))
        evidence += f"<pre>{command}</pre><pre>{escape(answer_excerpt(exchanges[first], LONGEST_ANSWER))}</pre>"
    note = "".join(f"<p>{_text(line)}</p>" for line in (row["note"], other_causes(row)) if line)
    is_open = " open" if row["outcome"] == "ERROR" else ""
    return (
        f'<details{is_open}><summary><span class="w {row["outcome"]}">{row["outcome"]}</span> {row["keyword"]} '
        f"<code>{_text(row['id'])}</code> {_text(row['summary'])}{suffix}</summary>"
        f"<p>source <code>{_text(format_source(row))}</code></p>{note}{evidence}{below}</details>"
    )


def _other_dialect(results: dict[str, Any], other: dict[str, Any]) -> str:
    name = _text(other["target"]["dialect"])
    rows = "".join(
        f"<tr><td><code>{_text(identity)}</code></td><td>{_text(outcome) or 'not required'}</td>"
        f"<td>{_text(other_outcome) or 'not required'}</td><td>{_text(seen)}</td></tr>"
        for identity, outcome, other_outcome, seen in compare_dialects(results, other)
    )
    head = f"<tr><th>requirement</th><th>{_text(results['target']['dialect'])}</th><th>{name}</th><th>finding</th></tr>"
    return f"<h2>Also judged by {name}: {other['verdict']}</h2><div class='wide'><table>{head}{rows}</table></div>"


def _group(outcome: str, rows: list[dict[str, Any]]) -> str:
    """Return the table of the rows with one outcome, or an empty string without such rows."""
    group = [row for row in rows if row["outcome"] == outcome]
    if not group:
        return ""
    has_notes = any(row["note"] for row in group)
    heads = ("keyword", "requirement", *(("note",) if has_notes else ()), "source")
    table = "".join(
        f"<tr><td>{row['keyword']}</td><td><code>{_text(row['id'])}</code></td>"
        + (f"<td>{_text(row['note'])}</td>" if has_notes else "")
        + f"<td><code>{_text(row['source'])}</code></td></tr>"
        for row in group
    )
    return (
        f'<details{"" if outcome in FOLDED else " open"}><summary><span class="w {outcome}">{outcome}</span> '
        f"{len(group)}: {MEANINGS[outcome]}</summary>"
        f"<table><tr>{''.join(f'<th>{name}</th>' for name in heads)}</tr>{table}</table></details>"
    )


def _text(value: Any) -> str:
    return escape(neutralize(str(value), LONGEST))
