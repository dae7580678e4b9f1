"""Checks of the alternatives that an entry lists: their number, their order, and that they differ."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, check
from conformance.judge.checks.logprobs.entries import REQUESTED, ROUNDING
from conformance.judge.logprob_entries import LogprobEntry, all_entries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange


@check("logprobs.as-many-alternatives-as-asked", on=REQUESTED)
def alternatives_are_as_many_as_asked(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every entry has `top_logprobs` alternatives, and at most one more if the chosen token is not one of them."""
    _require_likeliest(exchange)
    requested = exchange.request_json.get("top_logprobs") or 0
    for entry in all_entries(exchange):
        if len(entry.top) < requested:
            yield Finding(f"{entry.where}/top_logprobs", f"{requested}", f"{len(entry.top)}")
        else:
            yield from _too_many(entry, requested)


@check("logprobs.alternatives-as-asked-or-fewer", on=REQUESTED)
def alternatives_are_as_many_as_asked_or_fewer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Most entries have `top_logprobs` alternatives; some may have fewer, and at most one more for the chosen token.

    If all have fewer, the server has ignored the number.
    """
    _require_likeliest(exchange)
    requested = exchange.request_json.get("top_logprobs") or 0
    entries = list(all_entries(exchange))
    if 1 < len(entries) == sum(len(entry.top) < requested for entry in entries):
        yield Finding(
            f"{entries[0].where}/top_logprobs", f"{requested}", f"{len(entries[0].top)}, and too few everywhere"
        )
    for entry in entries:
        yield from _too_many(entry, requested)


def _too_many(entry: LogprobEntry, requested: int) -> Iterator[Finding]:
    """Yield a finding if an entry has more alternatives than requested, plus one for the chosen token."""
    count = len(entry.top)
    if requested == 0 and count:  # the chosen token alone does not count
        if count > 1 or entry.top[0].token != entry.token:
            yield Finding(f"{entry.where}/top_logprobs", "none", f"{count}")
    elif requested and count > requested + 1:
        yield Finding(f"{entry.where}/top_logprobs", f"{requested}", f"{count}")


def _require_likeliest(exchange: Exchange) -> None:
    """Raise NotExercised if the request asks for tokens by id, which are then listed in addition to the likeliest."""
    if exchange.request_json.get("logprob_token_ids"):
        raise NotExercised("the request also asks for tokens by id")


@check("logprobs.alternatives-sorted", on=REQUESTED)
def alternatives_are_sorted(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Alternatives are sorted, the most likely first; the chosen token may be anywhere among them.

    vLLM lists the chosen token first, even in place of the last alternative.
    """
    _require_likeliest(exchange)
    for entry in all_entries(exchange):
        listed = [item for item in entry.top if item.token != entry.token]
        for before, after in pairwise(listed):
            if after.logprob > before.logprob + ROUNDING:
                yield Finding(f"{after.where}/logprob", f"at most {before.logprob}", f"{after.logprob}")


@check("logprobs.alternatives-differ", on=REQUESTED)
def alternatives_are_different_tokens(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No token occurs twice among the alternatives of an entry."""
    seen = False
    for entry in all_entries(exchange):
        names = [(item.token, item.data) for item in entry.top if item.data is not None and item.identifies_token]
        seen = seen or len(names) > 1
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            yield Finding(f"{entry.where}/top_logprobs", "different tokens", f"{twice[0]!r} twice")
    if not seen:
        raise NotExercised("no entry has several alternatives with bytes")


@check("logprobs.alternatives-named", on=REQUESTED)
def alternatives_have_names(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Different alternatives are told apart: in most entries at most one has neither text nor bytes.

    A special token may have no text.
    """
    entries = [entry for entry in all_entries(exchange) if len(entry.top) > 2]
    if len(entries) < 2:
        raise NotExercised("too few entries have several alternatives")
    nameless = [entry for entry in entries if sum(not (item.token or item.data) for item in entry.top) > 1]
    if 2 * len(nameless) > len(entries):
        expected = "at most one alternative without text and bytes in an entry"
        yield Finding(
            f"{nameless[0].where}/top_logprobs", expected, f"several in {len(nameless)} of {len(entries)} entries"
        )
