"""The data of the gateway: kinds of upstreams, their table in the documentation, addresses, and words for clients."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from openapi.contract.contract import load, names
from reference_server.engine import SamplingParams
from reference_server.serve_command import command
from reference_server.upstream.capabilities import through
from reference_server.upstream.error_translation import cleaned
from reference_server.upstream.kind import FILES, kind, kinds, words
from reference_server.upstream.parameter_table import table
from reference_server.upstream.upstream_address import Origin

DIALECTS = sorted(set(names().values()))
DOCUMENT = Path(__file__).parents[3] / "docs" / "gateway.md"
BOUNDS = ("<!-- table -->\n", "\n<!-- end of table -->")


def test_the_documentation_shows_the_table_of_the_data() -> None:
    assert table() == DOCUMENT.read_text(encoding="utf-8").partition(BOUNDS[0])[2].partition(BOUNDS[1])[0]


def test_every_word_is_a_parameter_of_the_engine_and_every_kind_has_a_way_for_each() -> None:
    known = {field.name for field in fields(SamplingParams)}
    assert words().keys() <= known
    for name in kinds():
        ways = kind(name).ways
        assert ways.keys() == words().keys()
        for way in ways.values():
            assert [way.passed, way.emulated, way.refused].count(None) == 2


def test_parameters_of_a_kind_with_a_contract_are_those_of_the_contract() -> None:
    for name in DIALECTS:
        parameters = load(name).parameters
        for key, way in kind(name).ways.items():
            if way.passed and way.form != "nothing":
                assert way.passed in parameters, (name, key)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("upstream", [*FILES, *DIALECTS])
def test_what_is_offered_is_a_part_of_the_dialect(dialect: str, upstream: str) -> None:
    contract = load(dialect)
    offered = through(contract, kind(upstream))
    assert offered.capabilities.keys() <= contract.capabilities.keys()
    assert offered.parameters.keys() == contract.parameters.keys()
    for name in kind(upstream).refused() & contract.parameters.keys():
        assert offered.parameters[name].lacking


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
def test_an_address_may_be_that_of_the_server_or_of_its_endpoint(url: str, host: str, port: int, prefix: str) -> None:
    origin = Origin.parse(url)
    assert (origin.host, origin.port, origin.prefix) == (host, port, prefix)


@pytest.mark.parametrize(
    ("options", "words_"),
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
def test_an_upstream_that_cannot_be_used_is_said_in_one_line(options: list[str], words_: list[str]) -> None:
    result = CliRunner().invoke(command, ["--dialect", "mindie", "--port", "0", *options])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert "secret" not in result.stderr
    for word in words_:
        assert word in result.stderr


@pytest.mark.parametrize(
    ("words_", "told"),
    [
        ("see https://engine.example/x?y for more", "see ... for more"),
        ("10.0.0.7:8000 said no", "... said no"),
        ("in /srv/models/llama/config.json", "in ..."),
        ("one\nline\x1b[31m", "one line [31m"),
        ("top_p must be in (0, 1]", "top_p must be in (0, 1]"),
        ("x" * 2000, "x" * 497 + "..."),
        ("theirs is full", "ours is full"),
        ("no 'theirs', nor theirs-7b or nottheirs", "no 'ours', nor theirs-7b or nottheirs"),
    ],
)
def test_words_of_an_upstream_are_cleaned(words_: str, told: str) -> None:
    assert told == cleaned(words_, {"theirs": "ours"})
