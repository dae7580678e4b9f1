"""Pages of random facts in random notations: parameters, answers, and the bodies and statuses of errors."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    Notation = Callable[[list["DrawnParameter"], Random], str]


@dataclass(frozen=True, slots=True)
class DrawnParameter:
    """A parameter of a page: `says` is the sentence about its value, `keywords` what this states."""

    name: str
    kind: str
    required: bool
    says: str
    keywords: dict[str, Any]
    default: Any = None


@dataclass(slots=True)
class DrawnPage:
    """What a page states. statuses: by the kind of error. body: that of an error. answer: a whole one."""

    parameters: list[DrawnParameter] = field(default_factory=list)
    body: dict[str, Any] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    answer: dict[str, Any] = field(default_factory=dict)
    binding: str = ""
    """A sentence that no reader understands."""


MESSAGES: Final = (
    "The conversation. Each has a `role` (`system`, `user` or `assistant`) and a `content` string.",
    "The turns so far. Every message is an object with `role` (one of `system`, `user`, `assistant`) and `content` "
    "(string, required).",
)
BODIES: Final[tuple[dict[str, Any], ...]] = (
    {"error": {"message": "TEXT"}},
    {"error": {"message": "TEXT", "type": "bad_request", "code": "E17"}},
    {"error": "TEXT"},
    {"detail": "TEXT"},
    {"code": 400, "message": "TEXT"},
    {"title": "Invalid", "status": 400, "detail": "TEXT"},
    {"fault": {"reason": "TEXT", "where": "body"}},
    {"ok": False, "errors": [{"msg": "TEXT"}], "request_id": "r-7"},
)
STATUSES: Final[dict[str, tuple[tuple[int, ...], tuple[str, ...]]]] = {
    "invalid_request": (
        (400, 422),
        ("a parameter is invalid", "a value is out of range", "a field is missing or wrong"),
    ),
    "unknown_model": ((400, 404, 422), ("the model does not exist", "unknown model", "the model is not found")),
    "unauthorized": ((401, 403), ("the key is missing or wrong", "authentication failed")),
    "overloaded": ((429, 503), ("too many requests", "we are overloaded", "the rate limit is exceeded")),
    "engine_failure": ((500,), ("an internal error", "something unexpected happened")),
}
BINDING: Final = (
    "The service must be mounted on a level surface.",
    "Answers are always written in a friendly tone.",
    "Only the last request of a session is billed.",
    "A client shall never share its connection.",
)


def draw_page(chance: Random) -> DrawnPage:
    """Return random facts; every page has a model and messages."""
    page = DrawnPage(
        parameters=[
            DrawnParameter("model", "string", True, "Which model answers.", {}),
            DrawnParameter("messages", "array of objects", True, chance.choice(MESSAGES), {}),
            *chance.sample(_draw_parameters(chance), chance.randint(2, 5)),
        ],
        binding=chance.choice(BINDING),
    )
    page.body = chance.choice(BODIES)
    for kind in chance.sample(list(STATUSES), chance.randint(1, len(STATUSES))):
        page.statuses[kind] = chance.choice(STATUSES[kind][0])
    page.answer = _draw_answer(chance)
    return page


def _draw_parameters(chance: Random) -> list[DrawnParameter]:
    high, most, longest = chance.choice((0.9, 1.0, 1.5, 2.0)), chance.randint(2, 900), chance.randint(2, 64)
    default = chance.choice((0.1, 0.5, 0.7))
    value = chance.choice(("calm", "lively"))
    return [
        DrawnParameter(
            "temperature", "number", False, f"Between 0 and {high}.", {"minimum": 0.0, "maximum": high}, default
        ),
        DrawnParameter("max_tokens", "integer", False, f"From 1 to {most}.", {"minimum": 1, "maximum": most}),
        DrawnParameter("top_p", "number", False, "At most 0.95.", {"maximum": 0.95}),
        DrawnParameter("stop", "array of strings", False, f"Up to {longest} strings.", {"maxItems": longest}),
        DrawnParameter("user", "string", False, f"At most {most} characters.", {"maxLength": most}),
        DrawnParameter("mood", "string", False, "One of `calm`, `lively`.", {"enum": ["calm", "lively"]}, value),
        DrawnParameter("stream", "boolean", False, "Sends the answer in pieces.", {}, False),
    ]


def _draw_answer(chance: Random) -> dict[str, Any]:
    outer = {
        "id": "x-1",
        "object": "chat.completion",
        "created": 1_764_000_000,
        "model": "small",
        "usage": {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6},
        "cost": 0.25,
        "region": "north",
    }
    kept = {name: outer[name] for name in outer if chance.random() < 0.6}
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}
    return {**kept, "choices": [choice]}


def write_markdown(page: DrawnPage, chance: Random, notation: Notation) -> str:
    """Write a page of Markdown with its parameters in one notation."""
    parameters = notation(page.parameters, chance)
    sections = [
        "# Merlin",
        f"## Request parameters\n\n{parameters}",
        f"## Response\n\n{_write_answer(page.answer, chance)}",
        f"## Errors\n\n{_write_body(page.body, chance)}\n\n{_write_statuses(page.statuses, chance)}",
        f"## Notes\n\n{page.binding}",
    ]
    return "\n\n".join(sections) + "\n"


def write_html(page: DrawnPage, chance: Random) -> str:
    """Write a page of HTML."""
    rows = "\n".join(
        f"<tr><td><code>{one.name}</code></td><td>{one.kind}</td><td>{'yes' if one.required else 'no'}</td>"
        f"<td>{_as_html(_words(one))}</td></tr>"
        for one in page.parameters
    )
    table = f"<table>\n<tr><th>Name</th><th>Type</th><th>Required</th><th>Notes</th></tr>\n{rows}\n</table>"
    lines = _as_html(_lines(page.parameters, chance, SHOWN)).replace("\n", chance.choice(("<br>", "</p>\n<p>")))
    parameters = chance.choice((table, f"<p>{lines}</p>"))
    answer = f"<p>A whole answer:</p>\n<pre><code>{json.dumps(page.answer, indent=2)}</code></pre>"
    body = (
        f"<p>Every error has this body:</p>\n<pre>{json.dumps(page.body, indent=2)}</pre>"
        if chance.random() < 0.5
        else f"<p>Errors are sent as <code>{json.dumps(page.body)}</code>.</p>"
    )
    words = {kind: chance.choice(STATUSES[kind][1]) for kind in page.statuses}
    listed = "\n".join(f"<tr><td>{status}</td><td>{words[kind]}</td></tr>" for kind, status in page.statuses.items())
    entries = "\n".join(f"<li><code>{status}</code> – {words[kind]}</li>" for kind, status in page.statuses.items())
    statuses = (
        f"<table>\n<tr><th>Status</th><th>Meaning</th></tr>\n{listed}\n</table>"
        if chance.random() < 0.5
        else f"<ul>\n{entries}\n</ul>"
    )
    return (
        f"<html><body><h1>Merlin</h1>\n<h2>Request parameters</h2>\n{parameters}\n"
        f"<h2>Response</h2>\n{answer}\n<h2>Errors</h2>\n{body}\n"
        f"{statuses}\n<h2>Notes</h2>\n<p>{page.binding}</p></body></html>\n"
    )


def _words(one: DrawnParameter) -> str:
    default = "" if one.default is None else f" Defaults to {json.dumps(one.default)}."
    return f"{one.says}{default}"


def _table(parameters: list[DrawnParameter], _: Random) -> str:
    rows = [f"| `{one.name}` | {one.kind} | {'yes' if one.required else 'no'} | {_words(one)} |" for one in parameters]
    return "\n".join(["| Name | Type | Required | Description |", "|---|---|---|---|", *rows])


def _list(parameters: list[DrawnParameter], _: Random) -> str:
    return "\n".join(
        f"- `{one.name}` ({one.kind}, {'required' if one.required else 'optional'}): {_words(one)}"
        for one in parameters
    )


def _paragraphs(parameters: list[DrawnParameter], _: Random) -> str:
    return "\n\n".join(
        f"**{one.name}** ({one.kind}, {'required' if one.required else 'optional'}) {_words(one)}" for one in parameters
    )


def _emphasized(parameters: list[DrawnParameter], _: Random) -> str:
    return "\n".join(
        f"- `{one.name}` *{one.kind}*{' **Required**' if one.required else ''}\n  {_words(one)}" for one in parameters
    )


def _bare(parameters: list[DrawnParameter], _: Random) -> str:
    return "\n".join(
        f"* **{one.name}** {one.kind}, {'required' if one.required else 'optional'}. {_words(one)}"
        for one in parameters
    )


def _clauses(parameters: list[DrawnParameter], _: Random) -> str:
    entries = []
    for one in parameters:
        default = "" if one.default is None else f", defaults to {json.dumps(one.default)}"
        clause = f", {one.says[0].lower()}{one.says[1:].rstrip('.')}" if one.keywords else ""
        words = "" if one.keywords else f". {one.says}"
        entries.append(f"- `{one.name}` *{one.kind}*{', required' if one.required else ''}{clause}{default}{words}")
    return "\n".join(entries)


def _headings(parameters: list[DrawnParameter], _: Random) -> str:
    return "\n\n".join(
        f"### `{one.name}`\n\n{one.kind}, {'required' if one.required else 'optional'}\n\n{_words(one)}"
        for one in parameters
    )


SEPARATORS: Final = (": ", " - ", " – ", " — ", "\t", "  ", " = ")
SHOWN: Final = tuple(separator for separator in SEPARATORS if separator.strip())
"""Separators that HTML keeps."""
DESCRIBED: Final = ("Most {0}", "The {0} of the value", "How much {0} there is", "{0}", "Number of {0}")
SPANS: Final = ("{} to {}", "{}-{}", "between {} and {}", "from {} up to {}", "from {} to {}", "[{}, {}]", "{}..{}")
JOINTS: Final = (", {}", ": {}", " ({})", " - {}")


def _say(one: DrawnParameter, chance: Random) -> str:
    """Return the words about a value; a range of a number is written behind a description in many forms."""
    ends = [one.keywords.get(key) for key in ("minimum", "maximum")]
    if None in ends:
        return one.says
    span = chance.choice(SPANS).format(*ends)
    lead = chance.choice(DESCRIBED).format(chance.choice(("tokens", "randomness", "weight")))
    return f"{lead}{chance.choice(JOINTS).format(span)}."


def _lines(parameters: list[DrawnParameter], chance: Random, separators: tuple[str, ...] = SEPARATORS) -> str:
    """Write lines without marks, in one paragraph or several."""
    separator, lines = chance.choice(separators), []
    for one in parameters:
        presence = ", required" if one.required else chance.choice(("", ", optional"))
        default = "" if one.default is None else f" Defaults to {json.dumps(one.default)}."
        lines.append(f"{one.name}{separator}{one.kind}{presence}. {_say(one, chance)}{default}")
    return chance.choice(("\n", "\n\n", "\n  \n")).join(lines)


def _manual(parameters: list[DrawnParameter], chance: Random) -> str:
    """Write the terms of a manual page, each with its indented description below it."""
    form = chance.choice(("{} ({}{})", "{}: {}{}"))
    terms = []
    for one in parameters:
        term = form.format(one.name, one.kind, ", required" if one.required else "")
        default = "" if one.default is None else f" (default {json.dumps(one.default)})"
        terms.append(f"       {term}\n              {_say(one, chance).rstrip('.')}{default}.")
    return "\n\n".join(terms)


def _interface(parameters: list[DrawnParameter], chance: Random) -> str:
    """Write an interface of TypeScript, whose comments state what its types cannot."""
    types = {"array of strings": "string[]", "array of objects": chance.choice(("Message[]", "Array<Message>"))}
    end, style = chance.choice((";", ",", "")), chance.choice(("behind", "above", "tags"))
    written = []
    for one in parameters:
        kind = {"integer": "number"}.get(one.kind, types.get(one.kind, one.kind))
        if "enum" in one.keywords:
            kind = " | ".join(chance.choice(("'{}'", '"{}"')).format(value) for value in one.keywords["enum"])
        says = "" if "enum" in one.keywords or not one.keywords else _say(one, chance)
        says = "integer. " * (one.kind == "integer") + says
        default = "" if one.default is None else json.dumps(one.default)
        said = " ".join(filter(None, (says, f"Default {default}." if default else "")))
        line = f"  {one.name}{'' if one.required else '?'}: {kind}{end}"
        if not said:
            written.append(line)
        elif style == "behind":
            written.append(f"{line} // {said}")
        elif style == "above":
            written.append(f"  // {said}\n{line}")
        else:
            written.append(f"  /**\n   * {says}\n{f'   * @default {default}' if default else ''}\n   */\n{line}")
    roles = '"system" | "user" | "assistant"'
    message = f"interface Message {{ role: {roles}; content: string }}"
    body = "\n".join(written)
    name = chance.choice(("ChatRequest", "Body", "CreateChat"))
    parts = [f"export interface {name} {{\n{body}\n}}", message]
    chance.shuffle(parts)
    return "```{}\n{}\n```".format(chance.choice(("ts", "typescript", "")), "\n\n".join(parts))


def _commented(parameters: list[DrawnParameter], chance: Random) -> str:
    """Write a request whose comments state types, ranges and defaults."""
    samples = {"string": "x", "integer": 1, "number": 0.5, "boolean": False, "array of strings": ["x"]}
    mark, is_above = chance.choice(("//", "#")), chance.random() < 0.5
    lines = []
    for one in parameters:
        default = "" if one.default is None else f", default {json.dumps(one.default)}"
        said = f"{one.kind}, {'required' if one.required else 'optional'}{default}"
        said = f"{said}. {_say(one, chance)}" if one.keywords else said
        value = json.dumps(samples.get(one.kind, "x"))
        if one.name == "messages":
            roles = "required, one of system, user, assistant"
            value = (
                f'[\n    {{"role": "user", {mark} {roles}\n     "content": "Hi." {mark} string, required\n    }}\n  ]'
            )
            lines.append(f'  {mark} {said}\n  "messages": {value},')
        elif is_above:
            lines.append(f'  {mark} {said}\n  "{one.name}": {value},')
        else:
            lines.append(f'  "{one.name}": {value}, {mark} {said}')
    lines[-1] = lines[-1] if mark in lines[-1].rpartition("\n")[2] else lines[-1].rstrip(",")
    return "```{}\n{{\n{}\n}}\n```".format(chance.choice(("jsonc", "json", "python", "")), "\n".join(lines))


NOTATIONS: Final[dict[str, Notation]] = {
    "table": _table,
    "list": _list,
    "headings": _headings,
    "paragraphs": _paragraphs,
    "emphasized": _emphasized,
    "bare": _bare,
    "clauses": _clauses,
    "lines": _lines,
    "manual": _manual,
    "interface": _interface,
    "commented": _commented,
}


def _write_answer(answer: dict[str, Any], chance: Random) -> str:
    printed = f"A whole answer:\n\n```json\n{json.dumps(answer, indent=2)}\n```"
    kinds = {str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    rows = [f"| `{name}` | {kinds[type(value)]} | A field. |" for name, value in answer.items()]
    table = "\n".join(["| Field | Type | Description |", "|---|---|---|", *rows])
    return chance.choice((printed, table, f"{table}\n\n{printed}"))


def _write_body(body: dict[str, Any], chance: Random) -> str:
    return chance.choice(
        (
            f"All errors have the body `{json.dumps(body)}`.",
            f"Every error has this form:\n\n```json\n{json.dumps(body, indent=2)}\n```",
            f"A refused request is answered with an error:\n\n```\n{json.dumps(body)}\n```",
        )
    )


def _write_statuses(statuses: dict[str, int], chance: Random) -> str:
    words = {kind: chance.choice(STATUSES[kind][1]) for kind in statuses}
    table = ["| Status | When |", "|---|---|", *(f"| {status} | {words[kind]} |" for kind, status in statuses.items())]
    entries = [f"- **{status}**: {words[kind]}" for kind, status in statuses.items()]
    sentences = [f"If {words[kind]}, the status is `{status}`." for kind, status in statuses.items()]
    return chance.choice(("\n".join(table), "\n".join(entries), " ".join(sentences)))


def _as_html(words: str) -> str:
    pieces = words.split("`")
    return "".join(f"<code>{piece}</code>" if at % 2 else piece for at, piece in enumerate(pieces))
