"""Faults of rewrites: what a request says is changed in requests of one kind, and in no others."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
import pytest

from openapi.contract.contract import load, names
from reference_server.faults.fault_list import known_faults
from reference_server.faults.generated.request_kinds import KINDS
from reference_server.faults.generated.rewrite_faults import ORIGIN, REWRITES

TEXT = ' A "long"  note for \u00c5sa &amp; <b>Ole</b>\n\tC:\\tmp, \uff34\u2460: ' + "bring a coat " * 9
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather.",
        "parameters": {"type": "object", "properties": {"city": {"enum": ["Rome"]}}, "required": ["city"]},
    },
}
CALL = {"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}
EVERYTHING: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": TEXT},
        {"role": "user", "content": "Hello!"},
        {"role": "assistant", "content": TEXT, "tool_calls": [{"id": "a", **CALL}, {"id": "b", **CALL}]},
        {"role": "tool", "tool_call_id": "a", "content": TEXT},
        {"role": "tool", "tool_call_id": "b", "content": "It rains."},
        {"role": "assistant", "content": "It rains."},
        {"role": "user", "content": [{"type": "text", "text": TEXT}, {"type": "text", "text": "What now?"}]},
    ],
    "tools": [WEATHER, {"type": "function", "function": {"name": "get_time"}}],
    "stop": ["x", "y"],
    "max_tokens": 8,
    "n": 2,
    "temperature": 0.5,
}
"""A request that each rewrite changes."""


@pytest.mark.parametrize("name", sorted(REWRITES))
def test_a_rewrite_changes_a_request_that_has_all_of_its_fields(name: str) -> None:
    rewrite = REWRITES[name]
    body = copy.deepcopy(EVERYTHING)
    assert jsonschema_rs.is_valid({"required": [*rewrite.fields], "properties": dict(rewrite.fields)}, body)
    rewrite.edit(body)
    assert body != EVERYTHING


def test_a_rewrite_shows_in_requests_of_its_kind_and_in_no_others() -> None:
    greedy = {**EVERYTHING, "temperature": 0}
    schema = dict(known_faults("vllm")["rewritten:instructions-cut.when-greedy"].shows_in or {})
    without = {**greedy, "messages": EVERYTHING["messages"][1:]}
    assert [True, False, False] == [jsonschema_rs.is_valid(schema, body) for body in (greedy, EVERYTHING, without)]


@pytest.mark.parametrize("dialect", sorted(set(names().values())))
def test_each_rewrite_is_made_in_each_kind_of_request_that_the_dialect_has(dialect: str) -> None:
    faults = [fault for fault in known_faults(dialect).values() if fault.origin == ORIGIN]
    parameters = load(dialect).parameters
    assert {fault.group for fault in faults} == {
        name for name, kind in KINDS.items() if {*kind.fields} <= parameters.keys()
    }
    assert {name for fault in faults for name in (fault.shows_in or {})["required"]} <= parameters.keys()
