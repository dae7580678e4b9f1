"""Write random facts as pages: Markdown with its parameters in one of several notations, and HTML."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from openapi.tests.importing.generated import code, entries, plain_text
from openapi.tests.importing.generated.answers import print_answer, write_answer, write_body, write_statuses
from openapi.tests.importing.generated.drawn_page import STATUSES

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from openapi.tests.importing.generated.drawn_page import DrawnPage, DrawnParameter

    Notation = Callable[[list[DrawnParameter], Random], str]

NOTATIONS: Final[dict[str, Notation]] = {
    "table": entries.write_table,
    "list": entries.write_list,
    "headings": entries.write_headings,
    "paragraphs": entries.write_paragraphs,
    "emphasized": entries.write_emphasized,
    "bare": entries.write_bare,
    "clauses": entries.write_clauses,
    "lines": plain_text.write_lines,
    "manual": plain_text.write_manual,
    "interface": code.write_interface,
    "commented": code.write_commented,
}


def write_markdown(page: DrawnPage, chance: Random, notation: Notation) -> str:
    """Write a page of Markdown with its parameters in one notation."""
    parameters = notation(page.parameters, chance)
    sections = [
        "# Merlin",
        f"## Request parameters\n\n{parameters}",
        f"## Response\n\n{write_answer(page, chance)}",
        f"## Errors\n\n{write_body(page.body, chance)}\n\n{write_statuses(page.statuses, chance)}",
        f"## Notes\n\n{page.binding}",
    ]
    return "\n\n".join(sections) + "\n"


def write_html(page: DrawnPage, chance: Random) -> str:
    """Write a page of HTML."""
    rows = "\n".join(
        f"<tr><td><code>{one.name}</code></td><td>{one.kind}</td><td>{'yes' if one.required else 'no'}</td>"
        f"<td>{_as_html(entries.write_words(one))}</td></tr>"
        for one in page.parameters
    )
    table = f"<table>\n<tr><th>Name</th><th>Type</th><th>Required</th><th>Notes</th></tr>\n{rows}\n</table>"
    lines = _as_html(plain_text.write_lines(page.parameters, chance, plain_text.SHOWN)).replace(
        "\n", chance.choice(("<br>", "</p>\n<p>"))
    )
    parameters = chance.choice((table, f"<p>{lines}</p>"))
    answer = f"<p>A whole answer:</p>\n<pre><code>{print_answer(page, chance)}</code></pre>"
    body = (
        f"<p>Every error has this body:</p>\n<pre>{json.dumps(page.body, indent=2)}</pre>"
        if chance.random() < 0.5
        else f"<p>Errors are sent as <code>{json.dumps(page.body)}</code>.</p>"
    )
    words = {kind: chance.choice(STATUSES[kind][1]) for kind in page.statuses}
    listed = "\n".join(f"<tr><td>{status}</td><td>{words[kind]}</td></tr>" for kind, status in page.statuses.items())
    listing = "\n".join(f"<li><code>{status}</code> – {words[kind]}</li>" for kind, status in page.statuses.items())
    statuses = (
        f"<table>\n<tr><th>Status</th><th>Meaning</th></tr>\n{listed}\n</table>"
        if chance.random() < 0.5
        else f"<ul>\n{listing}\n</ul>"
    )
    return (
        f"<html><body><h1>Merlin</h1>\n<h2>Request parameters</h2>\n{parameters}\n"
        f"<h2>Response</h2>\n{answer}\n<h2>Errors</h2>\n{body}\n"
        f"{statuses}\n<h2>Notes</h2>\n<p>{page.binding}</p></body></html>\n"
    )


def _as_html(words: str) -> str:
    pieces = words.split("`")
    return "".join(f"<code>{piece}</code>" if at % 2 else piece for at, piece in enumerate(pieces))
