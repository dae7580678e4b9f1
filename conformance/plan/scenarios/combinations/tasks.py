"""Generate tasks of every kind, each alone and with all parameters that must not change its answer.

A greedy answer does not depend on what narrows the choice of tokens, on a seed, on labels, on log-probabilities, on
stop strings that never occur, or on values that have no effect. A server that handles a task and these parameters each
by itself may still confuse them. Each task is sent alone, then with as many of them as the contract allows together,
plain and streamed, until all were sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.combinations.allowed_bodies import AllowedBodies
from conformance.scenario import Scenario, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.contract.contract import Contract

    Body = dict[str, Any]

SCENARIO: Final = "tasks"
SUMMARY: Final = "tasks of every kind, alone and with the parameters that must not change their answers"
ALONE: Final = "-alone"
MORE: Final = "-more-"
"""Between the name of a task and the number of the request with more parameters."""
STREAMED: Final = "-streamed"
WITHOUT_EFFECT: Final[Mapping[str, Mapping[str, Any]]] = {
    "logprobs": {"logprobs": True, "top_logprobs": 2},
    "stop": {"stop": ["chatproof never says this", "nor this"], "include_stop_str_in_output": False},
    "seed": {"seed": 7},
    "top_p": {"top_p": 0.9},
    "top_k": {"top_k": 20},
    "min_p": {"min_p": 0.05},
    "n": {"n": 1},
    "presence_penalty": {"presence_penalty": 0},
    "frequency_penalty": {"frequency_penalty": 0},
    "repetition_penalty": {"repetition_penalty": 1},
    "min_tokens": {"min_tokens": 1},
    "ignore_eos": {"ignore_eos": False},
    "skip_special_tokens": {"skip_special_tokens": True},
    "spaces_between_special_tokens": {"spaces_between_special_tokens": True},
    "parallel_tool_calls": {"parallel_tool_calls": True},
    "response_format": {"response_format": {"type": "text"}},
    "user": {"user": "chatproof"},
    "metadata": {"metadata": {"purpose": "test"}},
    "store": {"store": False},
}
"""What leaves a greedy answer as it is, by the parameter that it needs."""
WITH_TOOLS: Final = frozenset(("parallel_tool_calls",))
WEATHER: Final = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Report the weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Name of the city"}},
            "required": ["city"],
        },
    },
}
CALL: Final = {
    "id": "call00001",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'},
}
CODE: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "enum": ["c-17", "c-23"]},
        "age": {"type": "integer", "enum": [517, 523]},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
ASKED: Final = {"role": "user", "content": "What is the weather in Rome?"}


@dataclass(frozen=True, slots=True)
class Task:
    """One kind of request, and the capabilities that it needs. `tokens` is the limit of its answer.

    varied: whether it is also sent with parameters that change the answer, which then has to keep its form.
    """

    name: str
    tokens: int
    body: Mapping[str, Any]
    capabilities: frozenset[str] = frozenset()
    varied: bool = False


TASKS: Final = (
    Task(
        "form",
        48,
        {
            "messages": [{"role": "user", "content": "Give me a JSON object with name and age"}],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "code", "strict": True, "schema": CODE},
            },
        },
        frozenset(("structured_output",)),
        varied=True,
    ),
    Task("call", 48, {"messages": [ASKED], "tools": [WEATHER]}, frozenset(("tools",)), varied=True),
    Task(
        "result",
        12,
        {
            "messages": [
                ASKED,
                {"role": "assistant", "content": "", "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "call00001", "content": "sunny, 24 degrees"},
            ],
            "tools": [WEATHER],
        },
        frozenset(("tools",)),
    ),
    Task(
        "thoughts",
        64,
        {
            "messages": [{"role": "user", "content": "What is 2 + 3?"}],
            "chat_template_kwargs": {"enable_thinking": True},
        },
        frozenset(("thinking",)),
        varied=True,
    ),
    Task(
        "turns",
        12,
        {
            "messages": [
                {"role": "system", "content": "Answer in one short sentence."},
                {"role": "user", "content": "What is the capital of France? – Zoë 🙂"},
                {"role": "assistant", "content": "Paris is the capital of France."},
                {"role": "user", "content": "Tell me a story about the sea"},
            ]
        },
    ),
)


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return the scenario; empty if the contract allows none of the tasks."""
    steps = tuple(step for task in TASKS for step in _steps(task, contract))
    return (Scenario(SCENARIO, SUMMARY, steps),) if steps else ()


def list_unfit(contract: Contract) -> Iterator[tuple[Scenario, str]]:
    """Yield the scenario if the contract does not allow it, with the reason."""
    if not generate(contract):
        written = tuple(Step(f"{task.name}{ALONE}", body=task.body) for task in TASKS)
        yield Scenario(SCENARIO, SUMMARY, written), f"scenario {SCENARIO}: the contract allows no greedy task"


def write_alone(task: Task, contract: Contract, allowed: AllowedBodies) -> Body | None:
    """Return the greedy request of a task; None if the contract forbids it, or the server lacks a capability."""
    known = list_supported(contract)
    limit = "max_tokens" if "max_tokens" in known else "max_completion_tokens"
    alone = {**task.body, limit: task.tokens, "temperature": 0}
    supported = task.capabilities <= contract.capabilities.keys() and alone.keys() <= known
    return alone if supported and allowed.allows(alone) else None


def list_supported(contract: Contract) -> set[str]:
    """Return the parameters of the contract that the server supports."""
    return {name for name, parameter in contract.parameters.items() if not parameter.lacking}


def _steps(task: Task, contract: Contract) -> Iterator[Step]:
    """Yield the requests of a task; none if it cannot be sent."""
    allowed, known = AllowedBodies(contract), list_supported(contract)
    alone = write_alone(task, contract, allowed)
    if alone is None:
        return
    yield Step(f"{task.name}{ALONE}", body=alone)
    usage = {"stream_options": {"include_usage": True}} if "stream_options" in known else {}
    for number, body in enumerate(_add_others(alone, allowed, known), 1):
        yield Step(f"{task.name}{MORE}{number}", body=body)
        streamed = {**body, "stream": True, **usage}
        if "stream" in known and allowed.allows(streamed):
            yield Step(f"{task.name}{MORE}{number}{STREAMED}", body=streamed)


def _add_others(alone: Body, allowed: AllowedBodies, known: set[str]) -> Iterator[Body]:
    """Yield a body with the parameters that may be sent together, until each that is allowed at all was in one."""
    waiting = {name: _usable(values, known) for name, values in WITHOUT_EFFECT.items() if name in known}
    if "tools" not in alone:
        waiting = {name: values for name, values in waiting.items() if name not in WITH_TOOLS}
    waiting = {name: values for name, values in waiting.items() if not values.keys() & alone.keys()}
    waiting = {name: values for name, values in waiting.items() if allowed.allows({**alone, **values})}
    while waiting:
        body = dict(alone)
        for name, values in list(waiting.items()):
            if allowed.allows({**body, **values}):
                body |= waiting.pop(name)
        yield body


def _usable(values: Mapping[str, Any], known: set[str]) -> Body:
    return {name: value for name, value in values.items() if name in known}
