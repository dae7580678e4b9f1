"""Generate pages of the documentation site: one for each command, dialect and check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from chatproof import main
from chatproof.command_table import COMMANDS, CommandGroup
from conformance.judge.check_registry import gather_checks
from conformance.proof.mutants.mutant import gather_mutants
from conformance.report.explanations import SERVERS, find_explanation
from docs.example_findings import find_example
from openapi.contract.contract import load, names
from openapi.description.reference_page import render_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.check import Check
    from conformance.proof.mutants.mutant import Mutant
    from openapi.contract.contract import Contract

WIDTH: Final = 100


def command_pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page about a command, and of their index."""
    rows = []
    for name, entry in COMMANDS.items():
        children = entry.commands if isinstance(entry, CommandGroup) else {"": entry}
        for child, command in children.items():
            words = f"{name} {child}".strip()
            file = words.replace(" ", "-")
            rows.append(f"| [`chatproof {words}`]({file}.md) | {command.help} |")
            yield file, f"# chatproof {words}\n\n{command.help}\n\n```text\n{_help(name, child)}\n```\n"
    yield "index", "\n".join(["# Commands", "", "| command | task |", "|---|---|", *rows]) + "\n"


def _help(name: str, child: str) -> str:
    """Return what `--help` prints; a note for a command whose extra is not installed."""
    context = click.Context(main, info_name="chatproof", max_content_width=WIDTH, terminal_width=WIDTH)
    group = main.get_command(context, name)
    parent = context
    if child and isinstance(group, click.Group):
        parent = click.Context(group, parent=context, info_name=name)
        command = group.get_command(parent, child)
    else:
        command = group
    if command is None:
        raise ValueError(f"no command {name} {child}")
    shown = click.Context(command, parent=parent, info_name=child or name, terminal_width=WIDTH)
    return command.get_help(shown)


def dialect_pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page about a dialect, and of their index."""
    rows = []
    for name in sorted(set(names().values())):
        contract = load(name)
        rows.append(f"| [`{name}`]({name}.md) | {contract.title} | `{contract.path}` |")
        yield name, render_page(contract)
    yield "index", "\n".join(["# Dialects", "", "| dialect | title | path |", "|---|---|---|", *rows]) + "\n"


def check_pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page about a check, and of their index."""
    contracts = [load(name) for name in sorted(set(names().values()))]
    mutants, topics = gather_mutants(), dict[str, list[str]]()
    for identity, check in sorted(gather_checks().items()):
        required = [contract for contract in contracts if identity in contract.requirements]
        topics.setdefault(check.topic, []).append(f"- [`{identity}`]({identity}.md): {_escape(check.claim)}")
        yield identity, "\n".join(_check(check, required, mutants.get(identity))) + "\n"
    lines = ["# Checks", "", f"{sum(map(len, topics.values()))} checks by topic."]
    for topic, items in topics.items():
        lines += ["", f"## {topic}", "", *items]
    yield "index", "\n".join(lines) + "\n"


def _check(check: Check, required: list[Contract], mutant: Mutant | None) -> Iterator[str]:
    yield from (f"# `{check.id}`", "", f"**{_escape(check.claim)}**", "")
    if check.help:
        yield from (_escape(check.help), "")
    explanation = find_explanation(check.id)
    if explanation is not None:
        yield from (
            "## Why it matters",
            "",
            _escape(explanation.matters),
            "",
            f"Affected: {_escape(explanation.affects)}",
        )
    yield from ("", "## Required by", "", "| dialect | keyword | source | sentence |", "|---|---|---|---|")
    for contract in required:
        row = contract.requirements[check.id]
        saying = [item for item in contract.sentences if check.id in item.home.checks] or [
            item for item in contract.sentences if item.source == row.source
        ]
        says = _cell(saying[0].says) if saying else ""
        link = f"[`{contract.name}`](../dialects/{contract.name}.md)"
        yield f"| {link} | {row.keyword.value} | `{row.source}` | {says} |"
    if (example := find_example(check.id, mutant)) is not None:
        yield from ("", "## Example finding", "", f"A server with this defect: {_escape(example.defect)}", "")
        yield from ("```text", f"expected  {example.expected}", f"got       {example.got}")
        yield from (f"at        {example.where}", "```")
        if example.command:
            yield from ("", f"`{example.command}` serves it.")
    if explanation is not None:
        yield from ("", "## How to fix it", "", "| server | advice |", "|---|---|")
        yield from (
            f"| {title} | {_cell(explanation.fix[server])} |"
            for server, title in SERVERS.items()
            if server in explanation.fix
        )
    yield from ("", f"`chatproof checks show {check.id}` also lists its scenarios, and the faults that it detects.")


def _escape(text: str) -> str:
    """Return a string in which nothing but code in backticks has a meaning for Markdown."""
    parts = text.split("`")
    for number in range(0, len(parts), 2):
        for character in "\\*_[]<>|#":
            parts[number] = parts[number].replace(character, f"\\{character}")
    return "`".join(parts)


def _cell(text: Any) -> str:
    return _escape(" ".join(str(text).split()))
