"""Draws dialogues with tools: calls of the right tool, and answers from its result."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference_server.tiny import lexicon
from reference_server.tiny.fragment import identifier, person, phrase
from reference_server.tiny.tools import PARAMETERS, UNITS, draw_value, parameters, shown, words
from reference_server.tiny.turn import Json, Turn

if TYPE_CHECKING:
    from random import Random

_RESULT_KEYS = (
    "result", "delivery_date", "temperature", "status", "price",
    "weather", "location", "unit", "name", "condition",
)  # fmt: skip
_STATUSES = ("shipped", "ok", "lost", "delayed", "done", "open")
_SKIES = ("sunny", "cloudy", "rainy", "windy", "clear sky")


@dataclass(frozen=True, slots=True)
class ToolQuestion:
    """A question that one tool call answers, and the arguments of that call."""

    question: str
    arguments: Json


def wish(rng: Random, function: Json) -> ToolQuestion:
    """Draw a question that a function can answer."""
    name = function["name"]
    names = parameters(function)
    verb, noun = words(name)
    if not names:
        bare = (
            f"Please {verb} the {noun}.", f"{verb} {noun}", f"Can you {verb} the {noun}?", f"Call {name}",
            f"Use {name}.",
        )  # fmt: skip
        return ToolQuestion(rng.choice(bare), {})
    arguments: Json = {key: draw_value(rng, PARAMETERS[key][0]) for key in names}
    first = str(arguments[names[0]])
    if name == "get_delivery_date" and rng.random() < 0.85:
        forms_of_delivery = (
            "Where is my package {}?", "When will my order {} arrive?", "What is the delivery date of order {}?",
            "Hello, when does my order come? The order number is {}", "My order is {}. When will it be here?",
            "I think it is {}", "Hi, can you tell me the delivery date? My order id is {}", "When is {} delivered?",
        )  # fmt: skip
        return ToolQuestion(rng.choice(forms_of_delivery).format(first), arguments)
    if "weather" in name and len(names) == 1 and names[0] in ("city", "location") and rng.random() < 0.85:
        forms_of_weather = (
            "What is the weather in {}?", "What's the weather like in {} today?", "How is the weather in {}?",
            "Weather in {}", "Is it raining in {}?", "How warm is it in {} now?", "What is the weather like in {}?",
        )  # fmt: skip
        question = rng.choice(forms_of_weather).format(first)
        if "unit" in function["parameters"]["properties"] and rng.random() < 0.4:
            arguments["unit"] = rng.choice(UNITS)
            question += f" In {arguments['unit']}."
        return ToolQuestion(question, arguments)
    listed = " and ".join(_mention(rng, key, value) for key, value in arguments.items())
    forms = (
        f"Please {verb} the {noun} for {listed}.", f"{verb} {noun} {listed}",
        f"Can you {verb} the {noun} with {listed}?", f"I need to {verb} the {noun}: {listed}",
        f"Call {name} with {listed}", f"Use {name}: {listed}", f"{verb.title()} {noun} with {listed}",
    )  # fmt: skip
    return ToolQuestion(rng.choice(forms), arguments)


def _mention(rng: Random, name: str, value: str | float) -> str:
    kind = PARAMETERS[name][0]
    if kind == "city" and rng.random() < 0.5:
        return f"in {value}"
    return f"{name.replace('_', ' ')} {shown(kind, value)}"


def call(rng: Random, tools: list[Json]) -> Turn:
    """Draw a turn with one call of the right tool."""
    function = rng.choice(tools)["function"]
    asked = wish(rng, function)
    return Turn(asked.question, f"I call {function['name']}.", "", ((function["name"], asked.arguments),))


def asked_back(rng: Random, tools: list[Json]) -> tuple[list[Json], Turn] | None:
    """Draw a question without the argument that its tool needs, the follow-up question, and the turn with the argument.

    Returns None if no tool has exactly one parameter.
    """
    able = [item["function"] for item in tools if len(parameters(item["function"])) == 1]
    if not able:
        return None
    function = rng.choice(able)
    (key,) = parameters(function)
    value = draw_value(rng, PARAMETERS[key][0])
    verb, noun = words(function["name"])
    wishes = (f"Can you {verb} the {noun}?", f"Please {verb} the {noun} for me.", f"I need the {noun}.")
    replies = ("{}", "It is {}", "i think it is {}", "I think it is {}.", "{}, please", "The value is {}")
    asking = (f"Which {key.replace('_', ' ')} is it?", "Gladly. What exactly?", "Sure! Could you give me the details?")
    before: list[Json] = [
        {"role": "user", "content": rng.choice(wishes)},
        {"role": "assistant", "content": asking[0] if rng.random() < 0.7 else rng.choice(asking)},
    ]
    reply = rng.choice(replies).format(shown(PARAMETERS[key][0], value))
    return before, Turn(reply, f"I call {function['name']}.", "", ((function["name"], {key: value}),))


def two_calls(rng: Random, tools: list[Json]) -> Turn:
    """Draw a turn with two calls, of one tool with two values or of two tools."""
    if len(tools) > 1 and rng.random() < 0.4:
        functions = [item["function"] for item in rng.sample(tools, 2)]
        asks = [wish(rng, function) for function in functions]
        question = f"{asks[0].question} {rng.choice(('And', 'And then', 'Also'))}: {asks[1].question}"
    else:
        functions = [rng.choice(tools)["function"]] * 2
        question, asks = _asked_twice(rng, functions[0])
    names = [function["name"] for function in functions]
    return Turn(
        question,
        f"I call {names[0]} and {names[1]}.",
        "",
        tuple(zip(names, (ask.arguments for ask in asks), strict=True)),
    )


def _asked_twice(rng: Random, function: Json) -> tuple[str, list[ToolQuestion]]:
    """Draw a question that needs two calls of a function, each with its first parameter only."""
    name = function["name"]
    if not parameters(function):
        return rng.choice((f"Call {name} twice", f"Use {name} two times.")), [ToolQuestion("", {})] * 2
    key = parameters(function)[0]
    kind = PARAMETERS[key][0]
    values = [draw_value(rng, kind) for _ in range(2)]
    forms: tuple[str, ...]
    if "weather" in name and kind == "city" and key != "destination":
        forms = (
            "What is the weather in {} and in {}?",
            "What's the weather like in {} and {}?",
            "Weather in {} and {}",
            "Compare the weather in {} and {}.",
        )
    else:
        forms = (f"Call {name} for {key.replace('_', ' ')} {{}} and for {{}}", f"Use {name} for {{}} and {{}}.")
    question = rng.choice(forms).format(*(shown(kind, value) for value in values))
    return question, [ToolQuestion("", {key: value}) for value in values]


def result(rng: Random) -> tuple[str, str]:
    """Draw a tool result, and the sentence that reports it to the user."""
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
            "unit": rng.choice(UNITS),
            "name": person(rng),
        }.get(key, phrase(rng, 1, 3))
    return json.dumps(facts), " ".join(f"The {key.replace('_', ' ')} is {value}." for key, value in facts.items())
