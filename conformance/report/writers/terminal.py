"""Print the progress of a run and its verdict in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from rich.console import Group
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from conformance.report.results import compare_dialects, format_counts, format_source
from conformance.report.writers.capability_groups import group_capabilities
from conformance.report.writers.cause_groups import (
    describe_causes,
    describe_consequence,
    describe_document,
    list_problems,
    other_causes,
)
from conformance.report.writers.evidence import LONGEST_COMMAND, neutralize, repeat_commands

if TYPE_CHECKING:
    from rich.console import Console

    from conformance.report.writers.cause_groups import CauseGroup

STYLES = {
    "PASS": "green",
    "FAIL": "bold red",
    "WARN": "yellow",
    "OBSERVED": "cyan",
    "UNTESTABLE": "magenta",
    "NOT_EXERCISED": "dim",
    "NOT_APPLICABLE": "dim",
    "WAIVED": "blue",
    "ERROR": "bold white on red",
}
UNJUDGED = ("NOT_EXERCISED", "NOT_APPLICABLE")
VERDICTS = {"conformant": "bold green", "nonconformant": "bold red", "inconclusive": "bold yellow"}
INDENT = " " * 11  # the width of an outcome, and a space
MOST_CONSEQUENCES = 8  # of one cause that are listed; a server that does not answer has hundreds
MAX_FINDINGS = 3
LONGEST = 240
LONGEST_IN_TABLE = 100
LONGEST_NAME = 40


def plan_line(dialect: str, url: str, model: str, *, requirements: int, usual: str, requests: int, tokens: int) -> Text:
    """Return the line that is printed before a run starts: what it judges, its usual and its maximum cost."""
    return Text(
        f"{dialect} at {sanitize(url)}, model {sanitize(model)}: "
        f"{requirements} requirement{'s' * (requirements != 1)}, {usual}; "
        f"at most {requests} requests and {tokens} completion tokens"
    )


class ProgressBar:
    """A progress bar for a running plan. It prints nothing if the output is not a terminal."""

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

    def update(self, completed: int, scenario: str) -> None:
        """Show the number of steps that are done, and the scenario of the last one."""
        self._bar.update(self._task, completed=completed, last=escape(scenario[:LONGEST_NAME]))


def write(results: dict[str, Any], console: Console) -> None:
    """Print each cause of failures and warnings with its evidence and consequences, the counts, and the verdict."""
    rows = results["requirements"]
    commands = repeat_commands(results)
    is_terminal = console.is_terminal
    for group in list_problems(results):
        console.print(_group(group, commands), soft_wrap=not is_terminal)  # do not break lines in log files
    console.print(_topics(rows))
    for other in results.get("also", ()):
        console.print(_other_dialect(results, other))
    if "clients" in results:
        console.print(_clients(results["clients"]))
    verdict = _verdict(results)
    console.print(Panel(verdict, expand=False) if is_terminal else verdict, soft_wrap=not is_terminal)


def _group(group: CauseGroup, commands: dict[str, str]) -> Group:
    """Return the cause with its evidence, and its first consequences with one finding each."""
    lines = _row(group.row, commands)
    if group.consequences:
        lines.append(Text(f"{INDENT}{group.title}:"))
    for row in group.consequences[:MOST_CONSEQUENCES]:
        head = Text.assemble(f"{INDENT}  ", (row["outcome"], STYLES[row["outcome"]]), f" {row['keyword']} ")
        head.append(sanitize(row["id"]))
        lines += [head, Text(f"{INDENT}    {sanitize(describe_consequence(row))}", "dim")]
        if others := other_causes(row):
            lines.append(Text(f"{INDENT}    {sanitize(others)}", "dim"))
    if (more := len(group.consequences) - MOST_CONSEQUENCES) > 0:
        lines.append(Text(f"{INDENT}  and {more} more, which the other reports list", "dim"))
    return Group(*lines, "")


def _row(row: dict[str, Any], commands: dict[str, str]) -> list[Text]:
    head = Text.assemble(
        (f"{row['outcome']:<10}", STYLES[row["outcome"]]), (f" {row['keyword']} ", "bold"), sanitize(row["id"])
    )
    lines = [
        head,
        Text(f"{INDENT}{sanitize(row['summary'])}"),
        Text(f"{INDENT}source {sanitize(format_source(row))}", "dim"),
    ]
    if row["note"]:
        lines.append(Text(f"{INDENT}{sanitize(row['note'])}"))
    for finding in row["findings"][:MAX_FINDINGS]:
        lines.append(Text(f"{INDENT}{sanitize(finding['exchange'])} {sanitize(finding['where'])}"))
        lines.append(Text(f"{INDENT}  expected {sanitize(finding['expected'])}", "green"))
        lines.append(Text(f"{INDENT}  got      {sanitize(finding['got'])}", "red"))
    more = len(row["findings"]) - MAX_FINDINGS
    if more > 0:
        lines.append(Text(f"{INDENT}and {more} more findings", "dim"))
    first = row["findings"][0]["exchange"] if row["findings"] else None
    if first in commands:
        lines.append(Text(f"{INDENT}{sanitize(commands[first], LONGEST_COMMAND)}", "dim"))
    return lines


def _topics(rows: list[dict[str, Any]]) -> Table:
    """Return a table with the number of requirements by topic and outcome."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    outcomes = [name for name in STYLES if any(row["outcome"] == name for row in rows)]
    table.add_column("topic")
    for name in outcomes:
        table.add_column(name.lower().replace("_", " "), justify="right")
    topics: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        topics.setdefault(row["check"].partition(".")[0], []).append(row)
    for topic, group in topics.items():
        counts = [sum(row["outcome"] == name for row in group) for name in outcomes]
        cells = [
            Text(str(count), STYLES[name]) if count else Text("") for name, count in zip(outcomes, counts, strict=True)
        ]
        table.add_row(topic, *cells)
    return table


def _other_dialect(results: dict[str, Any], other: dict[str, Any]) -> Table:
    """Return a table of the requirements whose outcomes differ between two dialects."""
    table = Table(
        title=f"\nalso judged by {other['target']['dialect']}: {other['verdict']}, {other['requests']} more requests",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        header_style="dim",
    )
    for name in ("requirement", results["target"]["dialect"], other["target"]["dialect"], "finding"):
        table.add_column(name, overflow="fold")
    for identity, outcome, other_outcome, seen in compare_dialects(results, other):
        cells = [Text(name.lower() or "not required", STYLES.get(name, "dim")) for name in (outcome, other_outcome)]
        table.add_row(Text(sanitize(identity)), *cells, Text(sanitize(seen, LONGEST_IN_TABLE)))
    return table


def _clients(clients: list[dict[str, Any]]) -> Table:
    """Return a table of the client libraries and the answers that they could not read."""
    title = "\nclient libraries that read the recorded answers"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in ("client", "answers", "unreadable", "first"):
        table.add_column(name, overflow="fold")
    for client in clients:
        if client["version"] is None:
            table.add_row(client["client"], Text("not installed", "dim"), "", "")
            continue
        first = client["broken"][0] if client["broken"] else None
        problem = sanitize(f"{first['exchange']}: {first['how']}") if first else ""
        count = Text(str(len(client["broken"])), "red" if first else "green")
        name = f"{client['client']} {sanitize(client['version'])}"
        table.add_row(name, str(client["answers"]), count, Text(problem))
    return table


def _verdict(results: dict[str, Any]) -> Group:
    target, run = results["target"], results["run"]
    lines = [
        Text(results["verdict"], VERDICTS[results["verdict"]]),
        Text(f"{sanitize(target['url'])} as {target['dialect']}, model {sanitize(target['model'])}"),
        *(Text(line, "bold") for line in (describe_causes(results),) if line),
        Text(f"{format_counts(results)}; {run['requests']} requests in {run['duration_s']:.1f} s", "dim"),
        *(Text(sanitize(line, LONGEST_COMMAND), "dim") for line in describe_document(results)),
        *(Text(line, "dim") for line in _capabilities(target)),
    ]
    if all(row["outcome"] in UNJUDGED for row in results["requirements"]):
        lines.append(Text("nothing was judged: the run exercised none of the requirements; select more", "yellow"))
    if run["retries"]:
        lines.append(
            Text(f"{run['retries']} requests were sent again, after {run['waited_s']:.1f} s of waiting", "yellow")
        )
    if run["exhausted"]:
        lines.append(Text(f"ended early: {run['exhausted']}", "yellow"))
    if not target["tls_verified"]:
        lines.append(Text("the server's certificate was not verified (--insecure)", "yellow"))
    return Group(*lines)


def _capabilities(target: dict[str, Any]) -> list[str]:
    """Return one line for each status and origin of the server's capabilities."""
    groups = group_capabilities(target)
    return [f"{label} {', '.join(names)} ({origin})" for label, names, origin in groups] or ["no capabilities"]


def sanitize(text: str, longest: int = LONGEST) -> str:
    """Return the text on one line, without characters that move the cursor or control the terminal."""
    return neutralize(text.replace("\n", " "), longest)
