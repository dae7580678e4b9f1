"""Write the clauses of a request, all but one, and the parts of messages and tools that requests consist of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    Body = dict[str, Any]

RULES: Final = (
    "You help guests of a small hotel. Be polite and brief. Answer in the language of the guest. Never promise a bed "
    "before you have looked it up. Give prices in euros and times in the form 18:30. Breakfast is served from seven to "
    "ten, on Sundays until eleven. The garden is open until it gets dark. Dogs are welcome, cats are not. The lift is "
    "out of order on the first Monday of each month. Luggage can be left at the desk."
)
NOTE: Final = (
    'The sign says: "ONE WAY" (F\u00dcR Z\u00dcGE \u2460\u2461),\n'
    "  'no <b>FUSS</b>  path' &amp; C:\\NEU\\\u00d6L  \\d+\\.\\w+\n"
    "\t- \u4f60\u597d \u212b\uff34\ufb01 \u20ac  5\n"
    "\t- &lt; \U0001f680\n\n"
    "    DO NOT QUEUE HERE."
)
"""A clause that counts other tokens in any form but its own: in lower case, in ASCII, escaped, or with other spaces."""

NOTES: Final = "notes"
"""The part that is a note in several places."""


@dataclass(frozen=True, slots=True)
class Clauses:
    """Writes the clauses of a request, all but the one of a part that is left out. `parts` collects their names.

    capabilities: those of the server, which decide about the parts that a request has.
    """

    left_out: str | None
    parts: list[str]
    capabilities: frozenset[str] = frozenset()

    def add(self, part: str, text: str, clause: str) -> str:
        """Return a string with the clause of a part at its end."""
        return text + "".join(f" {item}" for item in self.pick(part, clause))

    def pick(self, part: str, item: Any) -> list[Any]:
        """Return a list of one item, or an empty one if the part is left out."""
        self.parts.append(part)
        return [] if part == self.left_out else [item]

    def has(self, capability: str) -> bool:
        """Return whether the server has a capability."""
        return capability in self.capabilities


def write_tool(name: str, description: str, properties: Body) -> Body:
    """Return a tool whose first parameter is required."""
    schema = {"type": "object", "properties": properties, "required": [next(iter(properties))]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def write_call(identifier: str, name: str, arguments: str) -> Body:
    """Return a call of an earlier message."""
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}


def write_result(identifier: str, content: Any) -> Body:
    """Return the message with the result of a call."""
    return {"role": "tool", "tool_call_id": identifier, "content": content}


def write_text(text: str) -> Body:
    """Return the part of a message that is text."""
    return {"type": "text", "text": text}


def write_json(value: Body) -> str:
    """Return an object as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
