"""Notations of Markdown: a table, lists, headings and paragraphs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

    from openapi.tests.importing.generated.drawn_page import DrawnParameter


def write_words(one: DrawnParameter) -> str:
    """Return the sentences about a parameter."""
    default = "" if one.default is None else f" Defaults to {json.dumps(one.default)}."
    return f"{one.says}{default}"


def write_table(parameters: list[DrawnParameter], _: Random) -> str:
    """Write a table."""
    rows = [
        f"| `{one.name}` | {one.kind} | {'yes' if one.required else 'no'} | {write_words(one)} |" for one in parameters
    ]
    return "\n".join(["| Name | Type | Required | Description |", "|---|---|---|---|", *rows])


def write_list(parameters: list[DrawnParameter], _: Random) -> str:
    """Write a list with the facts in brackets."""
    return "\n".join(
        f"- `{one.name}` ({one.kind}, {'required' if one.required else 'optional'}): {write_words(one)}"
        for one in parameters
    )


def write_paragraphs(parameters: list[DrawnParameter], _: Random) -> str:
    """Write a paragraph for each parameter."""
    return "\n\n".join(
        f"**{one.name}** ({one.kind}, {'required' if one.required else 'optional'}) {write_words(one)}"
        for one in parameters
    )


def write_emphasized(parameters: list[DrawnParameter], _: Random) -> str:
    """Write a list with types in emphasis."""
    return "\n".join(
        f"- `{one.name}` *{one.kind}*{' **Required**' if one.required else ''}\n  {write_words(one)}"
        for one in parameters
    )


def write_bare(parameters: list[DrawnParameter], _: Random) -> str:
    """Write a list with types without brackets."""
    return "\n".join(
        f"* **{one.name}** {one.kind}, {'required' if one.required else 'optional'}. {write_words(one)}"
        for one in parameters
    )


def write_clauses(parameters: list[DrawnParameter], _: Random) -> str:
    """Write a list with all facts in commas."""
    entries = []
    for one in parameters:
        default = "" if one.default is None else f", defaults to {json.dumps(one.default)}"
        clause = f", {one.says[0].lower()}{one.says[1:].rstrip('.')}" if one.keywords else ""
        words = "" if one.keywords else f". {one.says}"
        entries.append(f"- `{one.name}` *{one.kind}*{', required' if one.required else ''}{clause}{default}{words}")
    return "\n".join(entries)


def write_headings(parameters: list[DrawnParameter], _: Random) -> str:
    """Write a heading for each parameter."""
    return "\n\n".join(
        f"### `{one.name}`\n\n{one.kind}, {'required' if one.required else 'optional'}\n\n{write_words(one)}"
        for one in parameters
    )
