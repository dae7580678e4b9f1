"""What a server declares is judged, and what it lacks is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.plan.capabilities import DeclaredCapabilities, default_capabilities
from conformance.plan.capability_use import list_unjudged
from conformance.run.drafting import draft
from openapi.contract.contract import Contract, load

FIVE_DOCUMENTS = ("mindie-2.3", "mindie-vllm-1.0", "mindie-1.0", "siliconstorm", "ovms-2024")


def everything(contract: Contract) -> DeclaredCapabilities:
    return DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), "")


def without(contract: Contract, *names: str) -> DeclaredCapabilities:
    return replace(
        everything(contract), declared=frozenset(contract.capabilities) - set(names), denied=frozenset(names)
    )


@pytest.mark.parametrize("dialect", FIVE_DOCUMENTS)
def test_every_declared_capability_of_the_five_documents_is_judged(dialect: str) -> None:
    contract = load(dialect)
    assert list_unjudged(draft(contract, everything(contract))) == ()


def test_a_declared_capability_that_nothing_depends_on_is_unjudged() -> None:
    contract = load("mindie-2.3")
    plan = draft(contract, everything(contract))
    others = [
        assertion
        for assertion in plan.assertions
        if "media" not in assertion.scenario.capabilities
        and assertion.scenario.id
        not in ("messages-text-and-image-accepted", "messages-text-parts-beside-media-accepted")
    ]
    unjudged = list_unjudged(replace(plan, assertions=tuple(others)))
    assert {"media", "media_paths", "media_urls"} == {capability.name for capability in unjudged}


def test_an_undeclared_capability_is_not_unjudged() -> None:
    contract = load("mindie-2.3")
    assert list_unjudged(draft(contract, default_capabilities(contract))) == ()


def test_requirements_that_need_a_missing_capability_do_not_apply() -> None:
    contract = load("mindie-2.3")
    plan = draft(contract, without(contract, "stop"))
    inapplicable = {requirement.id for requirement in plan.inapplicable}
    assert {"stop.not-in-output", "stop.included-on-request", "finish.stop-when-stopped"} <= inapplicable
    assert "logprobs.told-when-stopped" in inapplicable  # it also needs logprobs, which the server has
    assert "effects.stop-token-ids-heeded" not in inapplicable
    assert plan.uncovered == ()


@pytest.mark.takes_turns
@pytest.mark.parametrize(("dialect", "names"), [("mindie-vllm-1.0", ()), ("ovms-2024", ()), ("vllm", ("thinking",))])
def test_without_one_capability_nothing_is_left_uncovered(dialect: str, names: tuple[str, ...]) -> None:
    contract = load(dialect)
    for name in names or contract.capabilities:
        assert draft(contract, without(contract, name)).uncovered == (), name


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", ["mindie-2.3", "ovms-2024"])
def test_what_a_server_lacks_is_requested_only_to_be_refused(dialect: str) -> None:
    contract = load(dialect)
    for name in ("stop", "logprobs", "n"):
        if name not in contract.capabilities:
            continue
        plan = draft(contract, without(contract, name))
        own = {parameter.name for parameter in contract.parameters.values() if parameter.capability == name}
        neutral = {key: contract.parameters[key].neutral for key in own}
        using = {
            scenario.id
            for scenario in plan.scenarios
            for step in scenario.steps
            for key in own & set(step.body or {})
            if (step.body or {})[key] not in neutral[key] and step.expect != "refusal"
        }
        assert using == {f"{name}-lacking"}


@pytest.mark.parametrize("place", ["media_urls", "media_paths"])
@pytest.mark.parametrize("lacks_media", [False, True])
def test_a_place_of_media_declares_them_unless_the_server_lacks_them(place: str, *, lacks_media: bool) -> None:
    contract = load("siliconstorm")
    known = default_capabilities(contract)
    known = replace(known, denied=known.denied | {"media"}) if lacks_media else known
    given = known.with_media_places(contract, {name: name == place for name in ("media_urls", "media_paths")})
    assert [not lacks_media] * 2 == [name in given.declared for name in ("media", place)]
