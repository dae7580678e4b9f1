"""Print the results of a run in the terminal: causes first, then the counts and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from conformance.report.results import compare_dialects, format_counts, format_source
from conformance.report.writers.capability_groups import group_capabilities
from conformance.report.writers.cause_groups import (
    MOST_CAUSES,
    describe_causes,
    describe_consequence,
    describe_document,
    describe_requests,
    describe_retries,
    describe_unjudged,
    list_problems,
    other_causes,
)
from conformance.report.writers.evidence import LONGEST_COMMAND, RESULTS_FILE, Reproduction
from conformance.report.writers.terminal_text import INDENT, LABEL, STYLES, VERDICTS, labelled_lines, sanitize
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from conformance.report.writers.cause_groups import CauseGroup
    from conformance.report.writers.evidence import ReproductionCommands

MOST_CONSEQUENCES = 8  # of one cause that are listed; a server that does not answer has hundreds
LONGEST_IN_TABLE = 100


def plan_lines(
    dialect: str, url: str, model: str, *, requirements: int, usual: str, requests: int, tokens: int
) -> Text:
    """Return the lines that are printed before a run starts: what it judges, its usual and its maximum cost."""
    return Text(
        f"{dialect} at {sanitize(url)}, model {sanitize(model)}\n"
        f"{format_quantity(requirements, 'requirement')}, {usual}\n"
        f"at most {format_quantity(requests, 'request')} and {format_quantity(tokens, 'completion token')}"
    )


def write(results: dict[str, Any], console: Console, file: str = RESULTS_FILE) -> None:
    """Print the causes of failures and warnings, the counts, and the verdict.

    The first causes have their evidence, command and consequences; each further one is one line.

    file: the results file that the commands name. A command is never wrapped, so that it can be copied; other lines
    are wrapped in a terminal, and not in log files.
    """
    rows, reproduction = results["requirements"], Reproduction(results, file)
    is_terminal = console.is_terminal
    problems = list_problems(results)
    for group in problems[:MOST_CAUSES]:
        for line in _group(group, reproduction, console):
            console.print(line, soft_wrap=True)
    for line in _further_causes(problems[MOST_CAUSES:], reproduction.recorded, console):
        console.print(line, soft_wrap=True)
    console.print(_topics(rows))
    for other in results.get("also", ()):
        console.print(_other_dialect(results, other))
    if "clients" in results:
        console.print(_clients(results["clients"]))
    verdict = _verdict(results, reproduction.recorded)
    console.print(Panel(verdict, expand=False) if is_terminal else verdict, soft_wrap=not is_terminal)


def _group(group: CauseGroup, reproduction: Reproduction, console: Console) -> Iterator[Text]:
    """Yield the lines of a cause with its evidence, and one line for each of its first consequences."""
    yield from _row(group.row, reproduction, console)
    if group.consequences:
        yield Text(f"{INDENT}{group.title}:")
    for row in group.consequences[:MOST_CONSEQUENCES]:
        detail = "; ".join(filter(None, (describe_consequence(row), other_causes(row))))
        yield _one_line(row, detail, f"{INDENT}  ", console)
    if (more := len(group.consequences) - MOST_CONSEQUENCES) > 0:
        yield Text(f"{INDENT}  and {more} more, which the other reports list", "dim")
    yield Text("")


def _further_causes(groups: Sequence[CauseGroup], recorded: ReproductionCommands, console: Console) -> Iterator[Text]:
    """Yield one line for each cause, and the commands that show more of them."""
    if not groups:
        return
    yield Text(f"{format_quantity(len(groups), 'further cause')}:")
    for group in groups:
        yield _one_line(group.row, group.row["summary"], "  ", console)
    page = recorded.judge_command("--report html=page.html")
    one = recorded.replay_command(groups[0].row["id"])
    yield Text("all of them with their evidence:", "dim")
    yield Text(f"{INDENT}{sanitize(page)}", "cyan")
    yield Text("one of them, sent again:", "dim")
    yield Text(f"{INDENT}{sanitize(one)}", "cyan")
    yield Text("")


def _one_line(row: dict[str, Any], detail: str, indent: str, console: Console) -> Text:
    """Return a requirement and a detail on one line; in a terminal, cut to its width."""
    line = Text.assemble(indent, (row["outcome"], STYLES[row["outcome"]]), f" {row['keyword']} ")
    line.append(sanitize(row["id"]))
    line.append(f": {sanitize(detail)}", "dim")
    if console.is_terminal:
        line.truncate(console.width, overflow="ellipsis")
    return line


def _row(row: dict[str, Any], reproduction: Reproduction, console: Console) -> Iterator[Text]:
    """Yield the outcome and the claim of a requirement, its first finding, and the command that reproduces it."""
    yield Text.assemble(
        (f"{row['outcome']:<5}", STYLES[row["outcome"]]), (f" {row['keyword']} ", "bold"), sanitize(row["id"])
    )
    yield from labelled_lines("", sanitize(row["summary"]), "", console)
    if row["note"]:
        yield from labelled_lines("note", sanitize(row["note"]), "", console)
    first = reproduction.first_finding(row)
    if first is not None:
        more = len(row["findings"]) - 1
        yield from labelled_lines("expected", sanitize(first["expected"]), "green", console)
        yield from labelled_lines("got", sanitize(first["got"]), "red", console)
        others = f", and {format_quantity(more, 'more finding')}" if more else ""
        yield from labelled_lines(
            "at", f"{sanitize(first['exchange'])} {sanitize(first['where'])}{others}", "dim", console
        )
    yield from labelled_lines("source", sanitize(format_source(row)), "dim", console)
    if command := reproduction.command(row):
        yield Text.assemble(f"{INDENT}{'try':<{LABEL}}", (sanitize(command, LONGEST_COMMAND), "cyan"))
    for name, line in reproduction.steps(row):
        yield Text.assemble(f"{INDENT}{'':<{LABEL}}", (f"# {sanitize(name)}", "dim"))
        yield Text.assemble(f"{INDENT}{'':<{LABEL}}", (sanitize(line, LONGEST_COMMAND), "cyan"))


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
        title=f"\nalso judged by {other['target']['dialect']}: {other['verdict']}, "
        f"{format_quantity(other['requests'], 'more request')}",
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


def _verdict(results: dict[str, Any], recorded: ReproductionCommands) -> Group:
    target, run = results["target"], results["run"]
    lines = [
        Text(results["verdict"], VERDICTS[results["verdict"]]),
        Text(f"{sanitize(target['url'])} as {target['dialect']}, model {sanitize(target['model'])}"),
        *(Text(line, "bold") for line in (describe_causes(results),) if line),
        Text(f"{format_counts(results)}; {describe_requests(run)}", "dim"),
        *(Text(sanitize(line, LONGEST_COMMAND), "dim") for line in describe_document(results)),
        *(Text(line, "dim") for line in _capabilities(target)),
    ]
    if unjudged := describe_unjudged(run):
        lines.append(Text(sanitize(unjudged, LONGEST_COMMAND), "yellow"))
    if run["retries"]:
        lines.append(Text(describe_retries(run), "yellow"))
    if run["exhausted"]:
        lines.append(Text(f"ended early: {sanitize(run['exhausted'], LONGEST_COMMAND)}", "yellow"))
    if failing := next((group.row for group in list_problems(results) if group.fails), None):
        command = sanitize(recorded.explain_command(failing["id"]), LONGEST_COMMAND)
        lines.append(Text(f"`{command}` says why it matters and how to fix it", "dim"))
    if not target["tls_verified"]:
        lines.append(Text("the server's certificate was not verified (--insecure)", "yellow"))
    return Group(*lines)


def _capabilities(target: dict[str, Any]) -> list[str]:
    """Return one line for each status and origin of the server's capabilities."""
    groups = group_capabilities(target)
    return [f"{label} {', '.join(names)} ({origin})" for label, names, origin in groups] or ["no capabilities"]
