"""The authority of a fact limits its requirement level, in all dialects and in both directions."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest

from openapi.contract import loading
from openapi.contract.authority import (
    BINDING,
    OPEN,
    OWN,
    Authority,
    Ground,
    Keyword,
    authority_of,
    derive,
    ground_of,
)
from openapi.contract.contract import ContractError, load, names
from openapi.contract.interpretations import interpretations
from openapi.contract.levels import derive_levels
from openapi.contract.resolution import read, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract

DIALECTS = sorted(set(names().values()))
STRENGTH = [Keyword.MAY, Keyword.SHOULD, Keyword.MUST]


def facts(dialect: str) -> Iterator[tuple[str, str, str, Ground | None]]:
    """Yield the place, the derived level, the source and the ground of every fact of a dialect that has a level."""
    tree = derive_levels(loading.make_sources_absolute(resolve(dialect)))

    def ground(row: dict[str, Any], inherited: Ground | None = None) -> Ground | None:
        if "ground" in row:
            return Ground(row["ground"])
        return ground_of(row["interpretation"]) if "interpretation" in row else inherited

    for name, row in tree["parameters"].items():
        own = ground(row)
        for keyword, level in row.get("levels", {}).items():
            if keyword not in row["origins"]:
                yield f"parameters/{name}/levels/{keyword}", level, row["source"], own
        for probe in (*row.get("probes", ()), row["null_value"]):
            place = f"parameters/{name}/{probe.get('name', probe.get('value'))}"
            yield place, probe["level"], probe["source"], ground(probe, own)
    for name, row in tree["rules"].items():
        yield f"rules/{name}", row["level"], row["source"], ground(row)
        yield f"rules/{name}/kept", row["kept_level"], row["source"], ground(row)
    for name, row in tree["requirements"].items():
        yield f"requirements/{name}", row["keyword"], row["source"], ground(row)


@pytest.mark.parametrize("authority", Authority)
@pytest.mark.parametrize("ground", [None, *Ground])
@pytest.mark.parametrize("stated", Keyword)
def test_a_level_stays_between_the_bounds_of_its_authority(
    stated: Keyword, authority: Authority, ground: Ground | None
) -> None:
    derived = derive(stated, authority, ground)
    if authority not in BINDING or ground in (Ground.STRICTER, Ground.OPPOSED):
        assert derived is not Keyword.MUST
    if authority in OWN and ground not in {*OPEN, Ground.OPPOSED}:
        assert derived is not Keyword.MAY
    if ground is not Ground.OPPOSED and authority in BINDING - OWN:
        assert derived is stated or ground is Ground.STRICTER
    assert derive(derived, authority, ground) is derived


@pytest.mark.parametrize("authority", Authority)
def test_a_stronger_statement_never_gives_a_weaker_level(authority: Authority) -> None:
    for ground in (None, *Ground):
        levels = [STRENGTH.index(derive(stated, authority, ground)) for stated in STRENGTH]
        assert levels == sorted(levels)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_another_document_alone_says_is_never_a_must(dialect: str) -> None:
    document = load(dialect).document.id
    wrong = [
        (place, source)
        for place, level, source, _ in facts(dialect)
        if level == "MUST" and authority_of(source, document) not in BINDING
    ]
    assert wrong == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_pages_own_word_is_never_a_may_without_a_ground(dialect: str) -> None:
    document = load(dialect).document.id
    wrong = [
        (place, source)
        for place, level, source, ground in facts(dialect)
        if level == "MAY" and authority_of(source, document) in OWN and ground not in OPEN
    ]
    assert wrong == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_values_that_a_schema_allows_are_as_binding_as_its_source(dialect: str) -> None:
    for parameter in load(dialect).parameters.values():
        for keyword in parameter.schema:
            origin = parameter.origins.get(keyword, parameter.authority)
            assert (parameter.acceptance(keyword) is Keyword.MUST) == (origin in BINDING), (parameter.name, keyword)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_sentence_that_demands_something_is_not_tested_by_a_may_alone(dialect: str) -> None:
    contract = load(dialect)
    wrong = []
    for sentence in contract.sentences:
        levels = [level for place in sentence.home.places if (level := level_of(contract, place)) is not None]
        levels += [
            contract.requirements[name].keyword for name in sentence.home.checks if name in contract.requirements
        ]
        if sentence.keyword is not Keyword.MAY and levels and set(levels) == {Keyword.MAY}:
            wrong.append(sentence.id)
    assert wrong == []


def level_of(contract: Contract, place: str) -> Keyword | None:
    """Return the level of a probe, a null value, a rule or a keyword of a schema; None for any other place."""
    match place.split("/"):
        case ["parameters", name, "probes", probe]:
            return next(item.keyword for item in contract.parameters[name].probes if item.name == probe)
        case ["parameters", name, "null_value"]:
            return contract.parameters[name].null.keyword
        case ["parameters", name, "schema", keyword]:
            return contract.parameters[name].level(keyword)
        case ["rules", name]:
            rule = contract.rules[name]
            return rule.keyword if rule.broken else rule.kept_keyword if rule.kept else None
    return None


@pytest.mark.parametrize("dialect", ["mindie-1.0", "mindie-2.3", "mindie-vllm-1.0", "siliconstorm"])
def test_seeds_from_2_to_the_63_should_be_accepted_because_the_page_says_so(dialect: str) -> None:
    probes = {probe.value: probe for probe in load(dialect).parameters["seed"].probes}
    for value in (2**63, 2**64 - 2, 2**64 - 1):
        assert (probes[value].expect, probes[value].keyword) == ("accept", Keyword.SHOULD)


@pytest.mark.parametrize("dialect", ["mindie-1.0", "mindie-vllm-1.0", "siliconstorm"])
def test_a_tools_parameters_without_their_required_fields_should_be_refused(dialect: str) -> None:
    probes = {probe.name: probe for probe in load(dialect).parameters["tools"].probes}
    for name in ("parameters-empty", "parameters-of-an-array"):
        assert (probes[name].expect, probes[name].keyword) == ("reject", Keyword.SHOULD)
    assert (probes["parameters-none-required"].expect, probes["parameters-none-required"].keyword) == (
        "accept",
        Keyword.MUST,
    )


def test_exclusions_of_2_3_between_parameters_are_at_least_a_should() -> None:
    rules = load("mindie-2.3").rules
    for name in (
        *("best-of-needs-temperature", "beam-search-without-stop", "tools-without-stop", "tools-without-choices"),
        *("tools-without-logprobs", "n-needs-temperature"),
    ):
        assert rules[name].keyword is not Keyword.MAY, name
    assert rules["n-with-default-temperature"].kept_keyword is Keyword.SHOULD


def test_limits_of_stop_in_2_3_are_only_as_binding_as_the_page_that_states_them() -> None:
    for probe in load("mindie-2.3").parameters["stop"].probes:
        if probe.name.endswith(("-at-1024", "-over-1024", "-32768")) or probe.name.startswith("empty"):
            assert probe.keyword is not Keyword.MUST, probe.name


def test_answers_of_native_1_0_are_at_most_a_should_because_another_page_describes_them() -> None:
    rows = load("mindie-1.0").requirements.values()
    described = [row for row in rows if row.source.partition("#")[2].split("/")[0] in ("response", "stream")]
    assert len(described) > 50
    assert [row.id for row in described if row.keyword is Keyword.MUST] == []
    assert load("mindie-1.0").requirements["answer.accepted"].keyword is Keyword.MUST


def test_a_must_on_the_authority_of_another_document_is_refused_with_its_place() -> None:
    tree = resolve("ovms-2024")
    tree["requirements"]["stop.not-in-output"]["source"] = "openai-api#request/stop"
    with pytest.raises(ContractError) as caught:
        derive_levels(loading.make_sources_absolute(tree))
    assert str(caught.value) == (
        "requirements/stop.not-in-output/keyword: MUST is stronger than its source allows (openai-api#request/stop, "
        "OpenAI's page): write SHOULD, or cite the place in ovms-2024.4 that says it"
    )


def test_a_may_on_the_pages_own_word_is_refused_with_its_place() -> None:
    tree = deepcopy(resolve("mindie-2.3"))
    tree["parameters"]["n"]["levels"] = {"maximum": "MAY"}
    with pytest.raises(ContractError) as caught:
        derive_levels(loading.make_sources_absolute(tree))
    assert str(caught.value) == (
        "parameters/n/levels/maximum: MAY is weaker than the page's own word (mindie-llm-2.3#request/n): write SHOULD, "
        "or state the ground (one of condition, damage, permission, silence)"
    )


def test_an_unknown_document_is_refused() -> None:
    with pytest.raises(ContractError, match=r"unknown document 'wiki': expected that of the dialect"):
        authority_of("wiki#request", "mindie-llm-2.3")


def test_every_document_and_source_has_a_kind() -> None:
    kinds = {
        key: row["kind"] for section in ("documents", "sources") for key, row in read("documents.yaml")[section].items()
    }
    assert {kinds[key] for key in read("documents.yaml")["documents"]} == {"page"}
    assert {kinds[key] for key in read("documents.yaml")["sources"]} == {"source", "openai", "standard"}
    assert all(row.ground is None or row.ground in Ground for row in interpretations().values())
