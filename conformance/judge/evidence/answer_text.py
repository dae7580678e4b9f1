"""The text of a choice, and how the texts of two answers relate that should be the same as far as both go.

Of two almost equally likely tokens, either may be chosen: a server rounds differently when it shares a batch with other
requests. The texts diverge there, at any token. What a near tie cannot do is lose or spoil characters of an answer that
continues as before.
"""

from __future__ import annotations

import html
import json
import re
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from conformance.check import NotExercised
from conformance.judge.evidence.answer_difference import NEAR_TIE, gap_at_divergence, is_greedy, start_of
from conformance.judge.logprob_entries import CUT, entries_by_choice

if TYPE_CHECKING:
    from conformance.exchange import Exchange

LONG: Final = 40
"""Characters of an answer with about ten tokens, so that few near ties are at its start or its end."""
LOST: Final = 12  # characters, about three tokens: the last token may be a near tie
FEWEST: Final = 8
"""Characters that two texts must have in common to be the same one in two codings."""
CLEAR_LEAD: Final = 2 * NEAR_TIE
"""Nats. All answers of a run are compared, so that a smaller lead may once be lost by rounding."""


def _read_html(text: str) -> str:
    return html.unescape(text)


def _read_json(text: str) -> str:
    return str(json.loads(f'"{text}"', strict=False))


def _read_latin(text: str) -> str:
    return text.encode("latin-1").decode()


DECODERS: Final = (_read_html, unquote, _read_json, _read_latin)
"""What reads texts that were escaped, or written in another encoding, by mistake."""


class Relation(Enum):
    """How the text of an answer relates to the usual one.

    SAME: one is the other, or its beginning. LATE: it diverges later. JUMP: it differs from its first characters on, or
    ends where the other one continues. SILENT: it is empty. PROVEN: characters are lost or spoilt, or log-probabilities
    show that the tokens are the same, or that the likeliest one was not chosen.
    """

    SAME = auto()
    LATE = auto()
    JUMP = auto()
    SILENT = auto()
    PROVEN = auto()


@dataclass(frozen=True)
class AnswerText:
    """The text of a choice: reasoning, content and calls.

    key: equal for requests whose answers have the same text. prompt: equal for requests with the same prompt.
    """

    exchange: Exchange
    index: int
    text: str
    finish_reason: str | None
    limit: int | None
    key: str
    prompt: str

    @classmethod
    def of(cls, exchange: Exchange, index: int, key: str, prompt: str) -> AnswerText | None:
        """Return the text of a choice; None if the choice is missing, or if a cut call may be written as text."""
        choice = exchange.choices.get(index)
        if choice is None:
            return None
        sent: Any = exchange.request_json
        finish_reason = exchange.finish_reason(index)
        offered = bool(sent.get("tools") or sent.get("functions")) and sent.get("tool_choice") != "none"
        if offered and finish_reason == "length":
            return None
        calls = "".join(f"{call.name}{call.arguments}" for call in choice.tool_calls)
        text = f"{choice.reasoning or ''}{choice.content or ''}{calls}".strip()
        limits = [sent.get(name) for name in ("max_completion_tokens", "max_tokens")]
        limit = next((limit for limit in limits if type(limit) is int), None)
        return cls(exchange, index, text, finish_reason, limit, key, prompt)

    @property
    def is_long(self) -> bool:
        """Whether the text has about ten tokens at least, so that few near ties are at its ends."""
        return len(self.text) >= LONG

    @property
    def start(self) -> bytes:
        """The first bytes, about one token."""
        return start_of(self.text)

    @cached_property
    def tokens(self) -> list[str] | None:
        """The tokens by the log-probabilities; None without any."""
        try:
            return [entry.token for entry in entries_by_choice(self.exchange).get(self.index, ())] or None
        except NotExercised:
            return None


def relate(usual: AnswerText, other: AnswerText) -> Relation:
    """Return how the text of an answer relates to the usual one."""
    if usual.text == other.text:
        return Relation.SAME
    short, long = sorted((usual, other), key=lambda item: len(item.text))
    if long.text.startswith(short.text.rstrip(CUT).rstrip()):
        return _relate_beginning(short, long)
    pairs = ((usual.text, other.text), (other.text, usual.text))
    if any(_is_spoilt(*pair) or _is_escaped(*pair) for pair in pairs):
        return Relation.PROVEN
    if usual.index == other.index == 0 and is_greedy(usual.exchange):
        if CUT not in usual.text + other.text and usual.tokens is not None and usual.tokens == other.tokens:
            return Relation.PROVEN
        if (gap := gap_at_divergence(usual.exchange, other.exchange)) is not None:
            return Relation.PROVEN if gap > CLEAR_LEAD else Relation.LATE
    return Relation.JUMP if usual.start != other.start else Relation.LATE


def _relate_beginning(short: AnswerText, long: AnswerText) -> Relation:
    """Return how the text of an answer relates to one that begins with it."""
    cut = short.finish_reason == "length"
    if cut and (short.limit != long.limit or len(long.text) - len(short.text) < LOST or long.finish_reason != "length"):
        return Relation.SAME
    if not short.text:
        return Relation.SILENT
    return Relation.PROVEN if cut else Relation.JUMP


def _is_spoilt(text: str, other: str) -> bool:
    """Return whether the other text is this one with U+FFFD in place of characters that are not at its end."""
    if CUT in text or CUT not in other.rstrip(CUT):
        return False
    pattern = "[^\x00-\x7f]{0,4}".join(map(re.escape, re.split(f"{CUT}+", other.rstrip(CUT))))
    return re.match(pattern, text, re.DOTALL) is not None


def _is_escaped(text: str, other: str) -> bool:
    """Return whether the other text is this one in another coding, as far as both go: a near tie does not do that."""
    for decode in DECODERS:
        with suppress(ValueError):  # of texts that are not in this coding
            read = decode(other)
            length = min(len(read), len(text))
            if length >= FEWEST and read[:length] == text[:length] and not other.startswith(text[:length]):
                return True
    return False
