"""Generate requests with several parameters each, so that every two parameters meet in some request.

A server that handles each parameter alone may still confuse two of them. Each request is sent plain and streamed, and
is greedy or seeded, so that both answers can be compared. All checks of answers judge them as any other. `crowds` has
calls, formats, reasoning and media next to every parameter.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.combinations.tasks import list_supported
from conformance.plan.scenarios.fitting import Fitting, complete_body
from conformance.scenario import Scenario, Step
from openapi.contract.defaults import WEATHER_TOOL
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.contract.contract import Contract

LIMIT: Final = 10  # tokens
LIMITS: Final = frozenset(("max_tokens", "max_completion_tokens"))
"""Two names of one limit, which OpenAI refuses in one request."""
ENDING: Final = frozenset(("stop", "include_stop_str_in_output", "stop_token_ids"))
PER_REQUEST: Final = 14
"""Parameters that a request combines. With more of them one fault hides another, with fewer more requests are sent."""
INSTRUCTIONS: Final = {"role": "system", "content": "Answer in plain words."}
QUESTION: Final = {"role": "user", "content": "Anna"}
"""A name alone leaves even a certain model many ways to begin, so that sampled answers differ early."""
VALUES: Final[Mapping[str, Mapping[str, Any]]] = {
    "n": {"n": 2},
    "logprobs": {"logprobs": True, "top_logprobs": 2},
    "stop": {"stop": ["e", "zq"]},
    "include_stop_str_in_output": {"stop": ["a"], "include_stop_str_in_output": True},
    "seed": {"seed": 20, "temperature": 1.0},
    "temperature": {"temperature": 0},
    "top_p": {"top_p": 0.8},
    "top_k": {"top_k": 20},
    "min_p": {"min_p": 0.05},
    "presence_penalty": {"presence_penalty": 0.6},
    "frequency_penalty": {"frequency_penalty": 0.6},
    "repetition_penalty": {"repetition_penalty": 1.1},
    "max_tokens": {"max_tokens": 4},
    "max_completion_tokens": {"max_completion_tokens": 6},
    "ignore_eos": {"ignore_eos": True},
    "skip_special_tokens": {"skip_special_tokens": False},
    "stop_token_ids": {"stop_token_ids": [11]},
    "logit_bias": {"logit_bias": {"300": 2, "400": -100}},
    "tools": {"tools": [WEATHER_TOOL], "tool_choice": "none"},
    "response_format": {"response_format": {"type": "text"}},
    "user": {"user": "chatproof"},
    "stream_interval": {"stream_interval": 3},
    "return_token_ids": {"return_token_ids": True},
    "include_reasoning": {"include_reasoning": False},
    "messages": {"messages": [INSTRUCTIONS, QUESTION]},
}
"""What a request with a parameter says. The values have an effect on most answers without ending them at once."""


BASES: Final[tuple[Mapping[str, Any], ...]] = ({"temperature": 0}, {"seed": 20, "temperature": 1.0}, {})
"""What makes answers repeat: the first of these that the contract allows together with the others."""


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return the scenarios: one for each request, sent plain and streamed."""
    requests = _Requests(contract)
    scenarios = [_scenario("-".join(names), names, requests.join(names) or {}, requests) for names in _cover(requests)]
    return tuple(Fitting(contract).fit(scenarios))


class _Requests:
    """Makes the body of a request from the names of the parameters that it combines."""

    def __init__(self, contract: Contract) -> None:
        self.known = list_supported(contract)
        self._validator = Validator(contract)
        usable = {name: self._usable(values) for name, values in VALUES.items() if name in self.known}
        self._values = {name: values for name, values in usable.items() if values}
        self.names = tuple(name for name in self._values if self.join((name,)) is not None)

    def merge(self, names: tuple[str, ...]) -> dict[str, Any] | None:
        """Return the values of the parameters; None if they contradict each other."""
        joined: dict[str, Any] = {}
        for name in names:
            for key, value in self._values[name].items():
                if joined.setdefault(key, value) != value:
                    return None
        return None if LIMITS <= joined.keys() else joined

    def join(self, names: tuple[str, ...]) -> dict[str, Any] | None:
        """Return the parameters in one request; None if they contradict each other or the contract."""
        joined = self.merge(names)
        if joined is None:
            return None
        limits = {} if "max_completion_tokens" in joined else {"max_tokens": LIMIT}
        bodies = ({"messages": [QUESTION], **self._usable({**limits, **base}), **joined} for base in BASES)
        return next((body for body in bodies if self._is_allowed(body)), None)

    def sent_by(self, name: str) -> set[str]:
        """Return the parameters that a request with this one sends."""
        return set(self._values[name])

    def _usable(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if name in self.known}

    def _is_allowed(self, body: dict[str, Any]) -> bool:
        complete = complete_body({"model": "m", **body}, self._validator.contract)
        return not self._validator.request_problems(complete)


def _cover(requests: _Requests) -> Iterator[tuple[str, ...]]:
    """Yield groups of parameters so that every two that may be combined are in one group.

    Greedy: each group begins with a pair that is missing, and takes the parameters that add the most missing pairs.
    """
    place = requests.names.index
    missing = {pair for pair in combinations(requests.names, 2) if requests.join(pair) is not None}
    while missing:
        group: tuple[str, ...] = min(missing)
        while len(group) < PER_REQUEST:
            gains = {
                name: sum(tuple(sorted((name, other), key=place)) in missing for other in group)
                for name in requests.names
                if name not in group and requests.join((*group, name)) is not None
            }
            if not gains or not max(gains.values()):
                break
            group = (*group, max(gains, key=lambda name: gains[name]))
        missing -= set(combinations(sorted(group, key=place), 2))
        yield group


def _scenario(name: str, names: tuple[str, ...], body: dict[str, Any], requests: _Requests) -> Scenario:
    usage = {"stream_options": {"include_usage": True}} if "stream_options" in requests.known else {}
    steps = (Step("paired", body=body), Step("paired-streamed", body={**body, "stream": True, **usage}))
    return Scenario(f"paired-{name}", f"{', '.join(names)} in one request, plain and streamed", steps)
