"""Generate requests with tools as agents send them: many forms of turns in one history, many functions in one list.

What such a request contains is sent alone if it is refused, which shows what is refused. A history is also sent without
tools, and with less text in one of its turns, of which the prompt counts fewer tokens unless something is lost. The
forms are data in `tool_conversations.yaml`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import yaml

from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from conformance.scenario import Scenario, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from conformance.scenario import Expectation
    from openapi.contract.contract import Contract

    Json = dict[str, Any]
    Allows = Callable[[Json], bool]

HISTORY: Final = "agents-history"
"""The scenario of the packed history, whose steps but the first have less text."""
MAIN: Final = "main"
SHORTER: Final = "shorter-"
FUNCTIONS: Final = "agents-functions"
SUMMARY: Final = "conversations with tools as agents send them"
ASKED: Final = {"role": "user", "content": "Hello!"}
FEW: Final = {"max_tokens": 4, "temperature": 0}
ENOUGH: Final = 48
"""Tokens of a call without arguments."""


@cache
def read_forms() -> Mapping[str, Any]:
    """Return the turns and the functions."""
    text = files(__package__).joinpath("tool_conversations.yaml").read_text(encoding="utf-8")
    forms: Mapping[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return forms


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return the scenarios; empty without tools. Forms that the contract does not allow are left out."""
    allowed = find_allowed_bodies(contract)
    known = {name for name, item in contract.parameters.items() if not item.lacking}

    def allows(body: Json) -> bool:
        return body.keys() <= known and allowed.allows(body)

    if "tools" not in contract.capabilities:
        return ()
    return (*_histories(allows), *_functions(allows))


def _histories(allows: Allows) -> Iterator[Scenario]:
    """Yield the packed history, the same without tools, and each turn alone."""
    forms = read_forms()
    turns = [turn for turn in forms["turns"] if allows(_history(turn["messages"]))]
    if not turns:
        return
    packed = [message for turn in turns for message in turn["messages"]]
    expect: Expectation = "either" if any(turn.get("optional") for turn in turns) else "answer"
    steps = [Step(MAIN, body=_history(packed), expect=expect)]
    for place, turn in enumerate(turns, 1):
        if "shorter" in turn:
            kept = [message for item in turns for message in item["shorter" if item is turn else "messages"]]
            steps.append(Step(f"{SHORTER}{place}", body=_history(kept), expect=expect))
    yield Scenario(HISTORY, SUMMARY, tuple(steps))
    usual = [message for turn in turns if not turn.get("optional") for message in turn["messages"]]
    bare = {name: value for name, value in _history(usual).items() if name != "tools"}
    if allows(bare):
        yield Scenario(f"{HISTORY}-without-tools", SUMMARY, (Step(body=bare),))
    for place, turn in enumerate(turns, 1):
        step = Step(body=_history(turn["messages"]), expect="either" if turn.get("optional") else "answer")
        yield Scenario(f"{HISTORY}-{place}", f"{SUMMARY}: {turn['name']}", (step,), unless_answered=HISTORY)


def _functions(allows: Allows) -> Iterator[Scenario]:
    """Yield a request that offers all functions and names the first one, and a request for each function alone."""
    forms = read_forms()
    rows = [row for row in forms["forms"] if allows(_offer([row["function"]]))]
    if not rows:
        return
    others = [_other(number) for number in range(forms["more"])]
    offered = [*(row["function"] for row in rows), *others]
    most = next(count for count in range(len(offered), 0, -1) if allows(_offer(offered[:count])))
    first = {"type": "function", "function": {"name": rows[0]["function"]["name"]}}
    body = {**_offer(offered[:most]), "tool_choice": first, "max_tokens": ENOUGH}
    single = {**body, "parallel_tool_calls": False}
    yield Scenario(FUNCTIONS, SUMMARY, (Step(body=single if allows(single) else body),))
    for place, row in enumerate(rows, 1):
        step = Step(body=_offer([row["function"]]))
        yield Scenario(f"{FUNCTIONS}-{place}", f"{SUMMARY}: {row['name']}", (step,), unless_answered=FUNCTIONS)


def _history(messages: list[Json]) -> Json:
    """Return a greedy request with a history and a question after it."""
    return {"messages": [*messages, ASKED], "tools": read_forms()["offered"], **FEW}


def _offer(functions: list[Json]) -> Json:
    """Return a greedy request that offers functions."""
    tools = [{"type": "function", "function": function} for function in functions]
    return {"messages": [ASKED], "tools": tools, **FEW}


def _other(number: int) -> Json:
    """Return one of many similar functions."""
    schema = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}
    return {"name": f"get_report_{number}", "description": f"Get report {number}.", "parameters": schema}
