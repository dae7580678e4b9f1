"""Skills with tools: choosing one, filling in its arguments, answering from its result."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference_server.tiny import lexicon
from reference_server.tiny.fragment import identifier, person, phrase
from reference_server.tiny.turn import Json, Turn

if TYPE_CHECKING:
    from random import Random

_PARAMETERS: dict[str, tuple[str, str]] = {
    "order_id": ("id", "The {} number"), "user_id": ("id", "The {} identifier"),
    "ticket_id": ("id", "Identifier of the {}"), "package_id": ("id", "Which {}"),
    "account_id": ("id", "The {} to use"), "city": ("city", "Name of the {}"),
    "location": ("city", "The {}, a city"), "destination": ("city", "Where to: the {}"),
    "name": ("person", "The {} of the person"), "customer": ("person", "Name of the {}"),
    "recipient": ("person", "The {}"), "query": ("words", "What to look for"), "title": ("words", "The {}"),
    "text": ("words", "The {} to use"), "message": ("words", "The {} to send"), "count": ("integer", "How many"),
    "amount": ("integer", "The {}"), "limit": ("integer", "At most this many"), "days": ("integer", "Number of {}"),
    "year": ("integer", "The {}"), "quantity": ("integer", "The {}"),
}  # fmt: skip
_RESULT_KEYS = (
    "result", "delivery_date", "temperature", "status", "price",
    "weather", "location", "unit", "name", "condition",
)  # fmt: skip
_UNITS = ("celsius", "fahrenheit")
_STATUSES = ("shipped", "ok", "lost", "delayed", "done", "open")
_SKIES = ("sunny", "cloudy", "rainy", "windy", "clear sky")


@dataclass(frozen=True, slots=True)
class Ask:
    """A wish that one call fulfils, in words and as arguments."""

    question: str
    arguments: Json


def tool(rng: Random, taken: frozenset[str]) -> Json:
    """A tool as in a chat request, with one or two parameters and seldom a unit; its name is not in `taken`."""
    name = _tool_name(rng)
    while name in taken:
        name = _tool_name(rng)
    if name == "get_delivery_date":
        names, description = ["order_id"], "Find the day on which an order arrives."
    elif name in ("get_weather", "get_current_weather"):
        names, description = [rng.choice(("city", "location"))], "Report the weather in a city."
    else:
        names = rng.sample(list(_PARAMETERS), rng.choice((1, 1, 1, 2, 2)))
        description = name.replace("_", " ").capitalize() + rng.choice(("", ".", f" by {names[0].replace('_', ' ')}"))
    properties: Json = {key: _property(rng, key) for key in names}
    if name in ("get_weather", "get_current_weather") and rng.random() < 0.4:
        properties["unit"] = {"type": "string", "enum": list(_UNITS)}
    schema: Json = {"type": "object", "properties": properties}
    if rng.random() < 0.8:
        schema["required"] = names
    if rng.random() < 0.3:
        schema["additionalProperties"] = False
    function: Json = {"name": name, "description": description, "parameters": schema}
    if rng.random() < 0.1:
        del function["description"]
    if rng.random() < 0.2:
        function["strict"] = True
    return {"type": "function", "function": function}


def _tool_name(rng: Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(("get_delivery_date", "get_current_weather", "get_weather"))
    verb, noun = rng.choice(lexicon.TOOL_VERBS), rng.choice(lexicon.TOOL_NOUNS)
    if rng.random() < 0.1:
        return verb + "".join(part.title() for part in noun.split("_"))
    return f"{verb}_{noun}"


def _property(rng: Random, name: str) -> Json:
    kind, description = _PARAMETERS[name]
    schema: Json = {"type": "integer" if kind == "integer" else "string"}
    if rng.random() < 0.7:
        schema["description"] = description.format(name.split("_")[0]) + rng.choice(("", "."))
    return schema


def _value(rng: Random, kind: str) -> str | int:
    if kind == "id":
        return identifier(rng).removeprefix("#")
    if kind == "city":
        return rng.choice(lexicon.CITIES_WITH_REGION if rng.random() < 0.15 else lexicon.CITIES)
    if kind == "person":
        return person(rng)
    return phrase(rng, 1, 4) if kind == "words" else rng.randint(1, 120)


def wish(rng: Random, function: Json) -> Ask:
    """A question that `function`, a tool from `tool`, can answer."""
    name = function["name"]
    names = [key for key in function["parameters"]["properties"] if key in _PARAMETERS]
    arguments: Json = {key: _value(rng, _PARAMETERS[key][0]) for key in names}
    first = str(arguments[names[0]])
    if name == "get_delivery_date" and rng.random() < 0.85:
        forms_of_delivery = (
            "Where is my package {}?", "When will my order {} arrive?", "What is the delivery date of order {}?",
            "Hello, when does my order come? The order number is {}", "My order is {}. When will it be here?",
            "I think it is {}", "Hi, can you tell me the delivery date? My order id is {}", "When is {} delivered?",
        )  # fmt: skip
        return Ask(rng.choice(forms_of_delivery).format(first), arguments)
    if "weather" in name and len(names) == 1 and names[0] in ("city", "location") and rng.random() < 0.85:
        forms_of_weather = (
            "What is the weather in {}?", "What's the weather like in {} today?", "How is the weather in {}?",
            "Weather in {}", "Is it raining in {}?", "How warm is it in {} now?", "What is the weather like in {}?",
        )  # fmt: skip
        question = rng.choice(forms_of_weather).format(first)
        if "unit" in function["parameters"]["properties"] and rng.random() < 0.4:
            arguments["unit"] = rng.choice(_UNITS)
            question += f" In {arguments['unit']}."
        return Ask(question, arguments)
    listed = " and ".join(_mention(rng, key, value) for key, value in arguments.items())
    words = name.replace("_", " ") if "_" in name else "".join(f" {c.lower()}" if c.isupper() else c for c in name)
    verb, _, noun = words.partition(" ")
    forms = (
        f"Please {verb} the {noun} for {listed}.", f"{verb} {noun} {listed}",
        f"Can you {verb} the {noun} with {listed}?", f"I need to {verb} the {noun}: {listed}",
        f"Call {name} with {listed}", f"Use {name}: {listed}", f"{verb.title()} {noun} with {listed}",
    )  # fmt: skip
    return Ask(rng.choice(forms), arguments)


def _mention(rng: Random, name: str, value: str | int) -> str:
    kind = _PARAMETERS[name][0]
    if kind == "city" and rng.random() < 0.5:
        return f"in {value}"
    shown = f'"{value}"' if kind == "words" and rng.random() < 0.6 else str(value)
    return f"{name.replace('_', ' ')} {shown}"


def call(rng: Random, tools: list[Json]) -> Turn:
    """One call of the tool that fits."""
    function = rng.choice(tools)["function"]
    asked = wish(rng, function)
    return Turn(asked.question, f"I call {function['name']}.", "", ((function["name"], asked.arguments),))


def two_calls(rng: Random, tools: list[Json]) -> Turn:
    """Two calls: of one tool with two values, or of two tools."""
    if len(tools) > 1 and rng.random() < 0.4:
        functions = [item["function"] for item in rng.sample(tools, 2)]
        asks = [wish(rng, function) for function in functions]
        question = f"{asks[0].question} {rng.choice(('And', 'And then', 'Also'))}: {asks[1].question}"
    else:
        functions = [rng.choice(tools)["function"]] * 2
        asks = [wish(rng, functions[0])]
        asks.append(wish(rng, functions[0]))
        keys = [key for key in asks[0].arguments if key in asks[1].arguments and key != "unit"][:1]
        values = [str(ask.arguments[keys[0]]) for ask in asks]
        asks = [Ask("", {key: ask.arguments[key] for key in keys}) for ask in asks]
        if "weather" in functions[0]["name"] and keys[0] in ("city", "location"):
            question = rng.choice(
                ("What is the weather in {} and in {}?", "Weather in {} and {}", "Compare the weather in {} and {}.")
            ).format(*values)
        else:
            question = f"Call {functions[0]['name']} for {keys[0].replace('_', ' ')} {values[0]} and for {values[1]}"
    names = [function["name"] for function in functions]
    return Turn(
        question,
        f"I call {names[0]} and {names[1]}.",
        "",
        tuple(zip(names, (ask.arguments for ask in asks), strict=True)),
    )


def result(rng: Random) -> tuple[str, str]:
    """What a tool sends back, and the sentence that tells the user of it."""
    kind = rng.random()
    if kind < 0.2:
        text = rng.choice((phrase(rng, 1, 5), identifier(rng), str(rng.randint(0, 99))))
        return text, f"The tool says: {text}."
    facts: Json = {}
    for _ in range(rng.choice((1, 1, 2))):
        key = rng.choice(_RESULT_KEYS)
        facts[key] = {
            "delivery_date": f"20{rng.randint(24, 29)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
            "temperature": rng.randint(-20, 40),
            "price": rng.randint(1, 999),
            "status": rng.choice(_STATUSES),
            "weather": rng.choice(_SKIES),
            "condition": rng.choice(_SKIES),
            "location": rng.choice(lexicon.CITIES),
            "unit": rng.choice(_UNITS),
            "name": person(rng),
        }.get(key, phrase(rng, 1, 3))
    return json.dumps(facts), " ".join(f"The {key.replace('_', ' ')} is {value}." for key, value in facts.items())
