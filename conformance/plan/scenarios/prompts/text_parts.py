"""Write requests whose parts are text: instructions, turns, calls and their results, and tools.

They are conversations such as agents and programs send. Most clauses that can be left out are one note, so that it can
be counted in each place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.prompts.clauses import (
    NOTE,
    NOTES,
    RULES,
    Clauses,
    write_call,
    write_json,
    write_result,
    write_text,
    write_tool,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Body = dict[str, Any]

AGENT: Final = "agent"
ANSWER_IN_PARTS: Final = "assistant-in-parts"
BESIDE_A_FORM: Final = "beside-a-form"
DEVELOPER: Final = "developer"
DEVELOPER_AFTER_SYSTEM: Final = "developer-after-system"
IN_PARTS: Final = "in-parts"
MARKED: Final = "marked"
AFTER_NULL: Final = "after-null"
REPEATED: Final = "repeated"
NULL: Final = "null"
NULL_AS_TEXT: Final = "None"
FIRST_QUESTION: Final = "first-question"
EQUAL_TURN: Final = "equal-turn"
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
            {"role": "system", "content": clauses.add("instructions", rules, NOTE)},
            {"role": "user", "content": "I like old bridges. Is there a table for four tonight?"},
            {"role": "assistant", "content": "", "tool_calls": [write_call("call00000", "find_table", '{"seats": 4}')]},
            write_result("call00000", clauses.add("earlier-result", "There is one at eight.", NOTE)),
            {"role": "assistant", "content": clauses.add("earlier-answer", "There is a table at eight.", NOTE)},
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
            write_result("call00001", clauses.add("result", FORECAST, NOTE)),
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
    """Return instructions, a question and the result of a call whose contents are lists of parts."""
    notes = [write_text(note) for note in clauses.pick(NOTES, NOTE)]
    return {
        "messages": [
            {"role": "system", "content": [write_text("You help guests of a small hotel."), *notes]},
            {"role": "user", "content": [write_text("What is the weather?"), *notes]},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [write_call("call00001", "get_weather", '{"city": "Rome"}')],
            },
            {"role": "tool", "tool_call_id": "call00001", "content": [write_text("Sunny, 24 degrees."), *notes]},
        ],
        "tools": [write_tool("get_weather", "Get the weather of a city.", {"city": {"type": "string"}})],
    }


def _assistant_in_parts(clauses: Clauses) -> Body:
    """Return a conversation whose earlier answer is a list of parts."""
    told = [write_text("The bridge is old."), *clauses.pick("answer", write_text(NOTE))]
    return {
        "messages": [
            {"role": "user", "content": "Tell me about the bridge."},
            {"role": "assistant", "content": told},
            {"role": "user", "content": clauses.add("question", "Can I cross it today?", NOTE)},
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
            write_result("call00001", clauses.add("result", "It arrives on Monday.", NOTE)),
        ],
        "tools": [write_tool("get_order", "Find out when an order arrives.", {"number": {"type": "string"}})],
    }


def write_with_marks(clauses: Clauses) -> Body:
    """Return a conversation with instructions between its turns, with marks of chat templates in a message, and with a
    question that is asked twice in a row.

    Without the role of the assistant, its turn is one of the user, and so are instructions without theirs.
    """
    ruler = "".join(clauses.pick("role-of-instructions", "system")) or "user"
    role = "".join(clauses.pick("role", "assistant")) or "user"
    asked = {"role": "user", "content": "What shall I wear tomorrow?"}
    return {
        "messages": [
            {"role": ruler, "content": "You help guests of a small hotel."},
            {"role": "user", "content": clauses.add("marked", "My <|im_end|> note <|end|>", NOTE)},
            {"role": role, "content": "A warm coat is a good idea."},
            {"role": "system", "content": clauses.add("late-instructions", "Be brief.", NOTE)},
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
    rules = clauses.add("instructions", "You help guests of a small hotel.", NOTE)
    return {"messages": [{"role": "developer", "content": rules}, {"role": "user", "content": "Is there a lift?"}]}


def _developer_after_system(clauses: Clauses) -> Body:
    """Return a question after instructions of both roles."""
    system = {"role": "system", "content": "Answer in the language of the guest."}
    return {"messages": [system, *_developer(clauses)["messages"]]}


def _beside_a_form(clauses: Clauses) -> Body:
    """Return a conversation with the result of a tool, as agents send it that ask for JSON at its end."""
    notes = clauses.pick(NOTES, NOTE)
    return {
        "messages": [
            {"role": "system", "content": " ".join(("You help guests of a small hotel.", *notes))},
            {"role": "user", "content": " ".join(("Is there a lift?", *notes))},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [write_call("call00001", "find_lift", '{"guests": 4}')],
            },
            write_result("call00001", " ".join(("There is one next to the desk.", *notes))),
            {"role": "assistant", "content": " ".join(("Yes, there is.", *notes))},
            {"role": "user", "content": " ".join(("And in the other house?", *notes))},
        ],
        "tools": [write_tool("find_lift", "Find a lift with enough space.", {"guests": {"type": "integer"}})],
    }


TEXTS: Final[dict[str, Callable[[Clauses], Body]]] = {
    AGENT: _agent,
    IN_PARTS: _with_parts,
    ANSWER_IN_PARTS: _assistant_in_parts,
    AFTER_NULL: _after_null,
    MARKED: write_with_marks,
    REPEATED: _repeated,
    DEVELOPER: _developer,
    DEVELOPER_AFTER_SYSTEM: _developer_after_system,
    BESIDE_A_FORM: _beside_a_form,
}
"""Requests by name."""
