"""HTML: one file that needs nothing else, and in which nothing that a server said can act.

A content security policy forbids every script, image and connection; all text is escaped and without characters that
act or hide. What can be opened is opened by `details`, which needs no script.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import Any, Final

from conformance.report.results import counted, differences
from conformance.report.writers.capabilities import told
from conformance.report.writers.evidence import answer, commands, inert

MOST_FINDINGS: Final = 10
LONGEST: Final = 600
LONGEST_ANSWER: Final = 1500
MEANINGS: Final = {
    "FAIL": "broken",
    "ERROR": "not judged, by a defect of chatproof",
    "UNTESTABLE": "could not be observed",
    "WARN": "broken, though it should hold",
    "WAIVED": "broken, and somebody answers for it",
    "PASS": "held",
    "OBSERVED": "may be so or otherwise: what was seen",
    "NO_OCCASION": "nothing came that the rule speaks of",
    "NOT_APPLICABLE": "not declared by the server",
}
"""The outcomes in the order in which they are told."""
FOLDED: Final = ("OBSERVED", "NO_OCCASION", "NOT_APPLICABLE")
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
.WAIVED,.OBSERVED{color:#1565c0}.NO_OCCASION,.NOT_APPLICABLE{opacity:.6}
@media(prefers-color-scheme:dark){.FAIL,.ERROR,.UNTESTABLE,.nonconformant{color:#ff8a80}.WARN,.inconclusive{color:#ffcc80}.PASS,.conformant{color:#a5d6a7}.WAIVED,.OBSERVED{color:#90caf9}}
"""  # noqa: E501 - style sheets have long lines


def write(results: dict[str, Any]) -> str:
    """The results as a page: verdict, facts, every row that is not simply fine with its evidence, then all rows by
    outcome, those folded that nobody has to act on.
    """
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    order = list(MEANINGS)
    rows = sorted(results["requirements"], key=lambda row: (not row["fails"], order.index(row["outcome"])))
    loud = [row for row in rows if row["fails"] or row["outcome"] in ("FAIL", "ERROR", "WARN", "WAIVED")]
    known, exchanges = commands(results), {exchange["id"]: exchange for exchange in results["exchanges"]}
    target = results["target"]
    return "\n".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{_text(target['dialect'])}: {results['verdict']}</title><style>{STYLE}</style></head><body>",
            f'<h1>chatproof: <span class="{results["verdict"]}">{results["verdict"]}</span></h1>',
            _facts(results),
            f"<h2>What was found</h2>{''.join(_row(row, known, exchanges) for row in loud) or '<p>Nothing.</p>'}",
            *(_other(results, each) for each in results.get("also", ())),
            f"<h2>All requirements</h2>{''.join(_group(name, rows) for name in MEANINGS)}",
            "</body></html>\n",
        )
    )


def _facts(results: dict[str, Any]) -> str:
    target, run = results["target"], results["run"]
    facts = [
        ("server", target["url"]),
        ("judged by", f"{target['dialect']} ({target['document']['id']})"),
        ("model", target["model"]),
        ("result", counted(results)),
        ("run", f"{run['started_at']}, {run['requests']} requests in {run['duration_s']:.1f} s, "
                f"chatproof {results['tool']['version']}"),
    ]  # fmt: skip
    facts += [(label, f"{', '.join(names)} ({origin})") for label, names, origin in told(target)]
    if run["retries"]:
        facts.append(("sent again", f"{run['retries']} requests, after waiting {run['waited_s']:.1f} s"))
    if not target["tls_verified"]:
        facts.append(("TLS", "the server's certificate was not verified"))
    if run["exhausted"]:
        facts.append(("ended early", run["exhausted"]))
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{_text(value)}</dd>' for name, value in facts)}</dl>"


def _row(row: dict[str, Any], known: dict[str, str], exchanges: dict[str, Any]) -> str:
    found = "".join(
        f"<p><code>{_text(finding['exchange'])} {_text(finding['where'])}</code><br>expected {_text(finding['expected'])}"
        f"<br>got {_text(finding['got'])}</p>"
        for finding in row["findings"][:MOST_FINDINGS]
    )
    more = len(row["findings"]) - MOST_FINDINGS
    found += f"<p>and {more} more</p>" if more > 0 else ""
    first = row["findings"][0]["exchange"] if row["findings"] else None
    if first in exchanges:
        shown = escape(answer(exchanges[first], LONGEST_ANSWER))
        found += f"<pre>{escape(inert(known[first], 2000))}</pre><pre>{shown}</pre>"
    note = f"<p>{_text(row['note'])}</p>" if row["note"] else ""
    opened = " open" if row["outcome"] == "ERROR" else ""
    return (
        f'<details{opened}><summary><span class="w {row["outcome"]}">{row["outcome"]}</span> {row["keyword"]} '
        f"<code>{_text(row['id'])}</code> {_text(row['summary'])}</summary>"
        f"<p>source <code>{_text(row['source'])}</code></p>{note}{found}</details>"
    )


def _other(results: dict[str, Any], other: dict[str, Any]) -> str:
    name = _text(other["target"]["dialect"])
    rows = "".join(
        f"<tr><td><code>{_text(identity)}</code></td><td>{_text(one) or 'not asked for'}</td>"
        f"<td>{_text(two) or 'not asked for'}</td><td>{_text(seen)}</td></tr>"
        for identity, one, two, seen in differences(results, other)
    )
    head = f"<tr><th>requirement</th><th>{_text(results['target']['dialect'])}</th><th>{name}</th><th>seen</th></tr>"
    return f"<h2>Also by {name}: {other['verdict']}</h2><div class='wide'><table>{head}{rows}</table></div>"


def _group(outcome: str, rows: list[dict[str, Any]]) -> str:
    """The rows of one outcome; nothing where there are none."""
    members = [row for row in rows if row["outcome"] == outcome]
    if not members:
        return ""
    noted = any(row["note"] for row in members)
    heads = ("keyword", "requirement", *(("note",) if noted else ()), "source")
    table = "".join(
        f"<tr><td>{row['keyword']}</td><td><code>{_text(row['id'])}</code></td>"
        + (f"<td>{_text(row['note'])}</td>" if noted else "")
        + f"<td><code>{_text(row['source'])}</code></td></tr>"
        for row in members
    )
    return (
        f'<details{"" if outcome in FOLDED else " open"}><summary><span class="w {outcome}">{outcome}</span> '
        f"{len(members)}: {MEANINGS[outcome]}</summary>"
        f"<table><tr>{''.join(f'<th>{name}</th>' for name in heads)}</tr>{table}</table></details>"
    )


def _text(value: Any) -> str:
    return escape(inert(str(value), LONGEST))
