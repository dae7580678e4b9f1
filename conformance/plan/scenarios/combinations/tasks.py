"""Generate tasks of every kind, each alone and with all parameters that must not change its answer.

A greedy answer does not depend on what narrows the choice of tokens, on a seed, on labels, on log-probabilities, on
stop strings that never occur, or on values that have no effect. A server that handles a task and these parameters each
by itself may still confuse them. Each task is sent alone, then with as many of them as the contract allows together,
plain and streamed, until all were sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from conformance.scenario import Scenario, Step
from openapi.contract.contract import Keyword
from openapi.contract.defaults import stated_default
from openapi.contract.parameter import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from conformance.plan.scenarios.combinations.allowed_bodies import AllowedBodies
    from openapi.contract.contract import Contract

    Body = dict[str, Any]

SCENARIO: Final = "tasks"
SUMMARY: Final = "tasks of every kind, alone and with the parameters that must not change their answers"
ALONE: Final = "-alone"
MORE: Final = "-more-"
"""Between the name of a task and the number of the request with more parameters."""
STREAMED: Final = "-streamed"
WITHOUT_EFFECT: Final[tuple[Mapping[str, Any], ...]] = (
    {"logprobs": True, "top_logprobs": 2},
    {"stop": ["chatproof never says this", "nor this"], "include_stop_str_in_output": False},
    {"seed": 7},
    {"top_p": 0.9},
    {"top_k": 20},
    {"min_p": 0.05},
    {"n": 1},
    {"presence_penalty": 0},
    {"frequency_penalty": 0},
    {"repetition_penalty": 1},
    {"min_tokens": 1},
    {"ignore_eos": False},
    {"skip_special_tokens": True},
    {"spaces_between_special_tokens": True},
    {"parallel_tool_calls": True},
    {"response_format": {"type": "text"}},
    {"user": "chatproof"},
    {"metadata": {"purpose": "test"}},
    {"store": False},
    {"return_token_ids": True},
)
"""What leaves a greedy answer as it is. Each needs the first of its parameters."""
BY_DEFAULT: Final = frozenset(
    (
        *("n", "presence_penalty", "frequency_penalty", "repetition_penalty", "parallel_tool_calls", "response_format"),
        *("ignore_eos", "skip_special_tokens", "spaces_between_special_tokens"),
    )
)
"""Parameters whose value has no effect because it is the usual default. Another default is sent in its place."""
EMPTY: Final[tuple[Mapping[str, Any], ...]] = (
    {"stop": []},
    {"stop_token_ids": []},
    {"bad_words": []},
    {"logit_bias": {}},
    {"metadata": {}},
)
"""What is as good as left out, as far as a contract allows it."""
WITH_TOOLS: Final = "parallel_tool_calls"
LIMIT: Final = "max_tokens"
NEWER_LIMIT: Final = "max_completion_tokens"
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
ASKED_TWICE: Final = {"role": "user", "content": "What is the weather in Rome and in Paris?"}
ASKED: Final = {"role": "user", "content": "What is the weather in Rome?"}


@dataclass(frozen=True, slots=True)
class Task:
    """One kind of request, and the capabilities that it needs. `tokens` is the limit of its answer.

    empty: whether it is also sent with empty lists. renamed: whether it is also sent with the other name of the limit.
    nulls: whether it is also sent with null for these parameters, which is as good as left out.
    """

    name: str
    tokens: int
    body: Mapping[str, Any]
    capabilities: frozenset[str] = frozenset()
    empty: bool = False
    renamed: bool = False
    nulls: bool = False


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
    ),
    Task("call", 64, {"messages": [ASKED_TWICE], "tools": [WEATHER]}, frozenset(("tools",)), nulls=True),
    Task(
        "result",
        6,
        {
            "messages": [
                ASKED,
                {"role": "assistant", "content": "", "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "call00001", "content": "sunny, 24 degrees"},
            ],
            "tools": [WEATHER],
        },
        frozenset(("tools",)),
        renamed=True,
    ),
    Task(
        "thoughts",
        64,
        {
            "messages": [{"role": "user", "content": "What is 2 + 3?"}],
            "chat_template_kwargs": {"enable_thinking": True},
        },
        frozenset(("thinking",)),
    ),
    Task(
        "turns",
        24,
        {
            "messages": [
                {"role": "system", "content": "Answer in one short sentence."},
                {"role": "user", "content": "What is the capital of France? – Zoë 🙂"},
                {"role": "assistant", "content": "Paris is the capital of France."},
                {"role": "user", "content": "Count from 1 to 5"},
            ]
        },
        empty=True,
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
    alone = {**task.body, LIMIT if LIMIT in known else NEWER_LIMIT: task.tokens, "temperature": 0}
    supported = task.capabilities <= contract.capabilities.keys() and alone.keys() <= known
    return alone if supported and allowed.allows(alone) else None


def list_supported(contract: Contract) -> set[str]:
    """Return the parameters of the contract that the server supports."""
    return {name for name, parameter in contract.parameters.items() if not parameter.lacking}


def _steps(task: Task, contract: Contract) -> Iterator[Step]:
    """Yield the requests of a task; none if it cannot be sent."""
    allowed, known = find_allowed_bodies(contract), list_supported(contract)
    alone = write_alone(task, contract, allowed)
    if alone is None:
        return
    yield Step(f"{task.name}{ALONE}", body=alone)
    usage = {"stream_options": {"include_usage": True}} if "stream_options" in known else {}
    others = (
        *list_others(contract),
        *(EMPTY if task.empty else ()),
        *(list_nulls(contract) if task.nulls else ()),
    )
    for number, body in enumerate(_add_others(task, alone, others, allowed, known), 1):
        yield Step(f"{task.name}{MORE}{number}", body=body)
        streamed = {**body, "stream": True, **usage}
        if "stream" in known and allowed.allows(streamed):
            yield Step(f"{task.name}{MORE}{number}{STREAMED}", body=streamed)


def list_others(contract: Contract) -> tuple[Body, ...]:
    """Return the parameters that leave a greedy answer as it is, where need be with the contract's own defaults."""
    stated = {name: stated_default(contract.parameters[name]) for name in BY_DEFAULT & contract.parameters.keys()}
    own = {name: value for name, value in stated.items() if value not in (ABSENT, None)}
    return tuple({name: own.get(name, value) for name, value in values.items()} for values in WITHOUT_EFFECT)


def list_nulls(contract: Contract) -> tuple[Body, ...]:
    """Return null for each of the parameters without effect that every server accepts as null: it has its default."""
    names = dict.fromkeys(name for values in WITHOUT_EFFECT for name in values)
    known = {name: contract.parameters[name].null for name in names if name in contract.parameters}
    return tuple(
        {name: None} for name, null in known.items() if null.expect == "accept" and null.keyword is Keyword.MUST
    )


def _add_others(
    task: Task, alone: Body, others: Iterable[Mapping[str, Any]], allowed: AllowedBodies, known: set[str]
) -> Iterator[Body]:
    """Yield a body with the parameters that may be sent together, until each that is allowed at all was in one."""
    waiting = [usable for values in others if (usable := list_usable(values, alone, known, allowed))]
    while waiting:
        body = _rename_limit(alone, allowed, known) if task.renamed else dict(alone)
        for values in list(waiting):
            if not values.keys() & body.keys() and allowed.allows({**body, **values}):
                body |= values
                waiting.remove(values)
        yield body


def list_usable(values: Mapping[str, Any], alone: Body, known: set[str], allowed: AllowedBodies) -> Body:
    """Return those of the parameters that the server supports; empty if the task cannot be sent with them."""
    first = next(iter(values))
    usable = {name: value for name, value in values.items() if name in known}
    needless = first == WITH_TOOLS and "tools" not in alone
    if first not in known or needless or usable.keys() & alone.keys() or not allowed.allows({**alone, **usable}):
        return {}
    return usable


def _rename_limit(alone: Body, allowed: AllowedBodies, known: set[str]) -> Body:
    """Return the body with the other name of the limit, if the contract has both."""
    renamed = {NEWER_LIMIT if name == LIMIT else name: value for name, value in alone.items()}
    return renamed if NEWER_LIMIT in known and allowed.allows(renamed) else dict(alone)
