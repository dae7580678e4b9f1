"""Tests of what a gateway declares: it follows from the table by which requests are translated or refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from openapi.contract.contract import load, names
from openapi.contract.parameter import ABSENT, Keyword
from openapi.description.body_request import BodyRequest
from openapi.description.validation import Validator
from reference_server.errors import ApiError
from reference_server.http.served_contract import TEXT_ONLY, describe_served, served_contract
from reference_server.request.chat_request import RequestReader
from reference_server.upstream.capabilities import narrow_contract, neutral_values
from reference_server.upstream.kind import FILES, load_kind
from reference_server.upstream.parameter_table import KINDS
from reference_server.upstream.request_translation import Conversation, translate_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract
    from openapi.contract.parameter import Parameter
    from reference_server.request.chat_request import ChatRequest

DIALECTS = sorted(set(names().values()))
PLAIN = {"model": "tiny", "messages": [{"role": "user", "content": "Hello"}]}
UNTRANSLATED = {"temperature", "repetition_penalty", "logit_bias", "tools"}
"""Parameters whose values beyond the upstream's own range would change the answer: it refuses them in its own words."""


class Gateway:
    """A gateway without sockets, up to the bodies that it would send."""

    def __init__(self, dialect: str, kind: str) -> None:
        contract = load(dialect)
        self.kind = load_kind(kind)
        narrowed = narrow_contract(contract, self.kind)
        self.served = served_contract(narrowed, bearer=contract.auth == "bearer", lacking=TEXT_ONLY)
        self._neutral = neutral_values(contract)
        self._counts_each = contract.stream.usage == "with-finish"
        self._reader = RequestReader(self.served, "tiny", parsed_arguments=False)

    def examples(self) -> dict[str, Any]:
        """The requests that the served description shows."""
        operation = describe_served(self.served, "tiny")["paths"][self.served.path]["post"]
        examples = operation["requestBody"]["content"]["application/json"]["examples"]
        return {name: example["value"] for name, example in examples.items()}

    def read(self, fields: dict[str, Any]) -> ChatRequest:
        """Return the request with these fields; raise ApiError if the served contract forbids it."""
        return self._reader.read(json.dumps({**PLAIN, **fields}).encode())

    def translate(self, request: ChatRequest) -> list[dict[str, Any]]:
        """Return the bodies for a request; raise ApiError if it cannot be translated."""
        prompt = Conversation(request.messages, request.tools, request.template_kwargs)
        requests, _ = translate_request(
            self.kind, prompt, request.params, counts_each=self._counts_each, neutral=self._neutral
        )
        return [{"model": "theirs", **upstream.body} for upstream in requests]

    def bodies(self, fields: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the bodies for a request with these fields; raise ApiError if the gateway refuses it."""
        return self.translate(self.read(fields))


def accepted_values(parameter: Parameter, contract: Contract) -> Iterator[Any]:
    """Yield values that a server of the contract accepts: its probes, its bounds, its default."""
    for probe in parameter.probes:
        certain = probe.expect == "accept" and probe.keyword is not Keyword.MAY
        if certain and (probe.capability is None or probe.capability in contract.capabilities):
            yield probe.value
    for branch in (parameter.schema, *parameter.schema.get("anyOf", ())):
        yield from (branch[key] for key in ("minimum", "maximum") if key in branch)
        yield from branch.get("enum", ())
    if parameter.default is not ABSENT:
        yield parameter.default


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_everything_that_is_described_is_translated(dialect: str, kind: str) -> None:
    """Each example of the description is sent on, and no value is refused that the description allows."""
    gateway = Gateway(dialect, kind)
    accepting = None if kind in FILES else Validator(load(kind))
    for name, example in gateway.examples().items():
        for body in gateway.bodies(example)[:1]:
            if accepting is not None:
                assert not accepting.refusals(BodyRequest(load(kind).path, json.dumps(body).encode())), name
    for name, parameter in gateway.served.parameters.items():
        for value in accepted_values(parameter, gateway.served) if name != "model" else ():
            fields = {**parameter.companions(value), name: value}
            try:
                request = gateway.read(fields)
            except ApiError:
                continue  # a value that the contract leaves open, or that needs an undeclared capability
            bodies = gateway.translate(request)
            if accepting is not None and name not in UNTRANSLATED:
                sent = BodyRequest(load(kind).path, json.dumps(bodies[0]).encode())
                assert not accepting.refusals(sent), (fields, bodies[0])


def test_a_default_of_the_dialect_is_no_request_for_what_the_upstream_lacks() -> None:
    gateway = Gateway("ovms", "sglang")
    assert "seed" not in gateway.bodies({})[0]
    assert gateway.served.parameters["seed"].lacking
    with pytest.raises(ApiError, match="seed is not supported"):
        gateway.bodies({"seed": 7})


def test_reasoning_is_declared_only_if_it_can_be_turned_on_and_off() -> None:
    assert "thinking" not in Gateway("mindie-2.3", "openai").served.capabilities
    assert "thinking" in Gateway("mindie-2.3", "vllm").served.capabilities
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    assert "chat_template_kwargs" not in Gateway("mindie-2.3", "openai").bodies(off)[0]


def test_a_beam_search_by_best_of_is_declared_only_if_the_upstream_has_one() -> None:
    assert {"best_of", "n", "beam_search"} <= Gateway("ovms", "ovms-2024").served.capabilities.keys()
    assert not {"best_of", "n", "beam_search"} & Gateway("ovms", "openai").served.capabilities.keys()


def test_choices_are_separate_requests_if_the_upstream_returns_several_only_of_a_beam_search() -> None:
    bodies = Gateway("mindie-2.3", "ovms-2024").bodies({"n": 2, "temperature": 0.7, "seed": 1})
    assert [body.get("n") for body in bodies] == [None, None]
