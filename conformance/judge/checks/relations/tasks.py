"""Checks of tasks of every kind with many parameters that must not change their answers."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, NotObserved, series
from conformance.judge.answer_fields import shape_of
from conformance.judge.applicability import why_unanswered
from conformance.judge.evidence.answer_difference import compare_answers, is_near_tie, trimmed_texts
from conformance.judge.evidence.repetition import require_repetition
from conformance.plan.scenarios.combinations.tasks import ALONE, MORE, SCENARIO, STREAMED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


@series("relations.tasks-unchanged", scenario=SCENARIO)
def parameters_without_effect_leave_tasks_alone(
    exchanges: Mapping[str, Exchange], context: Context
) -> Iterator[Finding]:
    """A greedy answer with calls, reasoning, a format, or after a long prompt stays the same next to parameters that
    have no effect on it: a seed, labels, log-probabilities, stop strings that never occur, and what narrows the choice.

    Reported if rounding cannot explain a difference, also one between the plain and the streamed answer, or if both are
    the same other one.
    Not judged if any greedy answer of the run does not repeat.
    """
    answered = {name: item for name, item in exchanges.items() if why_unanswered(item) is None}
    if not answered:
        raise NotObserved("no task was answered")
    require_repetition(context)
    compared = False
    for name in exchanges:
        task, found, _ = name.partition(ALONE)
        alone = answered.get(name)
        if not found or alone is None:
            continue
        others = {step: item for step, item in answered.items() if step.startswith(f"{task}{MORE}")}
        compared = compared or bool(others)
        for step, other in others.items():
            streamed = others.get(f"{step}{STREAMED}")
            if _is_another(alone, other, streamed):
                yield Finding(f"/{step}/choices/0/message", _describe(alone), _describe(other))
            elif streamed is not None and _is_another(other, streamed, None) and _differ_visibly(other, streamed):
                yield Finding(f"/{step}{STREAMED}/choices/0/message", _describe(other), _describe(streamed))
    if not compared:
        raise NotExercised("no task is answered with more parameters")


def _is_another(alone: Exchange, other: Exchange, streamed: Exchange | None) -> bool:
    """Return whether an answer clearly differs from the one alone, or is the same other one in both forms.

    The same near tie may be decided otherwise in both.

    The same text ends for the same reason.

    White space around the texts does not count: it is trimmed by some servers in one form only.
    """
    if trimmed_texts(alone) == trimmed_texts(other):
        return _ends_of(alone) != _ends_of(other)
    difference = compare_answers(alone, other)
    both = streamed is not None and trimmed_texts(other) == trimmed_texts(streamed)
    return difference == "clear" or (difference == "possible" and both and not is_near_tie(alone, other))


def _differ_visibly(one: Exchange, other: Exchange) -> bool:
    return _without_space(one) != _without_space(other) or _ends_of(one) != _ends_of(other)


def _without_space(exchange: Exchange) -> str:
    """Return all texts of an answer without white space, which may differ between the forms of a call."""
    texts = trimmed_texts(exchange)
    parts = (part for content, reasoning, calls in texts for part in (content, reasoning, *chain.from_iterable(calls)))
    return "".join("".join(map(str, parts)).split())


def _ends_of(exchange: Exchange) -> list[str | None]:
    """Return why each choice ended. Either reason may end an answer with calls; other checks judge which one."""
    return ["stop" if finish == "tool_calls" else finish for *_, finish in shape_of(exchange).choices]


def _describe(exchange: Exchange) -> str:
    """Return the first choice of an answer in one line."""
    choices = shape_of(exchange).choices
    if not choices:
        return "no choices"
    _, content, reasoning, calls, finish = choices[0]
    parts = {"reasoning": reasoning, "content": content, "calls": [list(call) for call in calls], "finish": finish}
    return ", ".join(f"{name} {part!r}" for name, part in parts.items() if part)[:240]
