"""Checks of the amounts that penalties subtract from logits, which log-probabilities show."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from conformance.check import Finding, NotExercised, NotObserved, relation
from conformance.judge.applicability import why_unanswered
from conformance.judge.checks.logprobs.values import LEAST
from conformance.judge.logprob_entries import first_entries
from conformance.judge.token_counts import completion_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.check import Context
    from conformance.exchange import Exchange
    from conformance.judge.logprob_entries import LogprobEntry

    Token = tuple[str, bytes | None]

SAME: Final = 0.5
"""The greatest difference of a log-probability that is one of rounding."""
CLEAR: Final = 1.0
"""A difference of two logits, or of two amounts, that rounding does not explain."""


@relation("effects.penalties-whole", over=("unpenalised", "penalised"))
def penalties_are_subtracted_as_they_are(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """presence_penalty is subtracted once from the logit of each token of the output, and frequency_penalty once for
    each of its occurrences: at temperature 0 the token with the greatest difference is chosen.

    Tokens of the prompt have no penalty. If log-probabilities include the penalties, they must differ by these amounts
    from those without. Not judged if some tokens of the output have no log-probabilities.
    """
    if any(400 <= (exchange.status or 0) < 500 for exchange in exchanges.values()):
        raise NotExercised("the penalties or the number of alternatives are refused")
    for exchange in exchanges.values():
        if reason := why_unanswered(exchange):
            raise NotObserved(reason)
        if abs(completion_count(exchange) - len(first_entries(exchange))) > 1:
            raise NotExercised("some tokens of the output have no log-probabilities")
    sent: Any = exchanges["penalised"].request_json
    plain, penalised = (first_entries(exchanges[name]) for name in ("unpenalised", "penalised"))
    owed = list(list_penalties(penalised, sent["presence_penalty"], sent["frequency_penalty"]))
    changes = list(list_changes(plain, penalised, owed))
    if all(abs(change) < SAME for _, change in changes):
        # If the first tokens differ, only the first one shows anything: nothing is subtracted from its alternatives.
        count = len(penalised) if any(amount for amount, _ in changes) else 1
        yield from _compare_choices(penalised[:count], owed[:count])
    else:
        yield from _compare_amounts(changes)


@relation("effects.penalties-at-temperature-0", over=("unpenalised", "penalised"))
def penalties_change_greedy_answers(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """presence_penalty and frequency_penalty change an answer at temperature 0 that repeats its tokens.

    Reported if a token is repeated although its penalty is twice its lead over a token without a penalty. How penalties
    are computed is not judged.
    """
    if any(400 <= (exchange.status or 0) < 500 for exchange in exchanges.values()):
        raise NotExercised("the penalties or the number of alternatives are refused")
    if reason := next(filter(None, map(why_unanswered, exchanges.values())), None):
        raise NotObserved(reason)
    sent: Any = exchanges["penalised"].request_json
    plain, penalised = (first_entries(exchanges[name]) for name in ("unpenalised", "penalised"))
    if [entry.token for entry in plain] != [entry.token for entry in penalised]:
        return
    owed = list_penalties(penalised, sent["presence_penalty"], sent["frequency_penalty"])
    for entry, penalties in zip(plain, owed, strict=True):
        free = [item.logprob for item in entry.top if item.logprob > LEAST and key_of(item) not in penalties]
        penalty = penalties.get(key_of(entry), 0.0)
        if penalty and free and penalty > 2 * (entry.logprob - max(free)) + CLEAR:
            yield Finding(entry.where, f"another token: the penalty of {entry.token!r} is {penalty}", repr(entry.token))
            return


def key_of(entry: LogprobEntry) -> Token:
    """Return what tells a token from others."""
    return entry.token, entry.data


def list_penalties(
    entries: Sequence[LogprobEntry], presence: float, frequency: float
) -> Iterator[Mapping[Token, float]]:
    """Yield for each position the penalties of the tokens before it."""
    counts: Counter[Token] = Counter()
    for entry in entries:
        yield {token: presence + frequency * count for token, count in counts.items()}
        counts[key_of(entry)] += 1


def list_changes(
    plain: Sequence[LogprobEntry], penalised: Sequence[LogprobEntry], owed: Sequence[Mapping[Token, float]]
) -> Iterator[tuple[float, float]]:
    """Yield the penalty of each alternative and the change of its log-probability, as far as the answers agree."""
    for before, after, penalties in zip(plain, penalised, owed, strict=False):
        known = {key_of(item): item.logprob for item in before.top if item.identifies_token and item.logprob > LEAST}
        for item in after.top:
            if key_of(item) in known and item.logprob > LEAST:
                yield penalties.get(key_of(item), 0.0), item.logprob - known[key_of(item)]
        if key_of(before) != key_of(after):
            return


def _compare_choices(entries: Sequence[LogprobEntry], owed: Sequence[Mapping[Token, float]]) -> Iterator[Finding]:
    """Yield a finding for the first token that is not the one with the greatest logit after the penalties."""
    for entry, penalties in zip(entries, owed, strict=True):
        chosen = entry.logprob - penalties.get(key_of(entry), 0.0)
        for other in entry.top:
            if other.identifies_token and other.logprob - penalties.get(key_of(other), 0.0) > chosen + CLEAR:
                expected = f"{other.token!r} at {other.logprob:.1f}, less {penalties.get(key_of(other), 0.0)}"
                got = f"{entry.token!r} at {entry.logprob:.1f}, less {penalties.get(key_of(entry), 0.0)}"
                yield Finding(entry.where, expected, got)
                return


def _compare_amounts(changes: Sequence[tuple[float, float]]) -> Iterator[Finding]:
    """Yield a finding if log-probabilities do not change by the penalties, apart from what all tokens gain."""
    free = [change for amount, change in changes if not amount]
    if len(free) < 2 or max(free) - min(free) > CLEAR:
        raise NotExercised("log-probabilities do not repeat, or the penalties change those of all tokens")
    for amount, change in changes:
        if amount and abs(median(free) - change - amount) > CLEAR:
            yield Finding("/penalised/choices/0/logprobs", f"{amount} less", f"{median(free) - change:.1f} less")
            return
