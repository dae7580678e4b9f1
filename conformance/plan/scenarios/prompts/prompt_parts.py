"""Generate requests from each of which one clause is missing: a server that reads everything answers each differently.

The whole requests are long conversations such as agents send: with detailed instructions, earlier turns, calls of tools
and their results, and tools whose schemas are nested. A clause is missing at the end of one part, where a server that
cuts, forgets or overwrites the part loses it in the whole request too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.plan.media import MediaParts
from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from conformance.plan.scenarios.prompts.clauses import (
    RULES,
    SIGNED,
    Clauses,
    write_call,
    write_json,
    write_result,
    write_text,
    write_tool,
)
from conformance.plan.scenarios.prompts.mixed_parts import MIXED, REASONED, THINKING
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
NULL: Final = "null"
NULL_AS_TEXT: Final = "None"
FIRST_QUESTION: Final = "first-question"
EQUAL_TURN: Final = "equal-turn"
REPLACED: Final = frozenset({"line-ends", "role", NULL})
"""Parts that are written in another way instead of left out, which may take as many tokens."""
ONE_TOKEN: Final = {"max_tokens": 1, "temperature": 0}
TOLD: Final = {"logprobs": True, "top_logprobs": 5}
BESIDE_OTHERS: Final = (
    TOLD,
    {"temperature": 1.0, "n": 2},
    {"temperature": 1.0, "seed": 7},
    {"stop": ["chatproof never says this"]},
    {"user": "chatproof"},
)
"""Parameters of requests with tools and media, as far as the contract allows them together."""
LINE_END: Final = "\n"
FORECAST: Final = " ".join(
    f"At {hour} o'clock the sky over the old town is clear, with {hour + 9} degrees and a light wind from the west."
    for hour in range(8, 19)
)
"""More than 1,024 characters, at which a server may cut a string."""
PACKED: Final = (*(f"Box {number} stays at the desk." for number in range(1, 12)), FORECAST)
"""The strings of a list, the last of which is long."""


def _agent(clauses: Clauses) -> Body:
    """Return a conversation with an earlier call that ends with the results of two calls, with three tools."""
    place = dict(clauses.pick("later-result", ("place", "The desk next to the lift.")))
    packed = [*PACKED[:-1], clauses.add("call", PACKED[-1], "Take the blue one, not the red one, please.")]
    places = clauses.pick("enumeration", "the quiet side of the garden")
    child = dict(clauses.pick("nested", ("child", {"type": "string", "description": "Name of the youngest child"})))
    city = dict(clauses.pick("parameter", ("description", "Name of the city, as the guest writes it")))
    kind = dict(clauses.pick("reserved-name", ("type", {"type": "string", "description": "Kind of forecast"})))
    said = "".join(clauses.pick("text-next-to-calls", "I look both up. The bridge is closed today."))
    rules = RULES.replace(". ", f".{''.join(clauses.pick('line-ends', LINE_END)) or ' '}")
    table = write_tool("find_table", "Find a free table in the restaurant for tonight.", {"seats": {"type": "integer"}})
    return {
        "messages": [
            {"role": "system", "content": clauses.add("instructions", rules, SIGNED)},
            {"role": "user", "content": "I like old bridges. Is there a table for four tonight?"},
            {"role": "assistant", "content": "", "tool_calls": [write_call("call00000", "find_table", '{"seats": 4}')]},
            write_result(
                "call00000", clauses.add("earlier-result", "There is one at eight.", "Another one is at nine.")
            ),
            {
                "role": "assistant",
                "content": clauses.add("earlier-answer", "There is a table at eight.", "Enjoy the bridges."),
            },
            {"role": "user", "content": "What will the weather be, and when does my order arrive?"},
            {
                "role": "assistant",
                "content": said,
                "tool_calls": [
                    write_call("call00001", "get_weather", '{"city": "Rome"}'),
                    write_call(
                        "call00002",
                        "get_order",
                        write_json({"number": "4711", "order": {"paid": True, "packed": packed}}),
                    ),
                ],
            },
            write_result("call00001", clauses.add("result", FORECAST, "After six a heavy thunderstorm is likely.")),
            write_result("call00002", write_json({"day": "Monday", "paid": True, **place})),
        ],
        "tools": [
            write_tool(
                "get_weather",
                clauses.add("description", "Get the weather of a city.", "Ask for the city if it is not known."),
                {"city": {"type": "string", **city}, **kind},
            ),
            write_tool(
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
    asked = [
        write_text("What is the weather?"),
        *clauses.pick("question", write_text("And shall I take a warm coat with me?")),
    ]
    found = [
        write_text("Sunny, 24 degrees."),
        *clauses.pick("result", write_text("In the evening there will be a storm.")),
    ]
    return {
        "messages": [
            {"role": "user", "content": asked},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [write_call("call00001", "get_weather", '{"city": "Rome"}')],
            },
            {"role": "tool", "tool_call_id": "call00001", "content": found},
        ],
        "tools": [write_tool("get_weather", "Get the weather of a city.", {"city": {"type": "string"}})],
    }


def _assistant_in_parts(clauses: Clauses) -> Body:
    """Return a conversation whose earlier answer is a list of parts."""
    told = [write_text("The bridge is old."), *clauses.pick("answer", write_text("It is closed on Mondays."))]
    return {
        "messages": [
            {"role": "user", "content": "Tell me about the bridge."},
            {"role": "assistant", "content": told},
            {"role": "user", "content": "Can I cross it today?"},
        ]
    }


def _after_null(clauses: Clauses) -> Body:
    """Return a conversation with a call whose message has null in place of a string, as most clients send it.

    In place of null, it has the text that some languages write for it. The id of the call comes twice, as clients write
    it that count the calls of each turn.
    """
    order = dict(clauses.pick("call", ("remark", "The blue one, not the red one, please.")))
    call = write_call("call00001", "get_order", write_json({"number": "4711", **order}))
    (said,) = clauses.pick(NULL, None) or [NULL_AS_TEXT]
    return {
        "messages": [
            {"role": "user", "content": "When does my other order arrive?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [write_call("call00001", "get_order", write_json({"number": "1147"}))],
            },
            write_result("call00001", "It arrived yesterday."),
            {"role": "assistant", "content": "It is here."},
            {"role": "user", "content": "When does my order arrive?"},
            {"role": "assistant", "content": said, "tool_calls": [call]},
            write_result(
                "call00001", clauses.add("result", "It arrives on Monday.", "Sign for it at the desk, please.")
            ),
        ],
        "tools": [write_tool("get_order", "Find out when an order arrives.", {"number": {"type": "string"}})],
    }


def _with_marks(clauses: Clauses) -> Body:
    """Return a conversation with instructions between its turns, with marks of chat templates in a message, and with a
    question that is asked twice in a row.

    Without the role of the assistant, its turn is one of the user.
    """
    role = "".join(clauses.pick("role", "assistant")) or "user"
    asked = {"role": "user", "content": "What shall I wear tomorrow?"}
    return {
        "messages": [
            {"role": "system", "content": "You help guests of a small hotel."},
            {"role": "user", "content": clauses.add("marked", "My <|im_end|> note <|end|>", "is about a warm coat.")},
            {"role": role, "content": "A warm coat is a good idea."},
            {"role": "system", "content": clauses.add("late-instructions", "Be brief.", "Do not speak about coats.")},
            *clauses.pick("equal-message", asked),
            asked,
        ]
    }


def _repeated(clauses: Clauses) -> Body:
    """Return a conversation with two equal turns, which ends with a third one.

    Without the first question it begins with an answer. A server that drops the answer reads a single turn.
    """
    asked = {"role": "user", "content": "Tell me one more thing about the old bridge, please."}
    told = {"role": "assistant", "content": "It has been closed to cars since last summer."}
    again = clauses.pick(EQUAL_TURN, [asked, told])
    opened = clauses.pick(FIRST_QUESTION, asked)
    return {"messages": [*opened, told, *(message for turn in again for message in turn), asked]}


def _developer(clauses: Clauses) -> Body:
    """Return a question after instructions of the developer."""
    rules = clauses.add("instructions", "You help guests of a small hotel.", SIGNED)
    return {"messages": [{"role": "developer", "content": rules}, {"role": "user", "content": "Is there a lift?"}]}


DEVELOPER: Final = "developer"
IN_PARTS: Final = "in-parts"
MARKED: Final = "marked"
AFTER_NULL: Final = "after-null"
REPEATED: Final = "repeated"
WHOLE: Final[dict[str, Callable[[Clauses], Body]]] = {
    "agent": _agent,
    IN_PARTS: _with_parts,
    "assistant-in-parts": _assistant_in_parts,
    AFTER_NULL: _after_null,
    MARKED: _with_marks,
    REPEATED: _repeated,
    DEVELOPER: _developer,
    **REASONED,
    **MIXED,
}
RARE: Final = frozenset(
    {
        *(f"agent{WITHOUT}earlier-result", f"agent{WITHOUT}earlier-answer", f"agent{WITHOUT}parameter"),
        *(f"agent{WITHOUT}reserved-name", f"agent{WITHOUT}later-result", f"{AFTER_NULL}{WITHOUT}call"),
        *(IN_PARTS, f"{IN_PARTS}{WITHOUT}question", f"{IN_PARTS}{WITHOUT}result"),
    }
)
"""Requests that only a thorough run sends, because another one is without a clause of such a part."""
FROM_AN_ANSWER: Final = f"{REPEATED}{WITHOUT}{FIRST_QUESTION}"
ONE_TURN: Final = f"{REPEATED}{WITHOUT}{EQUAL_TURN}"
MAYBE_REFUSED: Final = frozenset({AFTER_NULL, DEVELOPER, MARKED, FROM_AN_ANSWER, *REASONED, *MIXED})
"""Requests that not every model has a form for."""


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return the scenario; empty if the contract allows none of the whole requests.

    Instructions between turns may be refused: not every model has a form for them. So may null next to calls, an answer
    before the first question, and parts of several kinds in one request.
    """
    requests = _Requests(contract)
    steps = tuple(step for name in WHOLE if name not in REASONED or requests.reasons for step in requests.steps(name))
    return (Scenario(SCENARIO, SUMMARY, steps),) if steps else ()


def list_unfit(contract: Contract) -> Iterator[tuple[Scenario, str]]:
    """Yield the scenario if the contract does not allow it, with the reason."""
    if not generate(contract):
        step = Step(MARKED, body={**_with_marks(Clauses(None, [])), **ONE_TOKEN})
        yield Scenario(SCENARIO, SUMMARY, (step,)), f"scenario {SCENARIO}: the contract allows none of its requests"


class _Requests:
    """Writes the requests in the forms of one contract."""

    def __init__(self, contract: Contract) -> None:
        self._allowed = find_allowed_bodies(contract)
        self._media = MediaParts(contract)
        self._known = {"model", *(name for name, item in contract.parameters.items() if not item.lacking)}
        self.reasons = THINKING in contract.capabilities and "chat_template_kwargs" in self._known
        self._capabilities = frozenset(contract.capabilities) - (frozenset() if self.reasons else {THINKING})

    def steps(self, name: str) -> Iterator[Step]:
        """Yield a whole request and those without a clause, with log-probabilities where they are allowed."""
        parts: list[str] = []
        body = self._write(name, None, parts)
        if body is None:
            return
        fields = next((fields for fields in (TOLD, {}) if self._allows({**body, **ONE_TOKEN, **fields})), None)
        if fields is None:
            return
        if name in MIXED and "tools" in body:
            fields = self._add_others({**body, **ONE_TOKEN})
        expect: Expectation = "either" if name in MAYBE_REFUSED else "answer"
        yield Step(name, body={**body, **ONE_TOKEN, **fields}, expect=expect, thorough=name in RARE)
        for part in parts:
            without = self._write(name, part, [])
            step = f"{name}{WITHOUT}{part}"
            sent = {**(without or body), **ONE_TOKEN, **fields}
            yield Step(step, body=sent, expect="either" if step in MAYBE_REFUSED else expect, thorough=step in RARE)

    def _write(self, name: str, left_out: str | None, parts: list[str]) -> Body | None:
        """Return a request; None if the contract has no form for its media."""
        body = WHOLE[name](Clauses(left_out, parts, self._capabilities))
        if not self._media.supports(body["messages"]):
            return None
        return {**body, "messages": self._media.insert(body["messages"])}

    def _add_others(self, body: Body) -> Body:
        """Return the parameters that the contract allows in a request, next to each other."""
        added: Body = {}
        for fields in BESIDE_OTHERS:
            if self._allows({**body, **added, **fields}):
                added |= fields
        return added

    def _allows(self, body: Body) -> bool:
        return body.keys() <= self._known and self._allowed.allows(body)
