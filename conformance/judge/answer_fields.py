"""Read the fields of an answer that several topics check."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, NotObserved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

CLOCK_SKEW = timedelta(hours=1)  # the most by which the server's clock may differ from ours
REASONING_TAGS = re.compile(r"</?(?:think|thinking|thought|reasoning)>|<\|/?think\|>|◁/?think▷", re.IGNORECASE)
DATE_OF_VERSION = re.compile(r"-\d{4}[\w.-]*")
FINISH_REASONS = ("stop", "length", "tool_calls")


def answer_object(exchange: Exchange) -> dict[str, Any]:
    """Return the JSON object of a plain answer. Raises NotObserved if the body is not an object."""
    if not isinstance(exchange.json, dict):
        raise NotObserved("the body is not a JSON object")
    return exchange.json


def read_id(exchange: Exchange) -> str | None:
    """Return the id of an answer, or of the first chunk of a stream; None without one."""
    first: Any = exchange.walk.chunks[0][1] if exchange.is_stream and exchange.walk.chunks else exchange.json
    identity = first.get("id") if isinstance(first, dict) else None
    return str(identity) if identity else None


def read_created(exchange: Exchange) -> int | None:
    """Return `created` of an answer, or of the first chunk of a stream; None if it is not a whole number."""
    first: Any = exchange.walk.chunks[0][1] if exchange.is_stream and exchange.walk.chunks else exchange.json
    created = first.get("created") if isinstance(first, dict) else None
    if isinstance(created, str) and created.isascii() and created.isdigit():
        return int(created)
    return created if type(created) is int else None


def check_created(where: str, created: object, exchange: Exchange) -> Iterator[Finding]:
    """Yield a finding unless `created` is the time of the exchange in whole seconds, within an hour.

    Whether it may be a string of digits is decided by the schema of the dialect.
    """
    sent = datetime.fromisoformat(exchange.started_at)
    low, high = (int((sent + sign * CLOCK_SKEW).timestamp()) for sign in (-1, 1))
    seconds = int(created) if isinstance(created, str) and created.isascii() and created.isdigit() else created
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not low <= seconds <= high:
        yield Finding(where, f"seconds between {low} and {high}", repr(created))


def names_model(found: object, requested: object) -> bool:
    """Return whether an answer names the requested model, or a dated version of it."""
    if not isinstance(found, str) or not isinstance(requested, str) or not found.startswith(requested):
        return False
    return found == requested or DATE_OF_VERSION.fullmatch(found.removeprefix(requested)) is not None


def choices_of(exchange: Exchange) -> list[dict[str, Any]]:
    """Return the choices of a plain answer that are objects. Raises NotObserved if the list is empty."""
    choices = exchange.json.get("choices") if isinstance(exchange.json, dict) else None
    objects = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    if not objects:
        raise NotObserved("the answer has no choices")
    return objects


def objects_of(exchange: Exchange) -> list[tuple[str, dict[str, Any]]]:
    """Return (path, object) of every chunk, or of a plain answer; none if its body is not a JSON object."""
    if exchange.is_stream:
        return [(f"/events/{at}", chunk) for at, chunk in exchange.walk.chunks]
    return [("", exchange.json)] if isinstance(exchange.json, dict) else []


def iterate_choices(exchange: Exchange) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (path, choice) for every choice of a plain answer or of all chunks, except choices that are not objects."""
    for path, holder in objects_of(exchange):
        choices = holder.get("choices")
        for at, choice in enumerate(choices if isinstance(choices, list) else []):
            if isinstance(choice, dict):
                yield f"{path}/choices/{at}", choice


def requested_model(exchange: Exchange, context: Context) -> Any:
    """Return the model of a request as it was sent. Raises NotExercised if the request was not JSON."""
    sent: Any = exchange.request_json
    if not isinstance(sent, dict):
        raise NotExercised("the request is not a JSON object")
    return sent.get("model", context.model)


def possible_roles(exchange: Exchange, context: Context) -> tuple[str, ...]:
    """Return the roles that an answer may have: assistant, and that of the last message if a parameter is false."""
    sent: Any = exchange.request_json
    name = context.contract.answer.role_from
    if name is None or not isinstance(sent, dict) or sent.get(name) is not False:
        return ("assistant",)
    messages = sent.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    role = last.get("role") if isinstance(last, dict) else None
    return ("assistant", role) if isinstance(role, str) else ("assistant",)


def requested_choices(exchange: Exchange, context: Context) -> Any:
    """Return the `n` of a request. Raises NotExercised if best_of changes how many choices may be returned."""
    sent: Any = exchange.request_json
    if (expected_choices(exchange, context) or 1) != (sent.get("n") or 1):
        raise NotExercised("best_of may change the number of choices")
    return sent.get("n")


def expected_choices(exchange: Exchange, context: Context) -> Any:
    """Return `n`, or `best_of` if the document returns all candidates and the request asks for no beam search."""
    sent: Any = exchange.request_json
    best_of = sent.get("best_of")
    returns_all = context.contract.answer.best_of == "all" and not sent.get("use_beam_search")
    return best_of if returns_all and best_of is not None else sent.get("n")


def prompt_field(exchange: Exchange, name: str) -> Any:
    """Return a field about the prompt, or None if it is missing. A stream has it in one of its chunks."""
    return next((part[name] for _, part in objects_of(exchange) if part.get(name) is not None), None)


@dataclass(frozen=True, slots=True)
class AnswerShape:
    """The form of an answer, the content of its choices, and the number of alternatives of its log-probabilities."""

    is_stream: bool
    choices: tuple[tuple[Any, ...], ...]
    alternatives: int | None

    def is_cut_before(self, other: AnswerShape) -> bool:
        """Tell whether an answer ended with length where another one continues."""
        texts, whole = ([text for _, text, *_ in shape.choices] for shape in (self, other))
        ended = [reason for *_, reason in self.choices]
        return ended == ["length"] and len(whole) == 1 and whole != texts and whole[0].startswith(texts[0])


def shape_of(exchange: Exchange) -> AnswerShape:
    """Return the shape of an answer."""
    choices = tuple(
        (
            index,
            choice.content,
            choice.reasoning,
            tuple((call.name, call.arguments) for call in choice.tool_calls),
            choice.finish_reason,
        )
        for index, choice in exchange.choices.items()
    )
    return AnswerShape(exchange.is_stream, choices, _alternatives(exchange))


def _alternatives(exchange: Exchange) -> int | None:
    """Return the greatest number of alternatives of a token, or None without log-probabilities."""
    numbers = [
        len(entry["top_logprobs"]) if isinstance(entry, dict) and isinstance(entry.get("top_logprobs"), list) else 0
        for _place, choice in iterate_choices(exchange)
        if isinstance(logprobs := choice.get("logprobs"), dict)
        for entry in (logprobs.get("content") or [None])
    ]
    return max(numbers, default=None)
