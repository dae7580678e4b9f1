"""Entries: what an answer tells of each of its tokens under `logprobs.content`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.check import NoOccasion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

CUT = "\ufffd"  # stands where a token holds a part of a character


@dataclass(frozen=True, slots=True)
class Entry:
    """One token as `logprobs.content` tells it. `where` is its place in the answer."""

    where: str
    told: dict[str, Any]

    @property
    def token(self) -> str:
        """The token's text; empty where it is none."""
        found = self.told.get("token")
        return found if isinstance(found, str) else ""

    @property
    def logprob(self) -> float:
        """The token's log-probability; NaN where it is no number."""
        return _number(self.told.get("logprob"))

    @property
    def data(self) -> bytes | None:
        """The token's bytes; None where `bytes` is null, absent or no list of bytes."""
        found = self.told.get("bytes")
        if isinstance(found, list) and all(type(each) is int and 0 <= each < 256 for each in found):
            return bytes(found)
        return None

    @property
    def whole(self) -> bool:
        """Whether the text tells which token it is: a part of a character does not, nor does a special token's none."""
        return bool(self.token) and CUT not in self.token

    @property
    def top(self) -> list[Entry]:
        """The alternatives that are objects, in the order told."""
        found = self.told.get("top_logprobs")
        items = found if isinstance(found, list) else []
        return [
            Entry(f"{self.where}/top_logprobs/{at}", each) for at, each in enumerate(items) if isinstance(each, dict)
        ]


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def entries(exchange: Exchange) -> dict[int, list[Entry]]:
    """The entries of every choice by index, streamed or plain; raises NoOccasion where there are none."""
    found: dict[int, list[Entry]] = {}
    for place, choice in choices_told(exchange):
        told = choice.get("logprobs")
        content = told.get("content") if isinstance(told, dict) else None
        index = choice.get("index")
        kept = found.setdefault(index if type(index) is int else 0, [])
        for at, each in enumerate(content if isinstance(content, list) else []):
            if isinstance(each, dict):
                kept.append(Entry(f"{place}/logprobs/content/{at}", each))
    found = {index: kept for index, kept in found.items() if kept}
    if not found:
        raise NoOccasion("the answer carries no log-probabilities")
    return found


def choices_told(exchange: Exchange) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, choice) of every choice of a plain answer or of all chunks, but for choices that are no objects."""
    holders = [(f"/events/{at}", chunk) for at, chunk in exchange.walk.chunks] if exchange.is_stream else []
    if not exchange.is_stream and isinstance(exchange.json, dict):
        holders = [("", exchange.json)]
    for place, holder in holders:
        choices = holder.get("choices")
        for at, choice in enumerate(choices if isinstance(choices, list) else []):
            if isinstance(choice, dict):
                yield f"{place}/choices/{at}", choice


def each_entry(exchange: Exchange) -> Iterator[Entry]:
    """Every entry of every choice; raises NoOccasion where there are none."""
    for kept in entries(exchange).values():
        yield from kept
