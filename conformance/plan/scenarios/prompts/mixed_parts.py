"""Write requests whose parts are of several kinds: instructions, pictures, sounds, tools, results and the reasoning.

A server may read each kind alone and lose one next to another. Every request has as many kinds as the server takes, and
what a kind adds alone is sent, too.
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

THINKING: Final = "thinking"
"""The part that turns the reasoning off in place of on."""
PICTURES: Final = frozenset({"picture", "earlier-picture", "equal-picture"})
"""Parts that are one picture of the same size."""
PICTURE_ALONE: Final = "picture-alone"
THINKING_ALONE: Final = "thinking-alone"
CALLED: Final = "call00001"


def _picture_alone(clauses: Clauses) -> Body:
    """Return a question with a picture."""
    return {"messages": [_ask(*clauses.pick("picture", _picture("red")), write_text("Which house is this?"))]}


def _thinking_alone(clauses: Clauses) -> Body:
    """Return a question for which the model reasons."""
    return {"messages": [{"role": "user", "content": "What is 2 + 3?"}], **_think(clauses)}


def _thinking(clauses: Clauses) -> Body:
    """Return a conversation with instructions and tools, before whose answer the model reasons."""
    return {
        "messages": [
            {"role": "system", "content": RULES},
            {"role": "user", "content": "Are dogs welcome?"},
            {"role": "assistant", "content": "Yes, they are."},
            {"role": "user", "content": "What do two nights cost if one costs 80 euros?"},
        ],
        **_offer(clauses, [_find_bed()]),
        **_think(clauses),
    }


def _pictures(clauses: Clauses) -> Body:
    """Return a conversation with two equal pictures, one of an earlier turn, and as much else as the server takes.

    Without the place of the earlier picture, it comes first in the last message.
    """
    earlier = clauses.pick("earlier-picture", _picture("green"))
    in_place = bool(clauses.pick("place-of-picture", item=True))
    tools = clauses.pick("tools", _find_bed()) if clauses.has("tools") else []
    notes = clauses.pick(NOTES, NOTE)
    return {
        "messages": [
            {"role": "system", "content": clauses.add("instructions", RULES, NOTE)},
            _ask(*(earlier if in_place else ()), write_text("Which house is this?")),
            {"role": "assistant", "content": " ".join(("It is the house next to the garden.", *notes))},
            _ask(
                *(() if in_place else earlier),
                write_text("This is the house of my friend."),
                _picture("red"),
                *map(write_text, notes),
                *clauses.pick("equal-picture", _picture("red")),
                *clauses.pick("last-text", write_text("Which of the two houses has more light in the evening?")),
            ),
        ],
        **_offer(clauses, tools),
        **(_think(clauses) if clauses.has(THINKING) else {}),
    }


def _picture_in_a_result(clauses: Clauses) -> Body:
    """Return a conversation in which the result of a call has a picture next to its text."""
    found = [write_text("The bed is next to a balcony."), *clauses.pick("picture", _picture("red"))]
    return {
        "messages": [
            {"role": "system", "content": RULES},
            {"role": "user", "content": "Show me a bed for two."},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [write_call(CALLED, "find_bed", write_json({"beds": 2}))],
            },
            write_result(CALLED, found),
        ],
        "tools": [_find_bed()],
    }


def _sound(clauses: Clauses) -> Body:
    """Return a conversation with a picture and a sound in one message."""
    return {
        "messages": [
            {"role": "system", "content": RULES},
            _ask(
                write_text("This is my garden."),
                *clauses.pick("picture", _picture("red")),
                *clauses.pick("sound", {"media": "low.wav"}),
                write_text("What do I hear in it?"),
            ),
        ],
        **_offer(clauses, [_find_bed()]),
    }


MIXED: Final[dict[str, Callable[[Clauses], Body]]] = {
    PICTURE_ALONE: _picture_alone,
    "pictures": _pictures,
    "result": _picture_in_a_result,
    "sound": _sound,
}
"""Requests with media, by name."""
REASONED: Final[dict[str, Callable[[Clauses], Body]]] = {THINKING_ALONE: _thinking_alone, "reasoned": _thinking}
"""Requests before whose answers the model reasons, by name."""


def _ask(*parts: Body) -> Body:
    return {"role": "user", "content": [*parts]}


def _picture(colour: str) -> Body:
    """Return the file that stands for a part, as in the written scenarios."""
    return {"media": f"{colour}.jpg"}


def _find_bed() -> Body:
    description = "Find a free bed of the hotel for tonight, and what it costs with breakfast for each guest."
    return write_tool("find_bed", description, {"beds": {"type": "integer", "description": "Number of beds"}})


def _offer(clauses: Clauses, tools: list[Body]) -> Body:
    return {"tools": tools} if tools and clauses.has("tools") else {}


def _think(clauses: Clauses) -> Body:
    return {"chat_template_kwargs": {"enable_thinking": bool(clauses.pick(THINKING, item=True))}}
