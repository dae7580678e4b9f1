"""Checks of effects that an answer shows by itself, next to everything else that a request may have."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from conformance.check import Context, Finding, NotExercised, check
from conformance.judge.applicability import in_scenario, why_unanswered
from conformance.judge.logprob_entries import any_entries
from conformance.judge.round_texts import repeats_itself
from conformance.judge.streams import choices, chunks
from conformance.plan.scenarios.combinations.crowds import CROWDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange
    from conformance.scenario import Scenario, Step
    from openapi.contract.contract import Contract

CERTAIN: Final = 100
"""The bias with which a token is the only one that is chosen."""
FEW_CHARACTERS: Final = 8
"""A shorter text may be the repetition of anything."""


def _asks_for_effects(scenario: Scenario, step: Step, _contract: Contract) -> bool:
    body = step.body or {}
    return scenario.id.startswith(CROWDS) and bool(body.get("logprobs") or body.get("logit_bias"))


CROWDED: Final = replace(in_scenario(f"{CROWDS}*"), applies_to=_asks_for_effects, unmet=why_unanswered)


@check("effects.kept-in-crowds", on=CROWDED)
def effects_are_kept_in_crowds(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """Next to everything else that a request may have, each choice has the log-probabilities that it asks for, repeats
    the token of a bias of 100, and has none of the bad words among its tokens.

    Not judged of choices with reasoning or calls.
    """
    sent: Any = exchange.request_json
    biased = CERTAIN in (sent.get("logit_bias") or {}).values()
    banned, stopped = set(sent.get("bad_words") or ()), bool(sent.get("stop"))
    entries = any_entries(exchange)
    judged = False
    for index, choice in exchange.choices.items():
        if choice.reasoning or choice.tool_calls or not choice.content.strip():
            continue
        where = f"/choices/{index}"
        if sent.get("logprobs") and not (exchange.is_stream and "logprobs-in-streams" in context.contract.rules):
            judged = True
            if not entries.get(index) and not _has_other_form(exchange):
                yield Finding(f"{where}/logprobs/content", "an entry for each token", "none")
        if biased and not stopped and len(choice.content) >= FEW_CHARACTERS:
            judged = True
            if not repeats_itself(choice.content.strip()):
                yield Finding(f"{where}/message/content", "one token again and again", repr(choice.content)[:200])
        said = [entry.token for entry in entries.get(index, ()) if entry.token.lstrip() in banned]
        judged = judged or bool(banned and entries.get(index))
        if said:
            yield Finding(f"{where}/logprobs/content", "none of the bad words", f"the token {said[0]!r}")
    if not judged:
        raise NotExercised("no choice shows one of these effects")


def _has_other_form(exchange: Exchange) -> bool:
    """Return whether log-probabilities are there, but not in `content`, as documents may say."""
    answers = [chunk for _, chunk in chunks(exchange)] if exchange.is_stream else [exchange.json]
    found = [choice for answer in answers for choice in choices(answer)]
    forms = [item for choice in found if isinstance(item := choice.get("logprobs"), dict)]
    return any(value for item in forms for name, value in item.items() if name != "content")
