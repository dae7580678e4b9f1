"""Dialects outside this package: what they inherit, what a removal takes along, and errors with file and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
import yaml

from openapi.contract.contract import ContractError, Keyword, load, names
from openapi.contract.resolution import dialect_files, read
from openapi.contract.validation.file_schema import FILE_SCHEMA
from openapi.schema_command import render_schema

if TYPE_CHECKING:
    from openapi.contract.contract import Contract

ROOT = Path(__file__).parents[3]
DIALECTS = sorted(set(names().values()))
NO_NULL = {"expect": "reject", "level": "MUST"}
HEAD = {"id": "own", "title": "Own", "document": "none"}


def write(folder: Path, name: str = "own.yaml", **content: Any) -> str:
    """Write a dialect file and return its path."""
    path = folder / name
    path.write_text(yaml.safe_dump({**HEAD, **content}, sort_keys=False))
    return str(path)


def level_counts(contract: Contract) -> set[tuple[str, Keyword]]:
    """The documents that requirements and rules cite, with their levels."""
    rows = [(row.source, row.keyword) for row in contract.requirements.values()]
    rows += [(rule.source, rule.keyword) for rule in contract.rules.values()]
    return {(source.partition("#")[0], keyword) for source, keyword in rows}


@pytest.mark.parametrize("parent", DIALECTS)
def test_what_a_dialect_inherits_without_a_sentence_keeps_its_document_and_is_no_must(
    parent: str, tmp_path: Path
) -> None:
    own, base = load(write(tmp_path, extends=parent)), load(parent)
    assert sorted(base.parameters) == sorted(own.parameters)
    assert sorted(base.requirements) == sorted(own.requirements)
    assert [row.source for row in base.requirements.values()] == [row.source for row in own.requirements.values()]
    binding = {document for document, keyword in level_counts(own) if keyword is Keyword.MUST}
    assert not binding & {base.document.id, own.document.id}
    assert parent == own.parents[base.document.id]
    for name, parameter in own.parameters.items():
        assert parameter.source == base.parameters[name].source
        assert {probe.keyword for probe in (*parameter.probes, parameter.null)} <= {Keyword.SHOULD, Keyword.MAY}


def test_a_sentence_or_a_delta_makes_a_fact_the_dialects_own(tmp_path: Path) -> None:
    sentence = {"id": "top-p", "says": "top_p is at most 1", "source": "#request/top_p", "keyword": "MUST"}
    own = load(
        write(
            tmp_path,
            extends="openai",
            sentences=[sentence],
            replace={
                "parameters/temperature/schema/maximum": 1.5,
                "parameters/seed/null_value": NO_NULL,
            },
            add={"parameters/new": {"summary": "New.", "schema": {"type": "integer", "minimum": 1}}},
        )
    )
    temperature, seed = own.parameters["temperature"], own.parameters["seed"]
    assert ("own#request/top_p", Keyword.MUST) == (
        own.parameters["top_p"].source,
        own.parameters["top_p"].null.keyword,
    )
    assert ("own#request/temperature", Keyword.MUST) == (
        temperature.source_of("maximum"),
        temperature.level("maximum"),
    )
    assert ("openai-api-2026#request/temperature", Keyword.SHOULD) == (
        temperature.source_of("minimum"),
        temperature.level("minimum"),
    )
    assert ("own#request/seed", Keyword.MUST) == (seed.null.source, seed.null.keyword)
    assert ("own#request/new", "accept", Keyword.MAY) == (
        own.parameters["new"].source,
        own.parameters["new"].null.expect,
        own.parameters["new"].null.keyword,
    )


@pytest.mark.parametrize(
    ("home", "own"),
    [
        ({"check": "effects.temperature-varies"}, set()),
        ({"schema": "parameters/temperature/schema/type"}, {"type"}),
        ({"schema": "parameters/temperature/schema/maximum"}, {"maximum"}),
        ({"schema": "parameters/temperature/schema"}, {"type", "minimum", "maximum"}),
        (
            {"schema": ["parameters/temperature/default", "parameters/temperature/schema/minimum"]},
            {"minimum", "default"},
        ),
        ({"schema": "parameters/temperature"}, {"type", "minimum", "maximum", "default"}),
    ],
)
def test_a_limit_or_default_is_the_dialects_own_only_if_the_home_of_a_sentence_names_it(
    home: dict[str, Any], own: set[str], tmp_path: Path
) -> None:
    sentence = {"id": "t", "says": "a sentence", "source": "#request/temperature", "keyword": "MUST", "home": home}
    temperature = load(write(tmp_path, extends="openai", sentences=[sentence])).parameters["temperature"]
    keywords = ("type", "minimum", "maximum", "default")
    cited = {key: temperature.source_of(key).partition("#")[0] for key in keywords}
    assert {key: "own" if key in own else "openai-api-2026" for key in cited} == cited
    levels = {key: temperature.acceptance(key) for key in cited}
    assert {key: Keyword.MUST if key in own else Keyword.SHOULD for key in cited} == levels


BEHAVIOUR: dict[str, dict[str, Any]] = {
    "a home that names the check": {"home": {"check": "stop.not-in-output"}},
    "a list of checks": {"home": {"check": ["stop.not-in-output", "stop.case-matters"]}},
}
CHANGES: dict[str, dict[str, Any]] = {
    "a delta": {"replace": {"requirements/stop.not-in-output/keyword": "MUST"}},
    "the document of the anchor": {"documents": {"request/stop": "own"}},
}


@pytest.mark.parametrize("stated", BEHAVIOUR)
def test_a_requirement_is_the_dialects_own_only_if_a_home_names_its_check(stated: str, tmp_path: Path) -> None:
    sentence = {"id": "stop", "says": "stop ends an answer", "source": "#request/stop", "keyword": "MUST"}
    listed = {**sentence, "home": {"schema": "parameters/stop/schema/anyOf"}}
    for home, expected in (
        (listed, ("openai-api-2026", "SHOULD")),
        ({**sentence, **BEHAVIOUR[stated]}, ("own", "MUST")),
    ):
        row = load(write(tmp_path, f"{expected[0]}.yaml", extends="openai", sentences=[home]))
        found = row.requirements["stop.not-in-output"]
        assert expected == (found.source.partition("#")[0], found.keyword)


@pytest.mark.parametrize("stated", CHANGES)
def test_a_requirement_is_the_dialects_own_by_a_change_or_its_document(stated: str, tmp_path: Path) -> None:
    sentence = {
        "id": "stop",
        "says": "stop ends an answer",
        "source": "#request/stop",
        "keyword": "MUST",
        "home": {"schema": "parameters/stop/schema/anyOf"},
    }
    own = load(write(tmp_path, extends="openai", sentences=[sentence], **CHANGES[stated]))
    found = own.requirements["stop.not-in-output"]
    assert ("own", Keyword.MUST) == (found.source.partition("#")[0], found.keyword)


def test_a_changed_schema_drops_the_inherited_values_that_it_contradicts_and_no_others(tmp_path: Path) -> None:
    base = load("openai").parameters["stop"]
    schema = {"type": "string", "maxLength": 3}
    own = load(write(tmp_path, extends="openai", replace={"parameters/stop/schema": schema})).parameters["stop"]
    is_valid = jsonschema_rs.validator_for(schema).is_valid
    kept = {probe.name for probe in own.probes}
    dropped = [probe for probe in base.probes if probe.name not in kept]
    assert dropped
    assert [] == [probe for probe in dropped if is_valid(probe.value) == (probe.expect == "accept")]
    assert [] == [probe for probe in own.probes if probe.expect == "accept" and not is_valid(probe.value)]


@pytest.mark.takes_turns
@pytest.mark.parametrize("parent", DIALECTS)
def test_a_removed_parameter_takes_its_rules_requirements_and_companions_along(parent: str, tmp_path: Path) -> None:
    base = load(parent)
    needed = {"model", "messages", "max_tokens"}
    for number, name in enumerate(base.parameters):
        if name in needed:
            continue
        own = load(write(tmp_path, f"{number}.yaml", extends=parent, remove=[f"parameters/{name}"]))
        gone = {*base.requirements} - {*own.requirements}
        assert {row.id for row in base.requirements.values() if row.parameter == name} <= gone
        assert not [row.id for row in own.requirements.values() if row.parameter == name]
        assert not [rule.id for rule in own.rules.values() if name in {*(rule.broken or ()), *(rule.kept or ())}]
        assert not [item.name for item in own.parameters.values() if name in item.needs]
        lost = {*base.capabilities} - {*own.capabilities}
        assert not [capability for capability in lost if f"'{capability}'" not in repr(base.parameters[name])]


def test_a_dialect_may_extend_another_file_and_inherits_its_scenarios_checks_and_document(tmp_path: Path) -> None:
    (tmp_path / "checks.py").write_text("")
    scenario = {"id": "own-hello", "summary": "a greeting", "steps": [{"ask": "Hello"}]}
    write(tmp_path, "base.yaml", extends="vllm", replace={"default_model": "m"}, scenarios=[scenario])
    child = tmp_path / "child"
    child.mkdir()
    path = write(child, id="child", extends="../base.yaml", remove=["parameters/min_p"])
    own = load(path)
    assert (path, (str(tmp_path / "base.yaml"), path)) == (own.location, own.files)
    assert {"vllm-0.33": "vllm", "own": "own"} == own.parents
    assert (["own-hello"], (str(tmp_path / "checks.py"),)) == ([row["id"] for row in own.scenarios], own.checks)
    assert ("m", False) == (own.default_model, "min_p" in own.parameters)
    assert own is load(path)


RULE = {"summary": "A rule.", "source": "#request/tempature", "trigger": "tempature", "broken": {"tempature": 1}}
INVALID = {
    "a duplicate key": ("{id: own, title: Own, document: none, extends: openai, title: Own}", r":1:56: .* key 'title'"),
    "a misspelt key": ("{id: own, title: Own, document: none, extends: openai, ad: {}}", r":1:56: ad: .*mean 'add'\?"),
    "no mapping": ("[1]", r": invalid dialect: expected a mapping with id, title and document"),
    "a misspelt parent": ("{id: own, title: Own, document: none, extends: opnai}", r":1:39: .*Did you mean 'openai'\?"),
    "a parent that is missing": (
        "{id: own, title: Own, document: none, extends: ./no.yaml}",
        r":1:39: .*no\.yaml: ",
    ),
    "a cycle": ("{id: own, title: Own, document: none, extends: ./own.yaml}", r":1:39: extends: .*in a cycle: .* -> "),
    "an id with a slash": ("{id: a/b, title: Own, document: none, extends: openai}", r":1:2: id must match"),
    "a pin without a hash": (
        "{id: own, title: Own, document: {id: x}, extends: openai}",
        r":1:23: document\..* req",
    ),
}
DELTAS: dict[str, tuple[dict[str, Any], str]] = {
    "a rule about an unknown parameter": (
        {"add": {"rules/mine": RULE}},
        r":\d+:3: rules/mine: the contract has no parameter tempature: .*Did you mean 'temperature'\?",
    ),
    "a path that does not exist": (
        {"replace": {"parameters/temprature/schema/maximum": 1}},
        r":\d+:3: unknown path .*: parameters has no temprature\. Did you mean 'temperature'\?",
    ),
    "a default out of range": (
        {"replace": {"parameters/temperature/schema/maximum": 0.5}},
        r":\d+:3: parameters/temperature/default: 1\.0 is not a value of the parameter",
    ),
    "a source without a document": (
        {"add": {"parameters/x": {"summary": "X.", "source": "wiki#x", "schema": {"type": "integer"}}}},
        r":\d+:3: parameters/x: source wiki#x: unknown document 'wiki'",
    ),
    "an unknown interpretation": (
        {"add": {"parameters/temperature/interpretation": "nope"}},
        r":\d+:3: parameters/temperature: unknown interpretation 'nope'",
    ),
    "a scenario with an unknown key": (
        {"scenarios": [{"id": "x", "summary": "x", "steps": [{"aks": "Hello"}]}]},
        r":\d+:5: scenarios\[0\]\.steps\[0\] must not have \"aks\"",
    ),
    "a missing file with checks": ({"checks": ["no.py"]}, r":\d+:1: checks: no\.py: file not found"),
}


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_file_is_one_line_with_its_position(name: str, tmp_path: Path) -> None:
    text, message = INVALID[name]
    path = tmp_path / "own.yaml"
    path.write_text(text)
    with pytest.raises(ContractError, match=f"^{path}{message}"):
        load(str(path))


@pytest.mark.parametrize("name", DELTAS)
def test_an_invalid_delta_is_one_line_with_its_position(name: str, tmp_path: Path) -> None:
    changes, message = DELTAS[name]
    path = write(tmp_path, extends="openai", **changes)
    with pytest.raises(ContractError, match=f"^{path}{message}") as raised:
        load(path)
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_reported_with_a_similar_name(tmp_path: Path) -> None:
    write(tmp_path, "mine.yaml", extends="openai")
    with pytest.raises(ContractError, match=r"mine\.yml: file not found\. Did you mean 'mine\.yaml'\?"):
        load(str(tmp_path / "mine.yml"))


def test_the_committed_schema_of_dialect_files_is_the_one_of_the_key_tables() -> None:
    assert (ROOT / "openapi" / "dialect-file.schema.json").read_text(encoding="utf-8") == render_schema()


def test_the_schema_accepts_every_built_in_dialect_and_the_example() -> None:
    validator = jsonschema_rs.validator_for(json.loads(render_schema()))
    contents = {path: read(path) for path in dialect_files().values()}
    contents["acme"] = yaml.safe_load((ROOT / "docs" / "examples" / "acme" / "acme.yaml").read_text(encoding="utf-8"))
    problems = {path: [error.message for error in validator.iter_errors(content)] for path, content in contents.items()}
    assert {path: [] for path in contents} == problems
    assert not validator.is_valid({**contents["acme"], "replase": {}})
    assert set(FILE_SCHEMA["required"]) == {"id", "title", "document"}
