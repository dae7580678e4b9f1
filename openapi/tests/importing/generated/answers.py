"""Write what a page says about answers: a printed one or a table, the body of an error, and statuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from openapi.tests.importing.generated.drawn_page import STATUSES

if TYPE_CHECKING:
    from random import Random

    from openapi.tests.importing.generated.drawn_page import DrawnPage


def write_answer(page: DrawnPage, chance: Random) -> str:
    """Write a table of fields, a printed answer with comments, or both."""
    printed = f"A whole answer:\n\n```json\n{print_answer(page, chance)}\n```"
    kinds = {str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    rows = [f"| `{name}` | {kinds[type(value)]} | A field. |" for name, value in page.answer.items()]
    table = "\n".join(["| Field | Type | Description |", "|---|---|---|", *rows])
    return chance.choice((printed, f"{table}\n\n{printed}")) if page.comments else chance.choice((printed, table))


def print_answer(page: DrawnPage, chance: Random) -> str:
    """Print an answer with its comments above the fields or behind them."""
    mark, is_above = chance.choice(("//", "#")), chance.random() < 0.5
    lines = []
    for line in json.dumps(page.answer, indent=2).split("\n"):
        name = line.strip().partition('"')[2].partition('"')[0]
        comment = page.comments.get(name) if line.startswith('  "') else None
        if comment and is_above:
            lines += [f"  {mark} {comment.says}", line]
        else:
            lines.append(f"{line} {mark} {comment.says}" if comment else line)
    return "\n".join(lines)


def write_body(body: dict[str, Any], chance: Random) -> str:
    """Write a sentence or a block with the body of an error."""
    return chance.choice(
        (
            f"All errors have the body `{json.dumps(body)}`.",
            f"Every error has this form:\n\n```json\n{json.dumps(body, indent=2)}\n```",
            f"A refused request is answered with an error:\n\n```\n{json.dumps(body)}\n```",
        )
    )


def write_statuses(statuses: dict[str, int], chance: Random) -> str:
    """Write a table, a list or sentences of statuses."""
    words = {kind: chance.choice(STATUSES[kind][1]) for kind in statuses}
    table = ["| Status | When |", "|---|---|", *(f"| {status} | {words[kind]} |" for kind, status in statuses.items())]
    entries = [f"- **{status}**: {words[kind]}" for kind, status in statuses.items()]
    sentences = [f"If {words[kind]}, the status is `{status}`." for kind, status in statuses.items()]
    return chance.choice(("\n".join(table), "\n".join(entries), " ".join(sentences)))
