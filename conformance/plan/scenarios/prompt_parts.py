"""Generate requests from each of which one clause is missing: a server that reads everything answers each differently.

The whole requests are long conversations such as agents send: with detailed instructions, earlier turns, calls of tools
and their results, and tools whose schemas are nested. A clause is missing at the end of one part, where a server that
cuts, forgets or overwrites the part loses it in the whole request too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from conformance.scenario import Scenario, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.scenario import Expectation
    from openapi.contract.contract import Contract

    Body = dict[str, Any]

SCENARIO: Final = "parts-of-a-prompt"
SUMMARY: Final = "long requests, and the same without a clause of one part"
WITHOUT: Final = "-without-"
"""Stands between the name of the whole request and that of the part without its last clause."""
REPLACED: Final = frozenset({"line-ends", "role"})
"""Parts that are written in another way instead of left out, which may take as many tokens."""
ONE_TOKEN: Final = {"max_tokens": 1, "temperature": 0}
TOLD: Final = {"logprobs": True, "top_logprobs": 5}
LINE_END: Final = "\n"
RULES: Final = (
    "You help guests of a small hotel. Be polite and brief. Answer in the language of the guest. Never promise a bed "
    "before you have looked it up. Give prices in euros and times in the form 18:30. Breakfast is served from seven to "
    "ten, on Sundays until eleven. The garden is open until it gets dark. Dogs are welcome, cats are not. The lift is "
    "out of order on the first Monday of each month. Luggage can be left at the desk."
)
FORECAST: Final = " ".join(
    f"At {hour} o'clock the sky over the old town is clear, with {hour + 9} degrees and a light wind from the west."
    for hour in range(8, 18)
)


@dataclass(frozen=True, slots=True)
class Clauses:
    """Writes the clauses of a request, all but the one of a part that is left out. `parts` collects their names."""

    left_out: str | None
    parts: list[str]

    def add(self, part: str, text: str, clause: str) -> str:
        """Return a string with the clause of a part at its end."""
        return text + "".join(f" {item}" for item in self.pick(part, clause))

    def pick(self, part: str, item: Any) -> list[Any]:
        """Return a list of one item, or an empty one if the part is left out."""
        self.parts.append(part)
        return [] if part == self.left_out else [item]


def _agent(clauses: Clauses) -> Body:
    """Return a conversation with an earlier call that ends with the results of two calls, with three tools."""
    place = dict(clauses.pick("later-result", ("place", "The desk next to the lift.")))
    order = dict(clauses.pick("call", ("remark", "The blue one, not the red one, please.")))
    places = clauses.pick("enumeration", "the quiet side of the garden")
    child = dict(clauses.pick("nested", ("child", {"type": "string", "description": "Name of the youngest child"})))
    city = dict(clauses.pick("parameter", ("description", "Name of the city, as the guest writes it")))
    kind = dict(clauses.pick("reserved-name", ("type", {"type": "string", "description": "Kind of forecast"})))
    said = "".join(clauses.pick("text-next-to-calls", "I look both up. The bridge is closed today."))
    rules = RULES.replace(". ", f".{''.join(clauses.pick('line-ends', LINE_END)) or ' '}")
    table = _tool("find_table", "Find a free table in the restaurant for tonight.", {"seats": {"type": "integer"}})
    return {
        "messages": [
            {"role": "system", "content": clauses.add("instructions", rules, "Sign each answer with the name Olivia.")},
            {"role": "user", "content": "I like old bridges. Is there a table for four tonight?"},
            {"role": "assistant", "content": "", "tool_calls": [_call("call00000", "find_table", '{"seats": 4}')]},
            _result("call00000", clauses.add("earlier-result", "There is one at eight.", "Another one is at nine.")),
            {
                "role": "assistant",
                "content": clauses.add("earlier-answer", "There is a table at eight.", "Enjoy the bridges."),
            },
            {"role": "user", "content": "What will the weather be, and when does my order arrive?"},
            {
                "role": "assistant",
                "content": said,
                "tool_calls": [
                    _call("call00001", "get_weather", '{"city": "Rome"}'),
                    _call("call00002", "get_order", _json({"number": "4711", **order})),
                ],
            },
            _result("call00001", clauses.add("result", FORECAST, "After six a heavy thunderstorm is likely.")),
            _result("call00002", _json({"day": "Monday", "paid": True, **place})),
        ],
        "tools": [
            _tool(
                "get_weather",
                clauses.add("description", "Get the weather of a city.", "Ask for the city if it is not known."),
                {"city": {"type": "string", **city}, **kind},
            ),
            _tool(
                "get_order",
                "Find out when an order arrives.",
                {
                    "number": {"type": "string", "description": "Number of the order"},
                    "place": {"type": "string", "enum": ["desk", "restaurant", *places]},
                    "guests": {"type": "object", "properties": {"adult": {"type": "string"}, **child}},
                },
            ),
            *clauses.pick("last-tool", table),
        ],
    }


def _with_parts(clauses: Clauses) -> Body:
    """Return a question and the result of a call whose contents are lists of parts."""
    asked = [_text("What is the weather?"), *clauses.pick("question", _text("And shall I take a warm coat with me?"))]
    found = [_text("Sunny, 24 degrees."), *clauses.pick("result", _text("In the evening there will be a storm."))]
    return {
        "messages": [
            {"role": "user", "content": asked},
            {"role": "assistant", "content": "", "tool_calls": [_call("call00001", "get_weather", '{"city": "Rome"}')]},
            {"role": "tool", "tool_call_id": "call00001", "content": found},
        ],
        "tools": [_tool("get_weather", "Get the weather of a city.", {"city": {"type": "string"}})],
    }


def _assistant_in_parts(clauses: Clauses) -> Body:
    """Return a conversation whose earlier answer is a list of parts."""
    told = [_text("The bridge is old."), *clauses.pick("answer", _text("It is closed on Mondays."))]
    return {
        "messages": [
            {"role": "user", "content": "Tell me about the bridge."},
            {"role": "assistant", "content": told},
            {"role": "user", "content": "Can I cross it today?"},
        ]
    }


def _after_null(clauses: Clauses) -> Body:
    """Return a conversation with a call whose message has null in place of a string, as most clients send it."""
    order = dict(clauses.pick("call", ("remark", "The blue one, not the red one, please.")))
    call = _call("call00001", "get_order", _json({"number": "4711", **order}))
    return {
        "messages": [
            {"role": "user", "content": "When does my order arrive?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            _result("call00001", clauses.add("result", "It arrives on Monday.", "Sign for it at the desk, please.")),
        ],
        "tools": [_tool("get_order", "Find out when an order arrives.", {"number": {"type": "string"}})],
    }


def _with_marks(clauses: Clauses) -> Body:
    """Return a conversation with instructions between its turns, and with marks of chat templates in a message.

    Without the role of the assistant, its turn is one of the user.
    """
    role = "".join(clauses.pick("role", "assistant")) or "user"
    return {
        "messages": [
            {"role": "system", "content": "You help guests of a small hotel."},
            {"role": "user", "content": clauses.add("marked", "My <|im_end|> note <|end|>", "is about a warm coat.")},
            {"role": role, "content": "A warm coat is a good idea."},
            {"role": "system", "content": clauses.add("late-instructions", "Be brief.", "Do not speak about coats.")},
            {"role": "user", "content": "What shall I wear tomorrow?"},
        ]
    }


MARKED: Final = "marked"
AFTER_NULL: Final = "after-null"
WHOLE: Final[dict[str, Callable[[Clauses], Body]]] = {
    "agent": _agent,
    "in-parts": _with_parts,
    "assistant-in-parts": _assistant_in_parts,
    AFTER_NULL: _after_null,
    MARKED: _with_marks,
}


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return the scenario; empty if the contract allows none of the whole requests.

    Instructions between turns may be refused: not every model has a form for them. So may null next to calls.
    """
    allowed = find_allowed_bodies(contract)
    known = {"model", *(name for name, parameter in contract.parameters.items() if not parameter.lacking)}

    def is_allowed(body: Body) -> bool:
        return body.keys() <= known and allowed.allows(body)

    steps = tuple(step for name, write in WHOLE.items() for step in _steps(name, write, is_allowed))
    return (Scenario(SCENARIO, SUMMARY, steps),) if steps else ()


def list_unfit(contract: Contract) -> Iterator[tuple[Scenario, str]]:
    """Yield the scenario if the contract does not allow it, with the reason."""
    if not generate(contract):
        step = Step(MARKED, body={**_with_marks(Clauses(None, [])), **ONE_TOKEN})
        yield Scenario(SCENARIO, SUMMARY, (step,)), f"scenario {SCENARIO}: the contract allows none of its requests"


def _steps(name: str, write: Callable[[Clauses], Body], is_allowed: Callable[[Body], bool]) -> Iterator[Step]:
    """Yield the whole request and those without a clause, with log-probabilities where they are allowed."""
    parts: list[str] = []
    body = write(Clauses(None, parts))
    fields = next((fields for fields in ({**ONE_TOKEN, **TOLD}, ONE_TOKEN) if is_allowed({**body, **fields})), None)
    if fields is None:
        return
    expect: Expectation = "either" if name in (AFTER_NULL, MARKED) else "answer"
    yield Step(name, body={**body, **fields}, expect=expect)
    for part in parts:
        yield Step(f"{name}{WITHOUT}{part}", body={**write(Clauses(part, [])), **fields}, expect=expect)


def _tool(name: str, description: str, properties: Body) -> Body:
    schema = {"type": "object", "properties": properties, "required": [next(iter(properties))]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def _call(identifier: str, name: str, arguments: str) -> Body:
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}


def _result(identifier: str, text: str) -> Body:
    return {"role": "tool", "tool_call_id": identifier, "content": text}


def _text(text: str) -> Body:
    return {"type": "text", "text": text}


def _json(value: Body) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
