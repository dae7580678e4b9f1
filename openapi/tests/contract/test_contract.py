"""The public interface of the contract: names, pinned documents, error bodies, and narrowing by capabilities."""

from __future__ import annotations

import hashlib
import re
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest

import openapi
from openapi.contract.capability import request_for
from openapi.contract.contract import ABSENT, Contract, ContractError, Keyword, documents, load, names
from openapi.contract.resolution import read, read_aliases
from openapi.contract.tree.delta import walk_tree
from openapi.description.validation import Validator

DIALECTS = sorted(set(names().values()))
KINDS = {
    *("invalid_json", "invalid_request", "unknown_model", "prompt_too_long", "unauthorized", "not_found"),
    *("method_not_allowed", "too_large", "unsupported_media_type", "overloaded", "engine_failure"),
}


def request(**members: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], **members}


def test_every_document_has_one_dialect() -> None:
    assert sorted(documents()) == sorted(load(dialect).document.id for dialect in DIALECTS)


def test_pins_are_well_formed_and_match_the_documents_if_available(record_property: Any) -> None:
    """The documents are not part of the project; those next to the checkout must have a pinned hash."""
    pins = {document.sha256 for document in documents().values()}
    assert len(pins) == len(documents())
    assert [pin for pin in pins if not re.fullmatch(r"[0-9a-f]{64}", pin)] == []
    for document in documents().values():
        unset = [item.name for item in fields(document) if not getattr(document, item.name)]
        assert unset == ["retrieved"]  # the hash pins these pages
    folder = Path(openapi.__file__).parents[2] / "shared" / "documents"
    paths = sorted(folder.glob("*.txt")) if folder.is_dir() else []
    record_property("documents", "hashed" if paths else "absent: only the format of the pins was checked")
    if paths:
        assert {hashlib.sha256(path.read_bytes()).hexdigest() for path in paths} <= pins


def test_names_are_unique_and_load_the_same_contract() -> None:
    listed = [name for dialect in DIALECTS for name in (dialect, *load(dialect).aliases)]
    assert sorted(listed) == sorted(names())
    assert len(set(listed)) == len(listed)
    for name, dialect in names().items():
        assert load(name) is load(dialect)
    assert names()["mindie"] == "mindie-2.3"
    assert names()["mindie-vllm"] == "mindie-vllm-1.0"
    assert names()["ovms"] == "ovms-2024"


def test_the_error_for_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        ContractError,
        match=r"unknown dialect 'mindy': expected the path of a .yaml file, or one of deep.*Did you mean 'mindie'",
    ):
        load("mindy")


def test_a_duplicate_alias_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "openapi.contract.dialect_names.dialect_files", lambda: {"a": "dialects/a.yaml", "b": "dialects/b.yaml"}
    )
    monkeypatch.setattr("openapi.contract.dialect_names.read_aliases", lambda _: ("same",))
    with pytest.raises(ContractError, match=r"dialects/b.yaml: duplicate alias 'same': dialect a has this name"):
        names()


def test_aliases_read_from_their_line_are_those_of_the_whole_file() -> None:
    assert {dialect: load(dialect).aliases for dialect in DIALECTS} == {
        dialect: read_aliases(dialect) for dialect in DIALECTS
    }


def test_a_contract_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        load("mindie").name = "other"  # type: ignore[misc]


def test_endpoints_and_keys_match_the_documents() -> None:
    endpoints = {
        name: (load(name).path, load(name).models_path, load(name).auth, load(name).default_model) for name in DIALECTS
    }
    assert endpoints == {
        "mindie-1.0": ("/v1/chat/completions", "/v1/models", "none", "mindie"),
        "mindie-2.3": ("/v1/chat/completions", "/v1/models", "none", "mindie"),
        "mindie-vllm-1.0": ("/v1/chat/completions", "/v1/models", "none", "mindie"),
        "openai": ("/v1/chat/completions", "/v1/models", "bearer", "chatproof"),
        "ovms-2024": ("/v3/chat/completions", "/v3/models", "none", "llama3"),
        "siliconstorm": ("/v1/chat/completions", "/v1/models", "bearer", "DeepSeek-R1"),
        "vllm": ("/v1/chat/completions", "/v1/models", "none", "Qwen/Qwen2.5-1.5B-Instruct"),
    }


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_kind_of_error_fits_the_envelope_of_the_dialect(dialect: str) -> None:
    contract = load(dialect)
    validator = Validator(contract)
    assert set(contract.errors.kinds) - {"invalid_key"} == KINDS
    for kind in (*KINDS, "invalid_key"):
        status, body = contract.errors.render(kind, "what is wrong")
        assert 400 <= status < 600
        assert validator.problems("ErrorEnvelope", body) == ()
        assert "what is wrong" in [value for _, value, _ in walk_tree(body)]


def test_error_bodies_match_the_documents() -> None:
    assert load("mindie").errors.render("invalid_request", "no") == (
        422,
        {"error": "no", "error_type": "Input Validation Error"},
    )
    assert load("ovms").errors.render("unknown_model", "no") == (404, {"error": "no"})
    assert load("ovms").errors.render("invalid_json", "no")[0] == 412
    assert load("ovms").errors.render("invalid_request", "no")[0] == 400
    assert load("siliconstorm").errors.render("unauthorized", "no")[1] == {"code": 702, "result": None, "message": "no"}
    assert load("siliconstorm").errors.render("invalid_key", "no")[1] == {"code": 801, "result": None, "message": "no"}
    assert load("siliconstorm").errors.render("overloaded", "no")[1]["code"] == 9999
    assert load("siliconstorm").errors.render("engine_failure", "no")[1]["code"] == 9999


def missing_capabilities() -> list[tuple[str, str]]:
    return [(dialect, name) for dialect in DIALECTS for name in load(dialect).capabilities]


@pytest.mark.parametrize(("dialect", "capability"), missing_capabilities())
def test_without_a_capability_only_neutral_values_are_accepted(dialect: str, capability: str) -> None:
    whole = load(dialect)
    narrow = whole.without({capability})
    validator = Validator(narrow)
    assert set(whole.capabilities) - set(narrow.capabilities) == {capability}
    for parameter in narrow.parameters.values():
        if parameter.capability != capability:
            continue
        assert parameter.lacking
        for value in parameter.neutral:
            assert validator.request_problems(request(**{parameter.name: value})) == ()
        full = whole.parameters[parameter.name]
        values = [probe.value for probe in full.probes if probe.expect == "accept" and probe.value not in full.neutral]
        for value in [*values, "anything", 7]:
            problems = validator.request_problems(request(**{parameter.name: value}))
            assert [problem.parameter for problem in problems] == [parameter.name]
            assert parameter.name in problems[0].message
            assert f"is not supported by this server ({capability})" in problems[0].message


@pytest.mark.parametrize(("dialect", "capability"), [("openai", "obfuscation"), ("vllm", "continuous_usage")])
def test_a_capability_of_an_option_has_a_request_that_only_servers_with_it_accept(
    dialect: str, capability: str
) -> None:
    whole = load(dialect)
    request = request_for(capability, whole.parameters)
    assert request is not None
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **request}
    assert [] == list(Validator(whole).request_problems(body))
    problems = Validator(whole.without({capability})).request_problems(body)
    assert {"stream_options"} == {problem.parameter for problem in problems}


def test_without_thinking_a_request_can_still_turn_it_off() -> None:
    validator = Validator(load("mindie").without({"thinking"}))
    assert validator.request_problems(request(chat_template_kwargs={"enable_thinking": False})) == ()
    [problem] = validator.request_problems(request(chat_template_kwargs={"enable_thinking": True}))
    assert problem.where == "/chat_template_kwargs/enable_thinking"
    assert "is not supported by this server (thinking)" in problem.message


def test_without_tools_and_media_their_messages_are_rejected() -> None:
    validator = Validator(load("mindie").without({"tools", "media"}))
    tool = {"role": "tool", "tool_call_id": "call-1", "content": "7"}
    [problem] = validator.request_problems(request(messages=[tool]))
    assert '"system", "user", "assistant"' in problem.message
    image = {"role": "user", "content": [{"type": "image_url", "image_url": "a.png"}]}
    [problem] = validator.request_problems(request(messages=[image]))
    assert problem.message == 'messages[0].content[0] must have type one of "text", got an object'
    calls = {"role": "assistant", "content": "7", "tool_calls": []}
    assert validator.request_problems(request(messages=[calls])) == ()


def test_rules_and_their_examples_are_removed_with_the_capability() -> None:
    whole = load("mindie")
    assert "n-needs-temperature" in whole.rules
    assert "n-needs-temperature" not in whole.without({"n"}).rules
    beyond = whole.without({"n"}).rules["tools-without-choices"]
    assert beyond.broken is None  # it uses n, which is rejected anyway, so it could not test the rule


def test_unknown_capabilities_are_ignored() -> None:
    contract = load("ovms")
    assert contract.without({"tools", "thinking"}) is contract
    assert contract.without(()) is contract


def test_narrowing_does_not_depend_on_the_order() -> None:
    contract = load("mindie")
    assert repr(contract.without({"n"}).without({"tools"})) == repr(contract.without({"tools", "n"}))


def test_the_default_level_is_must() -> None:
    top_p = load("mindie").parameters["top_p"]
    assert (top_p.level("exclusiveMinimum"), top_p.level("maximum"), top_p.level("type")) == (
        Keyword.SHOULD,
        Keyword.MUST,
        Keyword.MUST,
    )


def test_an_absent_default_differs_from_null() -> None:
    parameters = load("mindie").parameters
    assert parameters["seed"].default is ABSENT
    assert parameters["stop"].default is None


def test_documents_yaml_has_only_documents_and_sources() -> None:
    assert set(read("documents.yaml")) == {"documents", "sources"}
    assert set(read("documents.yaml")["documents"]) & set(read("documents.yaml")["sources"]) == set()


def test_the_example_in_the_readme_runs() -> None:
    page = (Path(openapi.__file__).parent / "README.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(example, "openapi/README.md", "exec"), {})


def test_the_contract_has_these_fields() -> None:
    assert {item.name for item in fields(Contract)} == {
        *("name", "aliases", "title", "document", "path", "models_path", "auth", "default_model", "parameters"),
        *("rules", "schemas", "errors", "answer", "stream", "capabilities", "requirements", "unsupported", "sentences"),
        *("location", "files", "parents", "interpretations", "scenarios", "checks", "todo"),
    }
