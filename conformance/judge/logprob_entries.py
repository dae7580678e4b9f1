"""Read the entries of `logprobs.content`, one for each token of an answer."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from conformance.check import NotExercised
from conformance.judge.answer_fields import iterate_choices
from conformance.judge.applicability import why_unanswered
from openapi.stream.accumulated_choice import is_index

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

CUT = "\ufffd"  # replaces the part of a character that a token holds
LEAST: Final = -1000.0  # some servers report one lower value for all unlikely tokens
EXACT: Final = 1e-6
LEAST_ALTERNATIVES: Final = 3
STEPS: Final = (1000, 128)
"""Per unit: three decimals, and bfloat16, in which logits of a model differ by 1/128 or more."""


@dataclass(frozen=True, slots=True)
class LogprobEntry:
    """The entry of one token, or one of its alternatives. `where` is its path in the answer."""

    where: str
    fields: dict[str, Any]

    @property
    def token(self) -> str:
        """The token's text; empty if it is not a string."""
        token = self.fields.get("token")
        return token if isinstance(token, str) else ""

    @property
    def logprob(self) -> float:
        """The token's log-probability; NaN if it is not a number, infinite if a double cannot hold it."""
        value = self.fields.get("logprob")
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return math.nan
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf

    @property
    def data(self) -> bytes | None:
        """The token's bytes; None if `bytes` is null, absent or not a list of bytes."""
        values = self.fields.get("bytes")
        if isinstance(values, list) and all(type(value) is int and 0 <= value < 256 for value in values):
            return bytes(values)
        return None

    @property
    def identifies_token(self) -> bool:
        """Whether the text identifies the token; part of a character, or an empty text does not."""
        return bool(self.token) and CUT not in self.token

    @property
    def top(self) -> list[LogprobEntry]:
        """The alternatives that are objects, in the order of the answer."""
        items = self.fields.get("top_logprobs")
        return [
            LogprobEntry(f"{self.where}/top_logprobs/{at}", item)
            for at, item in enumerate(items if isinstance(items, list) else [])
            if isinstance(item, dict)
        ]


def find_sure(entry: LogprobEntry) -> dict[tuple[str, bytes | None], float]:
    """Return the log-probabilities of the alternatives that are listed whichever token was drawn.

    Without those whose name is empty or not theirs alone; and without the least likely one, because some servers list
    the token that was drawn in the place of the last one that is likelier.
    """
    listed = [item for item in entry.top if LEAST < item.logprob <= 0]
    least = min((item.logprob for item in listed), default=0.0)
    named = Counter((item.token, item.data) for item in listed)
    return {
        (item.token, item.data): item.logprob
        for item in listed
        if item.token and item.logprob > least and named[item.token, item.data] == 1
    }


def any_entries(exchange: Exchange) -> dict[int, list[LogprobEntry]]:
    """Return the entries of every choice that has some by its index, plain or streamed."""
    entries: dict[int, list[LogprobEntry]] = {}
    for path, choice in iterate_choices(exchange):
        logprobs = choice.get("logprobs")
        content = logprobs.get("content") if isinstance(logprobs, dict) else None
        index = choice.get("index")
        of_choice = entries.setdefault(index if is_index(index) else 0, [])
        for at, item in enumerate(content if isinstance(content, list) else []):
            if isinstance(item, dict):
                of_choice.append(LogprobEntry(f"{path}/logprobs/content/{at}", item))
    return {index: of_choice for index, of_choice in entries.items() if of_choice}


def entries_by_choice(exchange: Exchange) -> dict[int, list[LogprobEntry]]:
    """Return the entries of every choice by its index, plain or streamed. Raises NotExercised without entries."""
    entries = any_entries(exchange)
    if not entries:
        raise NotExercised("the answer has no log-probabilities")
    return entries


def first_entries(exchange: Exchange) -> list[LogprobEntry]:
    """Return the entries of the choice with the lowest index. Raises NotExercised without entries."""
    entries = entries_by_choice(exchange)
    return entries[min(entries)]


def all_entries(exchange: Exchange) -> Iterator[LogprobEntry]:
    """Yield every entry of every choice. Raises NotExercised without entries."""
    for entries in entries_by_choice(exchange).values():
        yield from entries


def name_the_text(exchange: Exchange) -> bool:
    """Return whether the tokens of the first choice's entries contain its text and its reasoning.

    Tokens may be more than the text, because some mark the ends of reasoning or of the answer. Raises NotExercised
    without entries.
    """
    choice = exchange.first_choice
    made = b"".join(
        entry.token.encode(errors="replace") if entry.data is None else entry.data for entry in first_entries(exchange)
    )
    texts = (choice.content, choice.reasoning) if choice is not None else ()
    return all(text.strip().rstrip(CUT).encode(errors="replace") in made for text in texts)


def precise_alternatives(exchange: Exchange) -> dict[str, float]:
    """Return the alternatives of an answer's first token; none if there are few, or if their values are rounded.

    Answers with the same ones come from the same prompt, as far as a client can see.
    """
    if why_unanswered(exchange):
        return {}
    try:
        entry = first_entries(exchange)[0]
    except NotExercised:
        return {}
    listed = {item.token: item.logprob for item in entry.top if LEAST < item.logprob}
    precise = sum(all(abs(value * step - round(value * step)) > EXACT for step in STEPS) for value in listed.values())
    return listed if len(listed) >= LEAST_ALTERNATIVES and precise >= LEAST_ALTERNATIVES else {}


def are_same(first: Mapping[str, float], second: Mapping[str, float]) -> bool:
    """Return whether two lists of alternatives have the same tokens and log-probabilities."""
    return first.keys() == second.keys() and all(abs(first[token] - second[token]) < EXACT for token in first)
