"""Generate scenarios from the parameters of a contract: values at each limit, wrong types and null.

The values follow from the schema of a parameter; probes of the contract replace them if an interpretation says more.
Each request tests one fact. It has a small max_tokens, and the parameters without which the tested one has no effect.
Every second invalid value or null, chosen by its id, is sent in a request for a stream: a server may check it too late
there.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

from conformance.plan.scenarios import nested_values, request_rules
from conformance.plan.scenarios.boundary_request import body_with, expectation_of, shorten_value, slug_of
from conformance.plan.scenarios.boundary_values import list_values
from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from conformance.plan.scenarios.list_sizes import list_sizes
from conformance.scenario import Scenario, Step, Subject
from openapi.contract.contract import Keyword, Probe
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract, Expect, Parameter

COSTLY = (
    "n",
    "best_of",
    "max_tokens",
    "max_completion_tokens",
    "min_tokens",
)  # values that would request too much work
STRENGTHS = (Keyword.MAY, Keyword.SHOULD, Keyword.MUST)
KINDS: dict[type, str] = {str: "text-", list: "list-", dict: "object-"}  # so that the ids of null and [null] differ


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return one scenario for each value. A value that the description treats differently would be our own bug."""
    validators = Validator(contract), Validator(contract.with_server_limits())
    scenarios: dict[str, Scenario] = {}
    for parameter in contract.parameters.values():
        if not parameter.lacking:
            for scenario in _of(parameter, contract, *validators):
                if _has_companions(scenario, parameter, contract):
                    unique = _with_unique_id(scenario, scenarios)
                    scenarios[unique.id] = unique
    for scenario in request_rules.generate(contract):
        scenarios[scenario.id] = scenario
    return tuple(scenarios.values())


def list_unfit(contract: Contract) -> Iterator[tuple[Scenario, str]]:
    """Yield the scenarios that would be generated if null were accepted, each with the reason why it is not."""
    for parameter in contract.parameters.values():
        if not parameter.lacking and parameter.null.expect == "reject":
            accepted = replace(parameter.null, expect="accept")
            scenario = _scenario(parameter, accepted, "null", f"{parameter.name}-null", contract)
            yield scenario, f"null is not a value of {parameter.name}"


def _has_companions(scenario: Scenario, parameter: Parameter, contract: Contract) -> bool:
    """Return whether the server supports what is sent together with the value: n above 1 may need best_of."""
    companions = {} if scenario.subject is None else parameter.companions(scenario.subject.value)
    known = ((contract.parameters.get(name), value) for name, value in companions.items())
    return all(other is None or not other.lacking or value in other.neutral for other, value in known)


def _with_unique_id(scenario: Scenario, scenarios: dict[str, Scenario]) -> Scenario:
    """Return the scenario, with a number in its id if another value already has that id."""
    unique, number = scenario, 1
    while (other := scenarios.get(unique.id)) is not None and other.steps != scenario.steps:
        number += 1
        unique = replace(scenario, id=f"{scenario.id}-{number}")
    return unique


def _of(parameter: Parameter, contract: Contract, validator: Validator, limited: Validator) -> Iterator[Scenario]:
    """Yield the scenarios of a parameter. `limited` also refuses what only our own server refuses."""
    probed = [probe.value for probe in parameter.probes]
    for probe in parameter.probes:
        if (probe.capability is None or probe.capability in contract.capabilities) and not (
            probe.expect == "accept" and _is_refused_for_companions(parameter, probe.value, contract, validator)
        ):
            rule = "value" if probe.expect == "accept" else _broken(parameter, probe.value, contract, limited)
            yield _scenario(parameter, probe, rule, f"{parameter.name}-{slug_of(probe.name)}", contract)
    for rule, expect, value in (*list_values(parameter.schema), *list_sizes(parameter)):
        if any(_same(value, other) for other in probed):
            continue
        level = acceptance_of(parameter, rule, value) if expect == "accept" else parameter.level(rule)
        refused = bool(validator.request_problems(body_with(parameter, value, contract)))
        if expect == "accept" and limited.request_problems(body_with(parameter, value, contract)):
            continue
        probe = _probe(value, expect, level, parameter.interpretation)
        if refused == (expect == "reject"):  # a rule across parameters may refuse a value that is in range
            yield _scenario(parameter, probe, rule, f"{parameter.name}-{probe.name}", contract)
    for rule, expect, value, level in nested_values.values(parameter.schema, validator.document):
        costly = value == nested_values.HUGE_INTEGER and parameter.name in COSTLY
        if costly or any(_same(value, other) for other in probed):
            continue
        refused = bool(limited.request_problems(body_with(parameter, value, contract)))
        if parameter.level(rule) is Keyword.MAY or level is Keyword.MAY:
            level, expect = Keyword.MAY, "reject" if refused else "accept"
        if refused == (expect == "reject"):
            probe = _probe(value, expect, level, parameter.interpretation)
            yield _scenario(parameter, probe, rule, f"{parameter.name}-{probe.name}", contract)
    yield _scenario(parameter, parameter.null, "null", f"{parameter.name}-null", contract)


def acceptance_of(parameter: Parameter, rule: str, value: Any) -> Keyword:
    """Return the requirement level for accepting a value that follows from the schema.

    Near its maximum a range is as open as its probes say: servers that may refuse the end may refuse what comes before
    it, unless they must accept something even larger.
    """
    larger = [
        probe.keyword
        for probe in parameter.probes
        if rule == "maximum" and probe.expect == "accept" and type(probe.value) is type(value) and probe.value > value
    ]
    level = max(larger, key=STRENGTHS.index, default=parameter.acceptance(rule))
    return parameter.limit_level(level, value, "accept") if rule == "type" else level


def _probe(value: Any, expect: Expect, level: Keyword, interpretation: str | None) -> Probe:
    slug = slug_of(value if isinstance(value, str) else json.dumps(value))
    kind = "" if value in ([], {}) else KINDS.get(type(value), "")
    return Probe(f"{kind}{slug}", value, expect, level, interpretation)


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _broken(parameter: Parameter, value: Any, contract: Contract, validator: Validator) -> str:
    """Return the keyword that the value violates, for the id of the requirement."""
    problems = validator.request_problems(body_with(parameter, value, contract))
    return problems[0].keyword if problems else "value"


def _is_refused_for_companions(parameter: Parameter, value: Any, contract: Contract, validator: Validator) -> bool:
    """Return whether a value is refused only because the server lacks a parameter that the value needs."""
    problems = {problem.parameter for problem in validator.request_problems(body_with(parameter, value, contract))}
    return bool(problems) and parameter.name not in problems


def _scenario(parameter: Parameter, probe: Probe, rule: str, identity: str, contract: Contract) -> Scenario:
    body = body_with(parameter, probe.value, contract)
    if parameter.name != "model":
        del body["model"]
    if (
        (probe.expect == "reject" or rule == "null")
        and crc32(identity.encode()) % 2
        and _may_stream(parameter, probe, body, contract)
    ):
        body["stream"] = True
    verb = "accepted" if probe.expect == "accept" else "refused"
    shown = shorten_value(probe.value)
    check = "parameters.valid-accepted" if probe.expect == "accept" else "parameters.invalid-refused"
    if rule == "null":
        check = "parameters.null-as-documented"
    expectation = expectation_of(probe.keyword, probe.expect)
    if parameter.name == "model" and probe.expect == "accept":
        expectation = "either"  # a valid name of a model that is not served
    subject = Subject(
        requirement=f"parameters.{parameter.name}.{_requirement(rule, probe)}",
        check=check,
        parameter=parameter.name,
        keyword=probe.keyword,
        source=probe.source or parameter.source_of(rule),
        summary=f"{parameter.name}: {shown} is {verb}",
        value=probe.value,
        expect=probe.expect,
        interpretation=probe.interpretation or parameter.interpretation,
    )
    return Scenario(
        id=f"{identity}-{verb}",
        summary=subject.summary,
        steps=(Step(body=body, expect=expectation),),
        subject=subject,
    )


def _may_stream(parameter: Parameter, probe: Probe, body: dict[str, Any], contract: Contract) -> bool:
    """Return whether a value may be sent in a request for a stream, so that nothing but the value is tested.

    A null that is accepted must be allowed in a stream.
    """
    stream = contract.parameters.get("stream")
    if stream is None or stream.lacking or parameter.name.startswith("stream"):
        return False
    return probe.expect == "reject" or find_allowed_bodies(contract).allows({**body, "stream": True})


def _requirement(rule: str, probe: Probe) -> str:
    """Return the last part of the requirement's id, which values with the same rule and keyword share."""
    side = "inside" if probe.expect == "accept" else "outside"
    name = {"null": "null", "type": "type" if probe.expect == "reject" else "value"}.get(
        rule, f"{slug_of(rule)}-{side}"
    )
    return name if probe.keyword is Keyword.MUST else f"{name}-{probe.keyword.lower()}"
