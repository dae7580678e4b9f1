"""Faults of pairs: a parameter is ignored in requests of one kind, and in no others."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from openapi.contract.contract import load, names
from reference_server.faults.fault_list import known_faults
from reference_server.faults.generated.pair_faults import ORIGIN
from reference_server.faults.generated.request_kinds import KINDS

QUESTION = {"role": "user", "content": "Hello!"}
IMAGE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}
OF_KIND: dict[str, dict[str, Any]] = {
    "in-streams": {"stream": True},
    "in-plain-answers": {"stream": False},
    "next-to-tools": {"tools": [{"type": "function"}]},
    "next-to-a-form": {"response_format": {"type": "json_object"}},
    "next-to-choices": {"n": 2},
    "next-to-logprobs": {"logprobs": True},
    "next-to-a-seed": {"seed": 7},
    "next-to-stop": {"stop": "x"},
    "when-greedy": {"temperature": 0},
    "after-an-answer": {"messages": [QUESTION, {"role": "assistant", "content": "Hi."}, QUESTION]},
    "after-instructions": {"messages": [{"role": "developer", "content": "Be brief."}, QUESTION]},
    "after-a-result": {"messages": [QUESTION, {"role": "tool", "content": "7"}]},
    "in-parts": {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hello!"}]}]},
    "next-to-an-image": {"messages": [IMAGE]},
}
OF_NO_KIND: dict[str, Any] = {
    "messages": [QUESTION],
    "stream": True,
    "tools": [],
    "response_format": {"type": "text"},
    "n": 1,
    "logprobs": False,
    "seed": None,
    "stop": None,
    "temperature": 1,
}


FORMS = {"in-streams", "in-plain-answers"}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_fault_shows_in_requests_of_its_kind_with_its_parameter_and_in_no_others(kind: str) -> None:
    schema = dict(known_faults("vllm")[f"ignored:top_k.{kind}"].shows_in or {})
    base = {**OF_NO_KIND, "stream": kind == "in-plain-answers"}
    others = {name: {**base, "top_k": 5, **body} for name, body in OF_KIND.items() if name not in {kind, *FORMS}}
    assert [] == [name for name, body in others.items() if jsonschema_rs.is_valid(schema, body)]
    assert not jsonschema_rs.is_valid(schema, {**base, "top_k": 5})
    assert not jsonschema_rs.is_valid(schema, {**base, **OF_KIND[kind]})
    assert jsonschema_rs.is_valid(schema, {**base, "top_k": 5, **OF_KIND[kind]})


@pytest.mark.parametrize("dialect", sorted(set(names().values())))
def test_every_parameter_is_ignored_in_each_kind_of_request_that_the_dialect_has(dialect: str) -> None:
    faults = [fault for fault in known_faults(dialect).values() if fault.origin == ORIGIN]
    assert set(KINDS) >= {fault.group for fault in faults} >= FORMS
    parameters = load(dialect).parameters
    needed = {name for fault in faults for name in (fault.shows_in or {})["required"]}
    assert needed <= parameters.keys()
