"""Carried: what one request asks for, and what it leaves out with null, is its own affair.

Whoever keeps a request's parameters in a place that the next one reads shows them there: where it says nothing itself.
What is compared are answers drawn with the same seed, asked for again where they differ; a server whose seeded answers
do not repeat is not accused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NoOccasion, NotObserved, check
from conformance.judge.applicability import scenario, unsuccessful
from conformance.judge.checks.effects import SAMPLING, is_greedy, long_enough, text_of
from conformance.judge.checks.finish import completion_of
from conformance.judge.rounds import trial
from conformance.statistics import AT_SIGHT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.check import Round
    from conformance.exchange import Exchange

SCENARIO = "one-after-another"
HARDLY_ANY = 2  # tokens: no server's own limit is so low


def _as_drawn(round_: Round, part: str) -> bool:
    """Whether an answer is the seeded one. Raises NoOccasion where that one does not repeat."""
    drawn, again = (text_of(round_, name) for name in ("drawn", "drawn-again"))
    if drawn != again:
        raise NoOccasion("seeded answers of this server do not repeat")
    return text_of(round_, part) == drawn


def _counted_as_drawn(round_: Round, part: str) -> bool:
    """Whether usage, where the answers have it, counts as many tokens of the prompt as of the same one before."""
    drawn, again, found = ((round_[name].usage or {}).get("prompt_tokens") for name in ("drawn", "drawn-again", part))
    return drawn != again or found == drawn


@trial(
    "relations.nothing-carried-over",
    scenario=SCENARIO,
    parts=("settled", "drawn", "drawn-again", "laden", "drawn-after"),
    test=AT_SIGHT,
    expected="the text of the same request before, and as many tokens of the prompt",
)
def nothing_is_carried_over(round_: Round, _: Sequence[Round]) -> bool | None:
    """A seeded request has the same answer after another request that asks for everything which it leaves out itself.

    The request between has instructions, a temperature of 0, penalties, biases and a lower limit. What of them changes
    the next answer, or the tokens of its prompt, was kept where it is taken for that one's own.
    """
    return _as_drawn(round_, "drawn-after") and _counted_as_drawn(round_, "drawn-after")


@trial(
    "effects.seed-not-carried-over",
    scenario=SCENARIO,
    parts=("drawn", "drawn-again", "unseeded", "drawn-after", "unseeded-after"),
    test=AT_SIGHT,
    expected="other texts for requests without a seed, each sent after the same seed",
)
def seed_is_not_carried_over(round_: Round, _: Sequence[Round]) -> bool | None:
    """Requests without a seed have other answers each, although the same seed was used right before each of them."""
    first, second = (text_of(round_, name) for name in ("unseeded", "unseeded-after"))
    long_enough(first)
    return None if first == text_of(round_, "drawn") else first != second


@trial(
    "relations.null-as-left-out",
    scenario=SCENARIO,
    parts=("drawn", "drawn-again", "nulled"),
    test=AT_SIGHT,
    expected="the text of the request that leaves them out",
)
def null_is_as_good_as_left_out(round_: Round, _: Sequence[Round]) -> bool | None:
    """Parameters that are null have the same answer as parameters that are left out: null stands for the default, not
    for 0.
    """
    return _as_drawn(round_, "nulled")


@trial(
    "effects.null-seed-is-none",
    scenario=SAMPLING,
    parts=("greedy", "null-seeded", "null-seeded-again"),
    test=AT_SIGHT,
    expected="another text each time",
)
def a_seed_of_null_is_none(round_: Round, _: Sequence[Round]) -> bool | None:
    """A seed of null is no seed: the same sampled request has another text each time."""
    greedy, first, second = (text_of(round_, name) for name in ("greedy", "null-seeded", "null-seeded-again"))
    long_enough(greedy)
    return None if not first or is_greedy(round_, "null-seeded") else first != second


@check("finish.null-limits-nothing", on=scenario("max_tokens-null-accepted"))
def a_limit_of_null_limits_nothing(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With `max_tokens: null` an answer is not cut off after a token or two: null is no limit, and not 0 or 1."""
    if exchange.status is not None and 400 <= exchange.status < 500:
        raise NoOccasion("null is refused")
    if lack := unsuccessful(exchange):
        raise NotObserved(lack)
    found = completion_of(exchange)
    if found <= HARDLY_ANY and exchange.finish_reason() == "length":
        yield Finding("/choices/0/finish_reason", "no limit, or the server's own", f"length after {found} tokens")
