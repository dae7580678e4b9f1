"""A check of penalties by what was drawn: tokens that the text already has are as unlikely as penalties make them.

At temperature 1 a token is drawn with a probability proportional to exp(log-probability - penalties). Among the
alternatives that an answer lists, whichever token was drawn, these probabilities are exact. How much likelier other
penalties make all drawn tokens together is a number that exceeds N, for a server that draws as it should, in one of N
runs at most.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from conformance.check import Context, Finding, NotExercised, NotObserved, relation
from conformance.judge.applicability import why_unanswered
from conformance.judge.checks.effects.amounts import SAME, key_of, list_changes, list_penalties
from conformance.judge.logprob_entries import CUT, LogprobEntry, entries_by_choice, find_sure, first_entries
from conformance.judge.token_counts import completion_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.exchange import Exchange

SHARES: Final = (0.0, 0.5, 1.0)
"""The shares of the penalties that a faulty server may subtract."""
PROOF: Final = math.log(1e6)
"""By how much likelier lower penalties must make the tokens, as a logarithm; chance does it in one of 100,000 runs."""


@relation("effects.penalties-drawn", over=("unpenalised", "penalised", "drawn"))
def penalties_make_tokens_less_likely(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """In each of several choices at temperature 1, presence_penalty and frequency_penalty are subtracted as they are:
    lower ones do not explain much better which tokens were drawn.

    Judged only if log-probabilities are those before the penalties, and if all tokens have them.
    """
    if any(400 <= (exchange.status or 0) < 500 for exchange in exchanges.values()):
        raise NotExercised("the penalties, the choices or the number of alternatives are refused")
    if reason := next(filter(None, map(why_unanswered, exchanges.values())), None):
        raise NotObserved(reason)
    _require_numbers_without_penalties(exchanges["unpenalised"], exchanges["penalised"])
    drawn = exchanges["drawn"]
    entries = entries_by_choice(drawn)
    if abs(completion_count(drawn) - sum(map(len, entries.values()))) > len(entries):
        raise NotExercised("some tokens of the output have no log-probabilities")
    sent: Any = drawn.request_json
    presence, frequency = sent["presence_penalty"], sent["frequency_penalty"]
    shares = [(first, second) for first in SHARES for second in SHARES]
    likelihoods = {
        (first, second): sum(_log_likelihood(items, first * presence, second * frequency) for items in entries.values())
        for first, second in shares
    }
    best = max(likelihoods, key=lambda pair: likelihoods[pair])
    if likelihoods[best] - likelihoods[1.0, 1.0] > PROOF:
        yield Finding(
            "/drawn/choices/*/logprobs",
            f"tokens as likely as with presence_penalty {presence} and frequency_penalty {frequency}",
            f"tokens as with {best[0] * presence} and {best[1] * frequency}",
        )


def _log_likelihood(entries: Sequence[LogprobEntry], presence: float, frequency: float) -> float:
    """Return the logarithm of the probability of all tokens, each among its alternatives."""
    total = 0.0
    for entry, penalties in zip(entries, list_penalties(entries, presence, frequency), strict=True):
        listed = {key: value for key, value in find_sure(entry).items() if CUT not in key[0]}
        if key_of(entry) not in listed:
            continue
        left = {key: value - penalties.get(key, 0.0) for key, value in listed.items()}
        best = max(left.values())
        total += left[key_of(entry)] - best - math.log(sum(math.exp(value - best) for value in left.values()))
    return total


def _require_numbers_without_penalties(unpenalised: Exchange, penalised: Exchange) -> None:
    """Raise NotExercised unless the log-probabilities of greedy answers are the same with penalties as without."""
    sent: Any = penalised.request_json
    plain, other = first_entries(unpenalised), first_entries(penalised)
    owed = list(list_penalties(other, sent["presence_penalty"], sent["frequency_penalty"]))
    changes = list(list_changes(plain, other, owed))
    if not any(amount for amount, _ in changes) or any(abs(change) >= SAME for _, change in changes):
        raise NotExercised("log-probabilities include the penalties, or do not show whether they do")
