"""Tests of the gateway's data: kinds of upstreams, the table in the documentation, addresses, and client messages."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from openapi.contract.contract import load, names
from reference_server.engine import SamplingParams
from reference_server.serve_command import command
from reference_server.upstream.capabilities import narrow_contract
from reference_server.upstream.client.server import UpstreamAddress
from reference_server.upstream.kind import FILES, kind_names, load_kind
from reference_server.upstream.parameter_table import render_table
from reference_server.upstream.parameters import engine_parameters

DIALECTS = sorted(set(names().values()))
DOCUMENT = Path(__file__).parents[3] / "docs" / "gateway.md"
BOUNDS = ("<!-- table -->\n", "\n<!-- end of table -->")


def test_the_documentation_shows_the_generated_table() -> None:
    assert render_table() == DOCUMENT.read_text(encoding="utf-8").partition(BOUNDS[0])[2].partition(BOUNDS[1])[0]


def test_every_kind_handles_every_engine_parameter_in_exactly_one_way() -> None:
    known = {field.name for field in fields(SamplingParams)}
    assert engine_parameters().keys() <= known
    for name in kind_names():
        kind = load_kind(name)
        assert kind.handling.keys() == engine_parameters().keys()
        for handling in kind.handling.values():
            assert [handling.passed, handling.emulated, handling.refused].count(None) == 2


def test_a_kind_from_a_contract_passes_only_parameters_of_the_contract() -> None:
    for name in DIALECTS:
        parameters = load(name).parameters
        for key, handling in load_kind(name).handling.items():
            if handling.passed and handling.form != "nothing":
                assert handling.passed in parameters, (name, key)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("upstream", [*FILES, *DIALECTS])
def test_the_narrowed_contract_is_a_subset_of_the_dialect(dialect: str, upstream: str) -> None:
    contract = load(dialect)
    narrowed = narrow_contract(contract, load_kind(upstream))
    assert narrowed.capabilities.keys() <= contract.capabilities.keys()
    assert narrowed.parameters.keys() == contract.parameters.keys()
    for name in load_kind(upstream).refused_parameters() & contract.parameters.keys():
        assert narrowed.parameters[name].lacking


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("upstream", FILES)
def test_a_parameter_that_the_upstream_supports_is_not_lacking(dialect: str, upstream: str) -> None:
    contract, kind = load(dialect), load_kind(upstream)
    refused = {
        capability
        for key, parameter in engine_parameters().items()
        if kind.handling[key].refused is not None
        for capability in parameter.capabilities(contract)
    }
    supported = {
        name
        for key, parameter in engine_parameters().items()
        if kind.handling[key].refused is None
        for name in contract.parameters.keys() & {*parameter.names}
        if contract.parameters[name].capability not in refused
    }
    narrowed = narrow_contract(contract, kind)
    if dialect == "ovms-2024":  # best_of starts a beam search there, and `n` needs it
        supported -= {"best_of", "n"}
    assert set() == {name for name in supported if narrowed.parameters[name].lacking}


@pytest.mark.parametrize(
    ("url", "host", "port", "prefix"),
    [
        ("http://10.0.0.7:8000", "10.0.0.7", 8000, ""),
        ("http://engine/", "engine", 80, ""),
        ("https://engine/v1", "engine", 443, ""),
        ("https://engine/a/b/v1/chat/completions", "engine", 443, "/a/b"),
        ("http://[::1]:8000/v3/chat/completions/", "::1", 8000, ""),
    ],
)
def test_an_address_may_name_the_server_or_its_endpoint(url: str, host: str, port: int, prefix: str) -> None:
    address = UpstreamAddress.parse(url)
    assert (address.host, address.port, address.prefix) == (host, port, prefix)


@pytest.mark.parametrize(
    ("options", "phrases"),
    [
        (["--upstream", "engine:8000"], ["engine:8000", "http://HOST:PORT"]),
        (["--upstream", "http://me:secret@engine"], ["--upstream-key-env"]),
        (["--upstream", "http://engine:99999"], ["99999"]),
        (["--upstream", "http://engine/?a=b"], ["query"]),
        (["--upstream", "http://engine\r\nX: y"], ["white space"]),
        (["--upstream", "http://127.0.0.1:1"], ["127.0.0.1:1"]),
        (["--upstream", "http://127.0.0.1:1", "--upstream-kind", "mindy"], ["mindy", "vllm", "mindie-2.3"]),
        (["--upstream", "http://127.0.0.1:1", "--upstream-timeout", "first=never"], ["first=never", "connect"]),
        (["--upstream", "http://127.0.0.1:1", "--upstream-key-env", "CHATPROOF_NO_SUCH"], ["CHATPROOF_NO_SUCH"]),
    ],
)
def test_an_unusable_upstream_is_reported_in_one_line(options: list[str], phrases: list[str]) -> None:
    result = CliRunner().invoke(command, ["--dialect", "mindie", "--port", "0", *options])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert "secret" not in result.stderr
    for phrase in phrases:
        assert phrase in result.stderr
