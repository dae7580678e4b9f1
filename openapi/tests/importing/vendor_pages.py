"""Pages of invented vendors in the layouts of real ones, all with the same facts about a chat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True)
class Described:
    """One parameter or field, as every page describes it.

    path: with `[]` after a list, such as `messages[].role`.
    says: the sentences about its value, without the default.
    """

    path: str
    kind: str
    required: bool
    says: str
    default: str = ""

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def words(self) -> str:
        return " ".join(filter(None, (self.says, f"Defaults to {self.default}." if self.default else "")))

    @property
    def presence(self) -> str:
        return "required" if self.required else "optional"


FIELDS: Final = (
    Described("model", "string", True, "Which of our models answers."),
    Described("messages", "array of objects", True, "The conversation so far, 1 to 32 messages."),
    Described("messages[].role", "string", True, "Who speaks. One of `system`, `user` or `assistant`."),
    Described("messages[].content", "string", True, "The text, at most 8,000 characters."),
    Described("temperature", "number", False, "How daring the reply is. Between 0 and 1.5.", "0.7"),
    Described("max_tokens", "integer", False, "Length of the reply, 1 to 4096 tokens."),
    Described("stop", "array of strings", False, "A list of up to 4 strings that end the reply."),
    Described("stream", "boolean", False, "Sends the reply in pieces.", "false"),
    Described("user", "string", False, "An identifier for the end user (64 characters at most)."),
    Described("mood", "string", False, "One of `calm`, `lively`.", "`calm`"),
    Described("seed", "integer or null", False, "Repeats a reply."),
)


def _inner(fields: Sequence[Described], parent: str) -> list[Described]:
    return [field for field in fields if field.path.startswith(f"{parent}[].")]


def _outer(fields: Sequence[Described]) -> list[Described]:
    return [field for field in fields if "." not in field.path]


def html_table(fields: Sequence[Described]) -> str:
    """Write one table with dotted names, badges in the first column, and ranges in the last one."""
    rows = "\n".join(
        f"<tr><td><code>{field.path}</code><br><small>{field.presence}</small></td><td>{_as_html(field.kind)}</td>"
        f"<td><p>{_as_html(field.says)}</p></td><td>{_as_html(field.default) or '&mdash;'}</td></tr>"
        for field in fields
    )
    return f"""<!doctype html><html><head><title>Plover API</title></head><body><h1>Plover API</h1>
<h2>Create a chat reply</h2><p>Send a POST to <code>/v1/chat/completions</code>.</p><h3>Request body</h3>
<table class="params"><thead><tr><th>Field</th><th>Type</th><th>About</th><th>Default</th></tr></thead>
<tbody>{rows}</tbody></table></body></html>"""


def markdown_tables(fields: Sequence[Described]) -> str:
    """Write a table of the body, and one of an element of the list under a heading of its own."""
    parts = ["# Siskin chat", "", "POST `/chat/completions`"]
    for title, rows in (("Request body", _outer(fields)), ("Messages item", _inner(fields, "messages"))):
        parts += ["", f"## {title}", "", "| Name | Required | Type | Notes |", "|:--|:-:|:--|:--|"]
        parts += [f"| `{row.name}` | {'✅' if row.required else '❌'} | {row.kind} | {row.words} |" for row in rows]
    return "\n".join(parts) + "\n"


def definition_list(fields: Sequence[Described]) -> str:
    """Write terms with the type and the presence, and the fields of an element in a list inside."""

    def write(rows: Sequence[Described]) -> str:
        terms = (
            f"<dt><code>{row.name}</code> {row.kind}, {row.presence}</dt><dd><p>{_as_html(row.words)}</p>"
            f"{write(inner) if (inner := _inner(fields, row.path)) else ''}</dd>"
            for row in rows
        )
        return "<dl>\n" + "\n".join(terms) + "\n</dl>"

    return f"<html><body><h1>Dunlin</h1><h2>Request parameters</h2>{write(_outer(fields))}</body></html>"


def headings(fields: Sequence[Described]) -> str:
    """Write a heading for each parameter, and a line with its type and presence below."""
    parts = ["# Wigeon reference", "", "## Request body", ""]
    for field in fields:
        level = "####" if "." in field.path else "###"
        parts += [f"{level} `{field.name}`", "", f"*{field.kind}* · {field.presence}", "", field.words, ""]
    return "\n".join(parts)


def html_headings(fields: Sequence[Described]) -> str:
    """Write a heading for each parameter that contains its type and presence, and paragraphs below."""
    rows = "\n".join(
        f"<section><h4><code>{field.path}</code> <span class='type'>{field.kind}</span>"
        f" <span>{field.presence}</span></h4><div><p>{_as_html(field.says)}</p>"
        + (f"<p>Default: {_as_html(field.default)}</p>" if field.default else "")
        + "</div></section>"
        for field in fields
    )
    return f"<html><body><h1>Knot</h1><h2>Body parameters</h2>{rows}</body></html>"


def nested_lists(fields: Sequence[Described]) -> str:
    """Write a list with the type and presence in brackets, and the fields of an element indented below."""
    lines = ["# Avocet", "", "## Parameters of the request", ""]
    for field in fields:
        indent = "    " if "." in field.path else ""
        lines.append(f"{indent}* **{field.name}** (*{field.kind}*, {field.presence}) - {field.words}")
    return "\n".join(lines) + "\n"


def _as_html(words: str) -> str:
    pieces = words.split("`")
    return "".join(f"<code>{piece}</code>" if at % 2 else piece for at, piece in enumerate(pieces))


LAYOUTS: Final[dict[str, Callable[[Sequence[Described]], str]]] = {
    "table.html": html_table,
    "tables.md": markdown_tables,
    "definitions.html": definition_list,
    "headings.md": headings,
    "headings.html": html_headings,
    "lists.md": nested_lists,
}
