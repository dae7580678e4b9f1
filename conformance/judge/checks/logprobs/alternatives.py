"""TODO."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, check
from conformance.judge.checks.logprobs.entries import ASKED, ROUNDING
from conformance.judge.logprob_entries import LogprobEntry, all_entries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange


@check("logprobs.as-many-alternatives-as-asked", on=ASKED)
def alternatives_are_as_many_as_asked(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every entry has `top_logprobs` alternatives, and one more at most, where the chosen token is not among them."""
    _none_named(exchange)
    asked = exchange.request_json.get("top_logprobs") or 0
    for entry in all_entries(exchange):
        if len(entry.top) < asked:
            yield Finding(f"{entry.where}/top_logprobs", f"{asked}", f"{len(entry.top)}")
        else:
            yield from _too_many(entry, asked)


@check("logprobs.alternatives-as-asked-or-fewer", on=ASKED)
def alternatives_are_as_many_as_asked_or_fewer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Most entries have `top_logprobs` alternatives, and none more than one more; some may have fewer.

    Not all of them: who gives fewer throughout has not done what was asked.
    """
    _none_named(exchange)
    asked = exchange.request_json.get("top_logprobs") or 0
    told = list(all_entries(exchange))
    if 1 < len(told) == sum(len(entry.top) < asked for entry in told):
        yield Finding(f"{told[0].where}/top_logprobs", f"{asked}", f"{len(told[0].top)}, and too few everywhere")
    for entry in told:
        yield from _too_many(entry, asked)


def _too_many(entry: LogprobEntry, asked: int) -> Iterator[Finding]:
    found = len(entry.top)
    if asked == 0 and found:  # the chosen token alone is no alternative
        if found > 1 or entry.top[0].token != entry.token:
            yield Finding(f"{entry.where}/top_logprobs", "none", f"{found}")
    elif asked and found > asked + 1:
        yield Finding(f"{entry.where}/top_logprobs", f"{asked}", f"{found}")


def _none_named(exchange: Exchange) -> None:
    """Raises NotExercised where tokens were asked for by their ids, which are listed beside the likeliest."""
    if exchange.request_json.get("logprob_token_ids"):
        raise NotExercised("the request names tokens that are listed too")


@check("logprobs.alternatives-sorted", on=ASKED)
def alternatives_are_sorted(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Alternatives stand in order, the most likely first; a chosen token that is not among them may follow."""
    _none_named(exchange)
    for entry in all_entries(exchange):
        asked = exchange.request_json.get("top_logprobs") or 0
        listed = entry.top if len(entry.top) <= asked else [each for each in entry.top if each.token != entry.token]
        for before, after in pairwise(listed):
            if after.logprob > before.logprob + ROUNDING:
                yield Finding(f"{after.where}/logprob", f"at most {before.logprob}", f"{after.logprob}")


@check("logprobs.alternatives-differ", on=ASKED)
def alternatives_are_different_tokens(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No token stands twice among the alternatives of an entry."""
    seen = False
    for entry in all_entries(exchange):
        names = [(each.token, each.data) for each in entry.top if each.data is not None and each.identifies_token]
        seen = seen or len(names) > 1
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            yield Finding(f"{entry.where}/top_logprobs", "different tokens", f"{twice[0]!r} twice")
    if not seen:
        raise NotExercised("no entry has several alternatives that tell their bytes")
