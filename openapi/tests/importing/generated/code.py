"""Notations of code: an interface of TypeScript, and a request with comments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from openapi.tests.importing.generated.plain_text import say

if TYPE_CHECKING:
    from random import Random

    from openapi.tests.importing.generated.drawn_page import DrawnParameter


def write_interface(parameters: list[DrawnParameter], chance: Random) -> str:
    """Write an interface of TypeScript, whose comments state what its types cannot."""
    types = {"array of strings": "string[]", "array of objects": chance.choice(("Message[]", "Array<Message>"))}
    end, style = chance.choice((";", ",", "")), chance.choice(("behind", "above", "tags"))
    written = []
    for one in parameters:
        kind = {"integer": "number"}.get(one.kind, types.get(one.kind, one.kind))
        if "enum" in one.keywords:
            kind = " | ".join(chance.choice(("'{}'", '"{}"')).format(value) for value in one.keywords["enum"])
        if "items" in one.keywords:
            kind = chance.choice(("({})[]", "Array<{}>")).format(
                " | ".join(map(json.dumps, one.keywords["items"]["enum"]))
            )
        is_typed = {"enum", "items"} & set(one.keywords) or not one.keywords
        says = "" if is_typed else say(one, chance)
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


def write_commented(parameters: list[DrawnParameter], chance: Random) -> str:
    """Write a request whose comments state types, ranges and defaults."""
    samples = {"string": "x", "integer": 1, "number": 0.5, "boolean": False, "array of strings": ["x"]}
    mark, is_above = chance.choice(("//", "#")), chance.random() < 0.5
    lines = []
    for one in parameters:
        default = "" if one.default is None else f", default {json.dumps(one.default)}"
        said = f"{one.kind}, {'required' if one.required else 'optional'}{default}"
        said = f"{said}. {say(one, chance)}" if one.keywords else said
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
