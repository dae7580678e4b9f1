"""Draws tools as a chat request defines them, and values for their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.tiny import lexicon
from reference_server.tiny.fragment import identifier, person, phrase, pseudo_word

if TYPE_CHECKING:
    from random import Random

    from reference_server.tiny.turn import Json

PARAMETERS: dict[str, tuple[str, str]] = {
    "order_id": ("id", "The {} number"), "user_id": ("id", "The {} identifier"),
    "ticket_id": ("id", "Identifier of the {}"), "package_id": ("id", "Which {}"),
    "account_id": ("id", "The {} to use"), "city": ("city", "Name of the {}"),
    "location": ("city", "The {}, a city"), "destination": ("city", "Where to: the {}"),
    "name": ("person", "The {} of the person"), "customer": ("person", "Name of the {}"),
    "recipient": ("person", "The {}"), "query": ("words", "What to look for"), "title": ("words", "The {}"),
    "text": ("words", "The {} to use"), "message": ("words", "The {} to send"), "count": ("integer", "How many"),
    "amount": ("integer", "The {}"), "limit": ("integer", "At most this many"), "days": ("integer", "Number of {}"),
    "year": ("integer", "The {}"), "quantity": ("integer", "The {}"), "on": ("boolean", "Whether it is {}"),
    "enabled": ("boolean", "Whether it is {}"), "urgent": ("boolean", "Whether it is {}"),
    "price": ("number", "The {}"),
    "level": ("number", "The {}"), "size": ("size", "The {}"), "color": ("color", "The {}"),
}  # fmt: skip
"""Every parameter that a tool may have: the kind of its values, and its description."""

_CHOICES: dict[str, tuple[str, ...]] = {
    "size": ("small", "medium", "large"),
    "color": ("red", "green", "blue", "white"),
}
UNITS = ("celsius", "fahrenheit")


def tool(rng: Random, taken: frozenset[str]) -> Json:
    """Return a tool with at most two parameters, and sometimes a unit, whose topic is not in `taken`."""
    name = _tool_name(rng)
    while topic(name) in taken:
        name = _tool_name(rng)
    if name == "get_delivery_date":
        names, description = ["order_id"], "Find the day on which an order arrives."
    elif name in ("get_weather", "get_current_weather"):
        names, description = [rng.choice(("city", "location"))], "Report the weather in a city."
    else:
        names = rng.sample(list(PARAMETERS), rng.choice((0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2)))
        endings = ("", ".", f" by {names[0].replace('_', ' ')}") if names else ("", ".")
        description = name.replace("_", " ").capitalize() + rng.choice(endings)
    properties: Json = {key: _property(rng, key) for key in names}
    if name in ("get_weather", "get_current_weather") and rng.random() < 0.4:
        properties["unit"] = {"type": "string", "enum": list(UNITS)}
    schema: Json = {"type": "object", "properties": properties}
    if names and rng.random() < 0.8:
        schema["required"] = names
    if rng.random() < 0.3:
        schema["additionalProperties"] = False
    function: Json = {"name": name, "description": description, "parameters": schema}
    if not names and rng.random() < 0.4:
        del function["parameters"]
    if rng.random() < 0.1:
        del function["description"]
    if rng.random() < 0.2:
        function["strict"] = True
    return {"type": "function", "function": function}


def topic(name: str) -> str:
    """Return the topic of a tool. Questions cannot distinguish two tools of one topic."""
    return "weather" if "weather" in name.lower() else name.lower().replace("_", "")


def words(name: str) -> tuple[str, str]:
    """Split a tool's name into verb and noun. A name without a verb gets "use"."""
    split = name.replace("_", " ") if "_" in name else "".join(f" {c.lower()}" if c.isupper() else c for c in name)
    verb, _, noun = split.partition(" ")
    return (verb, noun) if noun and name not in lexicon.TOOL_NOUNS else ("use", split)


def _tool_name(rng: Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(("get_delivery_date", "get_current_weather", "get_weather"))
    verb, noun = rng.choice(lexicon.TOOL_VERBS), rng.choice(lexicon.TOOL_NOUNS)
    if rng.random() < 0.12:
        return rng.choice((noun, pseudo_word(rng), f"{verb}_{pseudo_word(rng)}", f"{verb}_{rng.choice(lexicon.WORDS)}"))
    if rng.random() < 0.1:
        return verb + "".join(part.title() for part in noun.split("_"))
    return f"{verb}_{noun}"


def _property(rng: Random, name: str) -> Json:
    kind, description = PARAMETERS[name]
    schema: Json = {"type": kind if kind in ("integer", "boolean", "number") else "string"}
    if kind in _CHOICES:
        schema["enum"] = list(_CHOICES[kind])
    if rng.random() < 0.7:
        schema["description"] = description.format(name.split("_")[0]) + rng.choice(("", "."))
    return schema


def draw_value(rng: Random, kind: str) -> str | float:
    """Draw a value of a kind in `PARAMETERS`."""
    if kind in _CHOICES:
        return rng.choice(_CHOICES[kind])
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "number":
        return rng.choice((rng.randint(0, 50), rng.randint(0, 500) / 10))
    if kind == "id":
        return identifier(rng).removeprefix("#")
    if kind == "city":
        return rng.choice(lexicon.CITIES_WITH_REGION if rng.random() < 0.15 else lexicon.CITIES)
    if kind == "person":
        return person(rng)
    return phrase(rng, 1, 4) if kind == "words" else rng.randint(1, 120)


def parameters(function: Json) -> list[str]:
    """Return the names of a tool's parameters that questions can mention, in order."""
    properties = function.get("parameters", {}).get("properties", {})
    return [key for key in properties if key in PARAMETERS]


def shown(kind: str, value: str | float) -> str:
    """Format a value for a question: in quotes unless it is a number, an identifier, a city or a known name.

    The last token of a word differs in front of a space and in front of a punctuation mark, so an unknown word in the
    middle of a sentence could not be copied token by token; in quotes it can.
    """
    quoted = kind == "words" or (kind == "person" and value not in lexicon.NAMES)
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if quoted else str(value)
