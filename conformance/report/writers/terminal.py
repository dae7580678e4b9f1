"""The terminal: live progress while requests are under way, and the verdict after it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Self

from rich.console import Group
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from conformance.report.results import counted, differences
from conformance.report.writers.capabilities import told
from conformance.report.writers.evidence import LONGEST_COMMAND, commands

if TYPE_CHECKING:
    from rich.console import Console

    from conformance.run.run import Record
    from conformance.run.session import Prepared

STYLES = {
    "PASS": "green",
    "FAIL": "bold red",
    "WARN": "yellow",
    "OBSERVED": "cyan",
    "UNTESTABLE": "magenta",
    "NO_OCCASION": "dim",
    "NOT_APPLICABLE": "dim",
    "WAIVED": "blue",
    "ERROR": "bold white on red",
}
UNSEEN = ("NO_OCCASION", "NOT_APPLICABLE")
VERDICTS = {"conformant": "bold green", "nonconformant": "bold red", "inconclusive": "bold yellow"}
# Control characters, line and paragraph ends, marks that turn the direction of writing, halves of surrogate pairs.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
MOST_FINDINGS = 3
SEEN = 100  # characters of a finding in a table
LONGEST = 240


def ceiling(prepared: Prepared) -> Text:
    """One line, printed before anything is sent: what will be judged and what it can cost."""
    plan = prepared.plan
    wanted = len({assertion.requirement.id for assertion in plan.assertions})
    return Text(
        f"{prepared.contract.name} at {safe(prepared.target.chat_url)}, model {safe(prepared.model)}: "
        f"{wanted} requirement{'s' * (wanted != 1)}, "
        f"at most {prepared.requests} requests and {plan.tokens} completion tokens"
    )


class Live:
    """A progress bar while a plan is sent; silent where there is no terminal."""

    def __init__(self, console: Console, total: int) -> None:
        self._bar = Progress(
            TextColumn("judging"),
            BarColumn(bar_width=40),
            MofNCompleteColumn(),
            TextColumn("[dim]{task.fields[last]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=total, last="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, record: Record) -> None:
        """Brings the bar up to date."""
        last = next(reversed(record.exchanges), ("", ""))[0]
        self._bar.update(self._task, completed=len(record.exchanges) + len(record.missing), last=escape(last[:40]))


def write(results: dict[str, Any], console: Console) -> None:
    """Prints what failed and warned with its evidence, the counts per topic, and the verdict last."""
    rows = results["requirements"]
    early = results["run"]["exhausted"] is not None  # then most rows are untestable, and one line says why
    known = commands(results)
    for row in rows:
        if row["outcome"] in ("FAIL", "ERROR", "WARN", "WAIVED") or (row["fails"] and not early):
            console.print(_row(row, known), soft_wrap=not console.is_terminal)  # logs keep one line a line
    console.print(_topics(rows))
    for other in results.get("also", ()):
        console.print(_columns(results, other))
    if "clients" in results:
        console.print(_clients(results["clients"]))
    verdict = _verdict(results)
    console.print(Panel(verdict, expand=False) if console.is_terminal else verdict, soft_wrap=not console.is_terminal)


def _row(row: dict[str, Any], known: dict[str, str]) -> Group:
    head = Text.assemble(
        (f"{row['outcome']:<10}", STYLES[row["outcome"]]), (f" {row['keyword']} ", "bold"), safe(row["id"])
    )
    lines = [
        head,
        Text(f"           {safe(row['summary'])}"),
        Text(f"           source {safe(row['source'])}", "dim"),
    ]
    if row["note"]:
        lines.append(Text(f"           {safe(row['note'])}"))
    for found in row["findings"][:MOST_FINDINGS]:
        lines.append(Text(f"           {safe(found['exchange'])} {safe(found['where'])}"))
        lines.append(Text(f"             expected {safe(found['expected'])}", "green"))
        lines.append(Text(f"             got      {safe(found['got'])}", "red"))
    more = len(row["findings"]) - MOST_FINDINGS
    if more > 0:
        lines.append(Text(f"           and {more} more findings", "dim"))
    first = row["findings"][0]["exchange"] if row["findings"] else None
    if first in known:
        lines.append(Text(f"           {safe(known[first], LONGEST_COMMAND)}", "dim"))
    return Group(*lines, "")


def _topics(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    shown = [name for name in STYLES if any(row["outcome"] == name for row in rows)]
    table.add_column("topic")
    for name in shown:
        table.add_column(name.lower().replace("_", " "), justify="right")
    topics: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        topics.setdefault(row["check"].partition(".")[0], []).append(row)
    for topic, members in topics.items():
        counts = [sum(row["outcome"] == name for row in members) for name in shown]
        cells = [
            Text(str(count), STYLES[name]) if count else Text("") for name, count in zip(shown, counts, strict=True)
        ]
        table.add_row(topic, *cells)
    return table


def _columns(results: dict[str, Any], other: dict[str, Any]) -> Table:
    """The requirements on which two dialects come to different words, in two columns."""
    table = Table(
        title=f"\nalso by {other['target']['dialect']}: {other['verdict']}, {other['requests']} more requests",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        header_style="dim",
    )
    for name in ("requirement", results["target"]["dialect"], other["target"]["dialect"], "seen"):
        table.add_column(name, overflow="fold")
    for identity, one, two, seen in differences(results, other):
        cells = [Text(word.lower() or "not asked for", STYLES.get(word, "dim")) for word in (one, two)]
        table.add_row(Text(safe(identity)), *cells, Text(safe(seen, SEEN)))
    return table


def _clients(clients: list[dict[str, Any]]) -> Table:
    """Whom the answers break."""
    table = Table(title="\nclients that were played the answers", title_justify="left", box=None, pad_edge=False)
    for name in ("client", "answers", "broken", "first"):
        table.add_column(name, overflow="fold")
    for client in clients:
        if client["version"] is None:
            table.add_row(client["client"], Text("not installed", "dim"), "", "")
            continue
        first = client["broken"][0] if client["broken"] else None
        seen = safe(f"{first['exchange']}: {first['how']}") if first else ""
        count = Text(str(len(client["broken"])), "red" if first else "green")
        table.add_row(f"{client['client']} {safe(client['version'])}", str(client["answers"]), count, Text(seen))
    return table


def _verdict(results: dict[str, Any]) -> Group:
    target, run = results["target"], results["run"]
    lines = [
        Text(results["verdict"], VERDICTS[results["verdict"]]),
        Text(f"{safe(target['url'])} as {target['dialect']}, model {safe(target['model'])}"),
        Text(f"{counted(results)}; {run['requests']} requests in {run['duration_s']:.1f} s", "dim"),
        *(Text(line, "dim") for line in _capabilities(target)),
    ]
    if all(row["outcome"] in UNSEEN for row in results["requirements"]):
        lines.append(Text("nothing that came gave occasion to judge any of it: ask for more than this", "yellow"))
    if run["retries"]:
        lines.append(Text(f"{run['retries']} requests sent again, after waiting {run['waited_s']:.1f} s", "yellow"))
    if run["exhausted"]:
        lines.append(Text(f"ended early: {run['exhausted']}", "yellow"))
    if not target["tls_verified"]:
        lines.append(Text("the server's certificate was not verified (--insecure)", "yellow"))
    return Group(*lines)


def _capabilities(target: dict[str, Any]) -> list[str]:
    """What the server has, lacks and may have, each with who said so."""
    return [f"{label} {', '.join(names)} ({origin})" for label, names, origin in told(target)] or ["no capabilities"]


def safe(text: str, longest: int = LONGEST) -> str:
    """What a server said, without the bytes that move cursors or write into clipboards."""
    shown = CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\n", " "))
    return shown if len(shown) <= longest else f"{shown[:longest]}..."
