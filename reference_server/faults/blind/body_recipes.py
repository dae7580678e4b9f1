"""Edit the bodies of responses: the messages of refusals, wherever an envelope has them, and token counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import messages_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

MESSAGES: Final = ("message", "error")
"""Fields that contain the message of a refusal, if their value is a string."""


def with_message(body: Any, edit: Callable[[str], Any]) -> Any:
    """Return a refusal with an edited message."""
    if not isinstance(body, dict):
        return body
    return {
        name: edit(value) if name in MESSAGES and isinstance(value, str) else with_message(value, edit)
        for name, value in body.items()
    }


def editing_messages(edit: Callable[[str], Any]) -> Callable[[ResponseHead, Any, ServedRequest], Any]:
    """Return a hook that edits the message of each refusal."""
    return lambda _head, body, _request: with_message(body, edit)


def parts_of(sent: Json) -> list[Json]:
    """Return the parts of the messages whose content is a list."""
    contents = [message.get("content") for message in messages_of(sent)]
    lists = [content for content in contents if isinstance(content, list)]
    return [part for parts in lists for part in parts if isinstance(part, dict)]


def words_of(sent: Json, role: str) -> int:
    """Return the number of words in the messages of a role."""
    texts = [message.get("content") for message in messages_of(sent) if message.get("role") == role]
    return sum(len(content.split()) for content in texts if isinstance(content, str))


def uncounting(role: str) -> Callable[[Json, ServedRequest], None]:
    """Return an edit of answers and chunks whose usage does not count the words in the messages of a role."""

    def edit(response: Json, request: ServedRequest) -> None:
        usage, words = response.get("usage"), words_of(request.payload, role)
        if isinstance(usage, dict) and usage.get("prompt_tokens", 0) > words:
            usage["prompt_tokens"] -= words
            usage["total_tokens"] -= words

    return edit


def swapping_in_crowds(crowd: Crowd, exchange: Callable[[Json, Any], Any], least: int = 3) -> Hooks:
    """Return hooks that give a plain answer a value of the answer before it, while several requests are running.

    exchange: writes the other answer's value, unless it is None, and returns the answer's own one.
    """
    latest: list[Any] = [None]

    def note(request: ServedRequest) -> None:
        request.state["crowded"] = crowd.size >= least

    def swap(answer: Json, request: ServedRequest) -> None:
        if request.state.get("crowded"):
            latest[0] = exchange(answer, latest[0])

    return Hooks(request=note, answer=swap)
