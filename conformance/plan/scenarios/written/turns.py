"""The turns in front of a question: instructions, a question in parts, an answer, and a call with its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from conformance.plan.scenarios.combinations.tasks import ASKED, CALL

if TYPE_CHECKING:
    from openapi.contract.contract import Contract

    Message = dict[str, Any]

INSTRUCTIONS: Final = {"role": "system", "content": "You help guests of a small hotel."}
GREETING: Final = "Hello"
GREETED: Final = {"role": "assistant", "content": "Hello! How can I help you?"}
CALLED: Final = (
    ASKED,
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": CALL["id"], "content": "sunny, 24 degrees"},
    {"role": "assistant", "content": "It is sunny, with 24 degrees."},
)


def write_turns(question: str, contract: Contract | None, *, calls: bool) -> list[Message]:
    """Return a conversation that ends with a question. The greeting is in parts if the contract has them.

    calls: whether a call of a tool and its result are among the turns.
    """
    parts: Message = {"role": "user", "content": [{"type": "text", "text": GREETING}]}
    in_parts = contract is not None and find_allowed_bodies(contract).allows({"messages": [parts]})
    greeting = parts if in_parts else {"role": "user", "content": GREETING}
    return [INSTRUCTIONS, greeting, GREETED, *(CALLED if calls else ()), {"role": "user", "content": question}]
