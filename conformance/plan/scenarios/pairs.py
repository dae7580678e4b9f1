"""Generate requests with several parameters each, so that every two parameters meet in some request.

A server that handles each parameter alone may still confuse two of them. Each request is sent plain and streamed, and
is greedy or seeded, so that both answers can be compared. All checks of answers judge them as any other.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.fitting import Fitting, complete_body
from conformance.scenario import Scenario, Step
from openapi.contract.defaults import WEATHER_TOOL
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.contract.contract import Contract

LIMIT: Final = 10  # tokens
PER_REQUEST: Final = 5
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
    "logit_bias": {"logit_bias": {"300": 2}},
    "tools": {"tools": [WEATHER_TOOL], "tool_choice": "none"},
    "response_format": {"response_format": {"type": "text"}},
    "user": {"user": "chatproof"},
    "messages": {"messages": [INSTRUCTIONS, QUESTION]},
}
"""What a request with a parameter says. The values have an effect on most answers without ending them at once."""


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return the scenarios: one for each request, sent plain and streamed."""
    validator = Validator(contract)
    known = {name for name, parameter in contract.parameters.items() if not parameter.lacking}
    values = {
        name: {key: value for key, value in said.items() if key in known}
        for name, said in VALUES.items()
        if name in known and _is_valid(said, known, validator)
    }
    fitting = Fitting(contract)
    return tuple(fitting.fit(_scenario(names, values, known) for names in _cover(values, validator)))


def _is_valid(said: Mapping[str, Any], known: set[str], validator: Validator) -> bool:
    body = {key: value for key, value in said.items() if key in known}
    return bool(body) and not _problems(body, validator)


def _problems(body: Mapping[str, Any], validator: Validator) -> bool:
    """Return whether the contract does not allow a request with these parameters."""
    complete = complete_body({"model": "m", "messages": [QUESTION], **body}, validator.contract)
    return bool(validator.request_problems(complete))


def _cover(values: Mapping[str, Mapping[str, Any]], validator: Validator) -> Iterator[tuple[str, ...]]:
    """Yield groups of parameters so that every two that may be combined are in one group.

    Greedy: each group begins with a pair that is missing, and takes the parameters that add the most missing pairs.
    """
    missing = {pair for pair in combinations(values, 2) if _join(pair, values, validator) is not None}
    while missing:
        group: tuple[str, ...] = min(missing)
        while len(group) < PER_REQUEST:
            gains = {
                name: sum(tuple(sorted((name, other), key=list(values).index)) in missing for other in group)
                for name in values
                if name not in group and _join((*group, name), values, validator) is not None
            }
            if not gains or not max(gains.values()):
                break
            group = (*group, max(gains, key=lambda name: gains[name]))
        missing -= set(combinations(sorted(group, key=list(values).index), 2))
        yield group


def _join(
    names: tuple[str, ...], values: Mapping[str, Mapping[str, Any]], validator: Validator
) -> dict[str, Any] | None:
    """Return the parameters of a group in one request; None if they contradict each other or the contract."""
    body: dict[str, Any] = {}
    for name in names:
        for key, value in values[name].items():
            if body.setdefault(key, value) != value:
                return None
    return None if _problems(body, validator) else body


def _scenario(names: tuple[str, ...], values: Mapping[str, Mapping[str, Any]], known: set[str]) -> Scenario:
    limits = {"max_tokens": LIMIT} if "max_completion_tokens" not in names else {}
    greedy = {"temperature": 0} if "temperature" in known else {}
    body: dict[str, Any] = {"messages": [QUESTION], **limits, **greedy}
    for name in names:
        body |= values[name]
    usage = {"stream_options": {"include_usage": True}} if "stream_options" in known else {}
    steps = [Step("paired", body=body), Step("paired-streamed", body={**body, "stream": True, **usage})]
    return Scenario(f"paired-{'-'.join(names)}", f"{', '.join(names)} in one request, plain and streamed", tuple(steps))
