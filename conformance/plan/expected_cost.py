"""Estimate what a plan usually sends: trials end early if the server honours what they test."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.plan.plan import Plan
    from conformance.scenario import Scenario, Step

CHARACTERS_PER_TOKEN: Final = 4
LONGEST: Final = 20_000
"""Characters of a prompt; a longer one is sent to be refused."""
USUAL_ANSWER: Final = 0.5
"""The share of its limit that an answer usually uses: many end by themselves."""


@dataclass(frozen=True, slots=True)
class ExpectedCost:
    """What a plan usually costs: the number of requests, and of the tokens of prompts and completions."""

    requests: int
    prompt_tokens: int
    completion_tokens: int

    def __add__(self, other: ExpectedCost) -> ExpectedCost:
        """Return the cost of two plans."""
        return ExpectedCost(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    def describe(self) -> str:
        """Describe the cost in words."""
        tokens = f"{self.prompt_tokens:,} prompt and {format_quantity(self.completion_tokens, 'completion token')}"
        return f"usually about {format_quantity(self.requests, 'request')}, {tokens}"


def estimate_cost(plan: Plan) -> ExpectedCost:
    """Return what a plan usually costs."""
    rounds = count_usual_rounds(plan)
    steps = [step for scenario in plan.scenarios for step in scenario.steps if is_usually_sent(scenario, step, rounds)]
    answered = [step.body for step in steps if step.targets_chat and step.expect != "refusal" and step.body]
    texts = (json.dumps([body.get("messages"), body.get("tools")]) for body in answered)
    prompt = sum(min(len(text), LONGEST) // CHARACTERS_PER_TOKEN for text in texts)
    completion = USUAL_ANSWER * sum(step.tokens for step in steps if step.stop_after_events is None)
    return ExpectedCost(len(steps), prompt, round(completion))


def count_usual_rounds(plan: Plan) -> Mapping[tuple[str, str], int]:
    """Return how many rounds the trials of each scenario need if the server honours what they test, by part."""
    rounds: dict[tuple[str, str], int] = {}
    for assertion in plan.assertions:
        trial = assertion.check.trial
        if trial is None:
            continue
        for part in trial.parts_of(assertion.step).values():
            key = assertion.scenario.id, part
            rounds[key] = max(rounds.get(key, 1), trial.test.fewest_rounds)
    return rounds


def is_usually_sent(scenario: Scenario, step: Step, rounds: Mapping[tuple[str, str], int]) -> bool:
    """Return whether a step is usually sent. The first round of a trial is, a later one if a trial needs it.

    What another scenario shows as well is sent only if that one is refused.
    """
    if scenario.unless_answered:
        return False
    return scenario.spread or step.round <= rounds.get((scenario.id, step.part), 1)
