"""Compare scenarios with the contract before they are sent: adapt numbers that are out of range, leave out the rest.

A written scenario expects answers, and a contract may not allow its values. A number may move into the range if its
meaning stays: a high temperature of 2.0 may become 1.5, but not 0.2, and 0 stays 0. A step that still breaks the
contract, or that uses a parameter which the contract does not have, is left out with the reason. It is never sent
without what it is about. Where the defaults of sampling are not neutral, the neutral values are sent.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.contract import ABSENT
from openapi.description.validation import Validator
from openapi.schema.nearest_value import nearest_value
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from conformance.scenario import Scenario, Step
    from conformance.stop_string import StopFrom
    from openapi.contract.contract import Contract, Parameter
    from openapi.schema.problem import Problem

WITHOUT_EFFECT: Final[Mapping[str, float]] = {
    "temperature": 0,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "repetition_penalty": 1,
    "n": 1,
    "best_of": 1,
    "max_tokens": 0,
    "max_completion_tokens": 0,
    "min_tokens": 0,
    "top_logprobs": 0,
}
"""Parameters whose exact value is not what a step is about, each with the value that has no effect."""
NEUTRAL: Final[Mapping[str, float]] = {
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "repetition_penalty": 1.0,
}
"""Values that do not change what is sampled. Scenarios rely on them, so they are sent where the defaults differ."""
SHARE: Final = 0.5
"""An adapted number is at least this share as far from the value without effect, and at most its inverse."""
SHARE_IN_ROUNDS: Final = 0.85
"""The same for trials, whose statistics depend on how varied the answers are."""
LONGER: Final = "maxItems"
"""The keyword that a list violates by its size alone, which no written step is about."""
LIMIT: Final = "max_tokens"
NEWER_LIMIT: Final = "max_completion_tokens"
SIZES: Final = (24, 12, 8)
"""Sizes of a list of stop strings that may be long."""
ANSWER: Final = "One, two (three)?\nFour and five, six or seven, eight to ten. Eleven, then twelve: a dozen, not more."
"""An answer from which a stop string of any kind can be cut, to learn whether the contract allows its form."""


class Fitting:
    """Fits scenarios to one contract. `reasons`: why the first unfit step of each scenario was left out."""

    def __init__(self, contract: Contract, leave_out_defaults: frozenset[str] = frozenset()) -> None:
        """`leave_out_defaults`: the scenarios to which no neutral values may be added."""
        self.reasons: dict[str, str] = {}
        self._leave_out_defaults = leave_out_defaults
        self._parameters = {name: item for name, item in contract.parameters.items() if not item.lacking}
        self._neutral = neutral_values(contract)
        self._validator = Validator(contract)

    def fit(self, scenarios: Iterable[Scenario]) -> Iterator[Scenario]:
        """Yield the scenarios with the steps that the contract allows; none for a scenario without such steps."""
        for scenario in scenarios:
            steps: dict[str, Step] = {}
            for step in scenario.steps:
                try:
                    if step.source is not None and step.source not in steps:
                        raise _Unfit(f"it needs the answer to step {step.source!r}")
                    added = {} if scenario.id in self._leave_out_defaults else self._neutral
                    steps[step.name] = self._fit_step(step, added, SHARE_IN_ROUNDS if scenario.rounds else SHARE)
                except _Unfit as unfit:
                    self.reasons.setdefault(scenario.id, f"step {step.name}: {unfit}")
            if steps:
                yield replace(scenario, steps=tuple(steps.values()))

    def _fit_stop(self, stop_from: StopFrom, body: Mapping[str, Any]) -> StopFrom:
        """Return the description of a stop string whose form the contract allows, a list as long as possible."""
        longer = [replace(stop_from, size=size) for size in SIZES if stop_from.form == "last-of-many"]
        message = ""
        for candidate in (*longer, stop_from):
            problem = self._problem({**body, "stop": candidate.cut(ANSWER)})
            if problem is None or problem.parameter != "stop":
                return candidate
            message = problem.message
        raise _Unfit(message)  # such as four strings where a contract allows three

    def _fit_step(self, step: Step, added: Mapping[str, Any], share: float) -> Step:
        if not step.targets_chat:
            return step
        if step.expect == "refusal":
            wrong = [name for name, value in (step.body or {}).items() if type(value) not in (int, float)]
            if strange := [name for name in WITHOUT_EFFECT.keys() & wrong if self._is_strange(name)]:
                raise _Unfit(f"the contract has no parameter {strange[0]}")
            problem = self._problem(step.body) if "model" in (step.body or {}) else None
            if problem and problem.parameter in WITHOUT_EFFECT:
                raise _Unfit(problem.message)  # a refusal of the model must not be one of another value
            return step
        if step.raw is not None:
            if step.expect == "answer" and (problem := self._problem(read_json(step.payload("m").decode()).value)):
                raise _Unfit(problem.message)
            return step
        body = self._with_known_limit({**(step.body or {}), **self._missing(step, added)})
        if step.stop_from is not None and "stop" not in self._parameters:
            raise _Unfit("the contract has no parameter stop")
        if step.stop_from is not None:
            step = replace(step, stop_from=self._fit_stop(step.stop_from, body))
        if step.streams and "stream" not in self._parameters:
            raise _Unfit("the contract has no parameter stream")
        # A step for one check shows it only by an answer, so a refusal that the contract demands shows nothing.
        needs_answer = step.expect == "answer" or step.only_for is not None
        needed = body if needs_answer else WITHOUT_EFFECT.keys() & body.keys()
        if strange := [name for name in needed if self._is_strange(name)]:
            raise _Unfit(f"the contract has no parameter {strange[0]}")
        if self._problem(body):
            body = {name: self._adapted(name, value, share) for name, value in body.items()}
            problem = self._problem(body)
            is_accidental = problem and (problem.parameter in WITHOUT_EFFECT or problem.keyword == LONGER)
            if problem and (needs_answer or is_accidental):
                raise _Unfit(problem.message)  # a step that may be refused must not be refused for another reason
        return step if body == step.body else replace(step, body=body)

    def _missing(self, step: Step, added: Mapping[str, Any]) -> dict[str, Any]:
        """Return the neutral values that a body lacks."""
        body = step.body
        return {} if body is None else {name: value for name, value in added.items() if name not in body}

    def _with_known_limit(self, body: dict[str, Any]) -> dict[str, Any]:
        """Rename the limit of the answer's length if the contract has only the other parameter for it."""
        if LIMIT in body and LIMIT not in self._parameters and NEWER_LIMIT in self._parameters:
            return {NEWER_LIMIT if name == LIMIT else name: value for name, value in body.items()}
        return body

    def _is_strange(self, name: str) -> bool:
        return name not in self._parameters and name not in self._validator.contract.parameters and name != "model"

    def _problem(self, body: Any) -> Problem | None:
        """Return the first reason why the contract does not allow a body; one about a mere companion comes first."""
        contract = self._validator.contract
        complete = complete_body({"model": "m", **body}, contract) if isinstance(body, dict) else body
        problems = self._validator.request_problems(complete)
        return min(problems, key=lambda problem: problem.parameter not in WITHOUT_EFFECT, default=None)

    def _adapted(self, name: str, value: Any, share: float) -> Any:
        """Return the nearest number that the parameter allows, if it means the same, else the value itself."""
        if name not in WITHOUT_EFFECT or name not in self._parameters:
            return value
        nearest, origin = nearest_value(self._parameters[name].schema, value), WITHOUT_EFFECT[name]
        if nearest == value:
            return value
        distance, moved = value - origin, nearest - origin
        return nearest if distance and share <= moved / distance <= 1 / share else value


class _Unfit(Exception):
    """Why a step cannot be sent."""


def neutral_values(contract: Contract) -> dict[str, Any]:
    """Return the neutral values of the parameters whose defaults are not neutral, if the contract allows them."""
    known = {name: contract.parameters[name] for name in NEUTRAL if name in contract.parameters}
    return {
        name: NEUTRAL[name]
        for name, item in known.items()
        if not item.lacking
        and item.default not in (ABSENT, None, NEUTRAL[name])
        and nearest_value(item.schema, NEUTRAL[name]) == NEUTRAL[name]
    }


def complete_body(body: dict[str, Any], contract: Contract) -> dict[str, Any]:
    """Add the default of each required parameter that is missing in a body."""
    return {**body, **{name: item.default for name, item in _fillable(contract).items() if name not in body}}


def complete(scenarios: Iterable[Scenario], contract: Contract) -> Iterator[Scenario]:
    """Yield the scenarios with the required parameters in every body, except the one that a scenario leaves out."""
    fillable = _fillable(contract)

    def complete_step(step: Step, about: str | None) -> Step:
        missing = {name: item.default for name, item in fillable.items() if name not in (step.body or {})}
        missing.pop(about or "", None)
        usable = step.targets_chat and step.body is not None and missing
        return replace(step, body={**(step.body or {}), **missing}) if usable else step

    for scenario in scenarios:
        subject = scenario.subject
        about = subject.parameter if subject is not None and subject.check == "parameters.required-demanded" else None
        yield (
            replace(scenario, steps=tuple(complete_step(step, about) for step in scenario.steps))
            if fillable
            else scenario
        )


def _fillable(contract: Contract) -> dict[str, Parameter]:
    """Return the required parameters that have a default; model and messages have none."""
    return {name: item for name, item in contract.parameters.items() if item.required and item.default is not ABSENT}
