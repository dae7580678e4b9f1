"""Generate requests in pairs, with a default left out and sent, under conditions that would show another value.

One scenario holds the pairs of all parameters, so that they share requests. A third request of each parameter has
another value: if its answer is the same, the conditions show nothing about the parameter.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios import fitting
from conformance.scenario import Scenario, Step, Subject
from openapi.contract.contract import ABSENT, Keyword
from openapi.contract.defaults import STORY_WORDS, WEATHER_TOOL, other_values, stated_default
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.contract.contract import Contract, Parameter

CHECK: Final = "parameters.default-held"
SCENARIO: Final = "defaults"
ROUNDS: Final = 5
GREETING: Final = [{"role": "user", "content": "Hello!"}]
STORY: Final = [{"role": "user", "content": "Tell me a story"}]
SURPRISE: Final = [{"role": "user", "content": "Tell me a story about a dragon"}]
LISTING: Final = [{"role": "user", "content": "Count from 1 to 9"}]
REPEATED: Final = [{"role": "user", "content": "Repeat: " + " ".join("a" * 12)}]
BRIEF: Final = [{"role": "user", "content": "What is 2 + 3?"}]
WEATHER: Final = [{"role": "user", "content": "What is the weather in Rome?"}]
SEEDED: Final = {"messages": STORY, "max_tokens": 40, "seed": 4242}
GREEDY: Final = {"messages": STORY, "max_tokens": 64, "temperature": 0}


@dataclass(frozen=True, slots=True)
class Condition:
    """A request in which other values of some parameters would show.

    body: the request with all of these parameters left out.
    instead: whether it is only for parameters whose earlier condition the contract forbids or makes milder.
    """

    name: str
    body: Mapping[str, Any]
    parameters: tuple[str, ...]
    instead: bool = False


CONDITIONS: Final = (
    # Even a model that is almost certain of its usual story has a choice at temperature 1 here.
    Condition("seeded", {**SEEDED, "messages": SURPRISE}, ("temperature",)),
    Condition(
        "sampled",
        {**SEEDED, "messages": SURPRISE, "temperature": 2.0},
        (
            *("top_p", "top_k", "min_p", "n", "best_of", "use_beam_search"),
            *("presence_penalty", "frequency_penalty", "repetition_penalty"),
        ),
    ),
    # Where no seed or only a low temperature is allowed, a small penalty shows in a greedy answer that repeats itself.
    Condition(
        "repeated",
        {"messages": REPEATED, "max_tokens": 64, "temperature": 0},
        ("presence_penalty", "frequency_penalty", "repetition_penalty"),
        instead=True,
    ),
    Condition("unseeded", {"messages": STORY, "max_tokens": 40, "temperature": 2.0}, ("seed",)),
    Condition(
        "greedy",
        GREEDY,
        ("stream", "logprobs", "stop", "stop_token_ids"),
    ),
    Condition("stopped", {**GREEDY, "stop": list(STORY_WORDS)}, ("include_stop_str_in_output",)),
    Condition("measured", {**GREEDY, "logprobs": True}, ("top_logprobs",)),
    Condition("brief", {"messages": BRIEF, "max_tokens": 31, "temperature": 0}, ("ignore_eos",)),
    Condition(
        "endless",
        {"messages": BRIEF, "max_tokens": 31, "temperature": 0, "ignore_eos": True},
        ("skip_special_tokens",),
    ),
    Condition("unlimited", {"messages": LISTING, "temperature": 0}, ("max_tokens", "max_completion_tokens")),
    Condition("asked", {"messages": WEATHER, "max_tokens": 48, "temperature": 0}, ("tools",)),
    Condition(
        "offered",
        {"messages": WEATHER, "max_tokens": 48, "temperature": 0, "tools": [WEATHER_TOOL]},
        ("tool_choice",),
    ),
    Condition(
        "beams",
        {"messages": GREETING, "max_tokens": 40, "n": 3, "best_of": 3, "temperature": 0},
        ("length_penalty", "diversity_penalty"),
    ),
)


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return the scenario; empty if the contract states no default that answers show."""
    pairs = _Pairs(contract)
    for condition in CONDITIONS:
        for name in condition.parameters:
            parameter = contract.parameters.get(name)
            if parameter is None or parameter.lacking or parameter.required:
                continue
            if not condition.instead or name not in pairs.shown:
                pairs.add(condition, parameter)
    if not pairs.steps:
        return ()
    steps = tuple(_numbered(step, number) for number in range(1, ROUNDS + 1) for step in pairs.steps.values())
    return (Scenario(SCENARIO, "defaults left out, sent, and replaced by other values", steps, rounds=ROUNDS),)


def _numbered(step: Step, number: int) -> Step:
    return replace(step, name=f"{step.part}.{number}", round=number)


class _Pairs:
    """Collects the steps of the scenario. Requests with the same body are one step.

    shown: the parameters with a pair under a condition whose values the contract allows as they are.
    """

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._neutral = fitting.neutral_values(contract)
        self._validator = Validator(contract)
        self.steps: dict[str, Step] = {}
        self.shown: set[str] = set()

    def add(self, condition: Condition, parameter: Parameter) -> None:
        """Add the requests of a parameter, unless the contract does not allow one of them."""
        default, name = stated_default(parameter), parameter.name
        neutral = {key: value for key, value in self._neutral.items() if key != name}
        body = self._clip({**neutral, **condition.body})
        if default is ABSENT or not self._is_valid(body):
            return
        said = {**body, name: default}
        others = [
            other for value in other_values(parameter, lambda _: True) for other in self._bodies(body, name, value)
        ]
        other = next((other for other in others if self._is_valid(other)), None)
        if other is None or not self._is_valid(said):
            return
        if condition.body.items() <= body.items():
            self.shown.add(name)
        prefix = f"{condition.name}-" if condition.instead else ""
        roles = {
            "left-out": self._part(body, f"{condition.name}-{name}" if self._neutral else condition.name),
            "sent": self._part(said, f"{prefix}{name}-sent"),
            "other": self._part(other, f"{prefix}{name}-other"),
        }
        key = _key(other)
        self.steps[key] = replace(self.steps[key], expect="either", subject=_subject(parameter, default, roles))

    def _clip(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Lower the numbers of a body that exceed the maximum of their parameter."""
        schemas = {name: item.schema for name, item in self._contract.parameters.items()}
        return {
            name: min(value, schemas[name]["maximum"]) if "maximum" in schemas.get(name, {}) else value
            for name, value in body.items()
        }

    def _bodies(self, body: Mapping[str, Any], name: str, value: Any) -> Iterator[dict[str, Any]]:
        """Yield a request with another value, and the same with the parameters that the value needs."""
        yield {**body, name: value}
        if name == "n":
            yield {**body, name: value, "best_of": value}

    def _part(self, body: Mapping[str, Any], name: str) -> str:
        """Return the part that sends a body, which is added if it is missing."""
        step = Step(name=name, part=name, body=dict(body), expect="answer")
        return self.steps.setdefault(_key(body), step).part

    def _is_valid(self, body: Mapping[str, Any]) -> bool:
        known = {name for name, parameter in self._contract.parameters.items() if not parameter.lacking}
        complete = fitting.complete_body({"model": "m", **body}, self._contract)
        return set(body) <= known and not self._validator.request_problems(complete)


def _key(body: Mapping[str, Any]) -> str:
    return json.dumps(body, sort_keys=True)


def _subject(parameter: Parameter, default: Any, roles: Mapping[str, str]) -> Subject:
    configured = parameter.default is not ABSENT and parameter.default_note is not None
    shown = json.dumps(default)
    return Subject(
        requirement=f"parameters.{parameter.name}.default-held",
        check=CHECK,
        parameter=parameter.name,
        keyword=Keyword.MAY if configured else parameter.acceptance("default"),
        source=parameter.source_of("default"),
        summary=f"{parameter.name}: a request without it is answered like one with {shown}",
        value=default,
        expect="accept",
        interpretation=parameter.interpretation,
        roles=roles,
    )
