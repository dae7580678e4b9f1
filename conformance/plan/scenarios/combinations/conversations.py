"""Arrange messages of any role as a conversation that a chat template can render.

Instructions come first, the user and the assistant take turns, every call has a result, and the user speaks last.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Message = dict[str, Any]

QUESTION: Final = {"role": "user", "content": "What is the weather in Rome?"}
CALLS: Final = "tool_calls"
LEGACY_CALL: Final = "function_call"
CALL: Final = {"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}
RESULT: Final = "Sunny, 24 degrees."


def arrange(messages: Sequence[Message]) -> list[Message]:
    """Return a conversation with all of the messages, and with those that they need around them."""
    by_role: dict[str, list[Message]] = {}
    for message in messages:
        by_role.setdefault(message["role"], []).append(message)
    users, results = by_role.pop("user", []), by_role.pop("tool", [])
    answers, legacy = by_role.pop("assistant", []), by_role.pop("function", [])
    answers += _list_missing_calls(answers, results, legacy)
    turns: list[Message] = [message for leading in by_role.values() for message in leading]
    identifiers = iter(range(1, 1000))
    for user, answer in zip_longest(users[:-1] if len(users) > len(answers) else users, answers):
        turns.append(user or QUESTION)
        turns += (
            _answer(answer, identifiers, results, legacy) if answer else [{"role": "assistant", "content": "Hello!"}]
        )
    return [*turns, users[-1] if len(users) > len(answers) else QUESTION]


def _list_missing_calls(answers: list[Message], results: list[Message], legacy: list[Message]) -> Iterator[Message]:
    """Yield a message with the calls whose results are given but whose calls are not."""
    made = sum(len(answer.get(CALLS) or ()) for answer in answers)
    if len(results) > made:
        yield {"role": "assistant", "content": "", CALLS: [{"id": "", **CALL} for _ in results[made:]]}
    for _ in legacy[sum(bool(answer.get(LEGACY_CALL)) for answer in answers) :]:
        yield {"role": "assistant", "content": None, LEGACY_CALL: CALL["function"]}


def _answer(
    answer: Message, identifiers: Iterator[int], results: list[Message], legacy: list[Message]
) -> Iterator[Message]:
    """Yield a message of the assistant and the results of its calls, each call with an id of its own."""
    calls = [{**call, "id": f"call{next(identifiers):05}"} for call in answer.get(CALLS) or ()]
    yield {**answer, CALLS: calls} if calls else answer
    for call in calls:
        result = results.pop(0) if results else {"role": "tool", "content": RESULT}
        yield {**result, "tool_call_id": call["id"]}
    if answer.get(LEGACY_CALL):
        result = legacy.pop(0) if legacy else {"role": "function", "content": RESULT}
        yield {**result, "name": answer[LEGACY_CALL]["name"]}
