"""Random facts that a page states: parameters, answers, and the bodies and statuses of errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from random import Random


@dataclass(frozen=True, slots=True)
class DrawnParameter:
    """A parameter of a page: `says` is the sentence about its value, `keywords` what this states."""

    name: str
    kind: str
    required: bool
    says: str
    keywords: dict[str, Any]
    default: Any = None


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment next to a field of a printed answer, and the keywords that it states."""

    says: str
    keywords: dict[str, Any]


@dataclass(slots=True)
class DrawnPage:
    """What a page states.

    statuses: by the kind of error. body: that of an error. answer: a whole one. comments: what those in it state, by
    the name of the field.
    """

    parameters: list[DrawnParameter] = field(default_factory=list)
    body: dict[str, Any] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    answer: dict[str, Any] = field(default_factory=dict)
    comments: dict[str, Comment] = field(default_factory=dict)
    binding: str = ""
    """A sentence that no reader understands."""


MESSAGES: Final = (
    "The conversation. Each has a `role` (`system`, `user` or `assistant`) and a `content` string.",
    "The turns so far. Every message is an object with `role` (one of `system`, `user`, `assistant`) and `content` "
    "(string, required).",
)
BODIES: Final[tuple[dict[str, Any], ...]] = (
    {"error": {"message": "TEXT"}},
    {"error": {"message": "TEXT", "type": "bad_request", "code": "E17"}},
    {"error": "TEXT"},
    {"detail": "TEXT"},
    {"code": 400, "message": "TEXT"},
    {"title": "Invalid", "status": 400, "detail": "TEXT"},
    {"fault": {"reason": "TEXT", "where": "body"}},
    {"ok": False, "errors": [{"msg": "TEXT"}], "request_id": "r-7"},
)
STATUSES: Final[dict[str, tuple[tuple[int, ...], tuple[str, ...]]]] = {
    "invalid_request": (
        (400, 422),
        ("a parameter is invalid", "a value is out of range", "a field is missing or wrong"),
    ),
    "unknown_model": ((400, 404, 422), ("the model does not exist", "unknown model", "the model is not found")),
    "unauthorized": ((401, 403), ("the key is missing or wrong", "authentication failed")),
    "overloaded": ((429, 503), ("too many requests", "we are overloaded", "the rate limit is exceeded")),
    "engine_failure": ((500,), ("an internal error", "something unexpected happened")),
}
TONE: Final = {"type": "string", "enum": ["calm", "lively"]}
COMMENTS: Final = {
    "id": Comment("string, required", {"type": "string"}),
    "created": Comment("integer, Unix time", {"type": "integer"}),
    "cost": Comment("number, at most 0.5", {"type": "number", "maximum": 0.5}),
    "region": Comment('"north" or "south"', {"type": "string", "enum": ["north", "south"]}),
}
BINDING: Final = (
    "The service must be mounted on a level surface.",
    "Answers are always written in a friendly tone.",
    "Only the last request of a session is billed.",
    "A client shall never share its connection.",
)


def draw_page(chance: Random) -> DrawnPage:
    """Return random facts; every page has a model and messages."""
    page = DrawnPage(
        parameters=[
            DrawnParameter("model", "string", True, "Which model answers.", {}),
            DrawnParameter("messages", "array of objects", True, chance.choice(MESSAGES), {}),
            *chance.sample(_draw_parameters(chance), chance.randint(2, 5)),
        ],
        binding=chance.choice(BINDING),
    )
    page.body = chance.choice(BODIES)
    for kind in chance.sample(list(STATUSES), chance.randint(1, len(STATUSES))):
        page.statuses[kind] = chance.choice(STATUSES[kind][0])
    page.answer = _draw_answer(chance)
    page.comments = {name: one for name, one in COMMENTS.items() if name in page.answer and chance.random() < 0.5}
    return page


def _draw_parameters(chance: Random) -> list[DrawnParameter]:
    high, most, longest = chance.choice((0.9, 1.0, 1.5, 2.0)), chance.randint(2, 900), chance.randint(2, 64)
    default = chance.choice((0.1, 0.5, 0.7))
    value = chance.choice(("calm", "lively"))
    return [
        DrawnParameter(
            "temperature", "number", False, f"Between 0 and {high}.", {"minimum": 0.0, "maximum": high}, default
        ),
        DrawnParameter("max_tokens", "integer", False, f"From 1 to {most}.", {"minimum": 1, "maximum": most}),
        DrawnParameter("top_p", "number", False, "At most 0.95.", {"maximum": 0.95}),
        DrawnParameter("stop", "array of strings", False, f"Up to {longest} strings.", {"maxItems": longest}),
        DrawnParameter("user", "string", False, f"At most {most} characters.", {"maxLength": most}),
        DrawnParameter("mood", "string", False, "One of `calm`, `lively`.", {"enum": ["calm", "lively"]}, value),
        DrawnParameter("tones", "array of strings", False, "One of `calm`, `lively`.", {"items": TONE}),
        DrawnParameter("stream", "boolean", False, "Sends the answer in pieces.", {}, False),
    ]


def _draw_answer(chance: Random) -> dict[str, Any]:
    outer = {
        "id": "x-1",
        "object": "chat.completion",
        "created": 1_764_000_000,
        "model": "small",
        "usage": {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6},
        "cost": 0.25,
        "region": "north",
    }
    kept = {name: outer[name] for name in outer if chance.random() < 0.6}
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}
    return {**kept, "choices": [choice]}
