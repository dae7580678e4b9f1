"""Reach: which assertions of a plan stand for a place of the contract.

A place says where a fact is held: `parameters/top_p/schema/maximum`, `rules/n-needs-temperature`,
`schemas/Choice/required/message`. Scenarios are generated from such facts, and checks hold answers against them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi.contract.resolution import walk_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.plan.plan import Assertion, Plan
    from openapi.contract.contract import Contract, Probe

SCHEMAS = "#/components/schemas/"
ROOTS = {"ChatCompletion": "answer.fits-schema", "ChatCompletionChunk": "stream.chunks-fit-schema"}
ANSWERED = ("answer.accepted", "stream.accepted")
LEFT_OUT = (*ANSWERED, "parameters.valid-accepted")
REFUSED = ("errors.envelope-fits", "errors.status-as-documented")
SIDES = ("inside", "outside")


class CoverageMap:
    """Finds assertions by place. `contract` is the one that the plan was made from."""

    def __init__(self, contract: Contract, plan: Plan) -> None:
        self._contract = contract
        self._by_check: dict[str, list[Assertion]] = {}
        self._by_parameter: dict[str, list[Assertion]] = {}
        for assertion in plan.assertions:
            self._by_check.setdefault(assertion.check.id, []).append(assertion)
            if assertion.check.by_subject and assertion.scenario.subject is not None:
                self._by_parameter.setdefault(assertion.scenario.subject.parameter, []).append(assertion)

    def of_check(self, identity: str) -> list[Assertion]:
        """The assertions of one check."""
        return self._by_check.get(identity, [])

    def of_place(self, place: str) -> list[Assertion]:
        """The assertions that would notice if a server did not keep to what stands at the place."""
        kind, _, rest = place.partition("/")
        match kind:
            case "parameters":
                return self._of_parameter(rest)
            case "rules":
                return self._of_rule(rest)
            case "schemas":
                return self._of_schema(rest)
            case "endpoint":
                return self._of_checks(*ANSWERED)
            case "errors":
                return self._of_checks(*REFUSED)
        return []

    def _of_parameter(self, rest: str) -> list[Assertion]:
        """A default is exercised where the parameter is left out; all else where it is the subject."""
        name, _, member = rest.partition("/")
        if member in ("default", "default_note"):
            return [check for check in self._of_checks(*LEFT_OUT) if name not in (check.step.body or {})]
        found = self._by_parameter.get(name, [])
        if member.startswith("probes/"):
            sent = {repr(probe.value) for probe in self._probes(name) if probe.name == member.removeprefix("probes/")}
            return [each for each in found if each.scenario.subject and repr(each.scenario.subject.value) in sent]
        wanted = _rows(member)
        return [each for each in found if wanted(each.requirement.id.removeprefix(f"parameters.{name}."))]

    def _probes(self, name: str) -> tuple[Probe, ...]:
        return self._contract.parameters[name].probes if name in self._contract.parameters else ()

    def _of_rule(self, rest: str) -> list[Assertion]:
        rule = self._contract.rules.get(rest)
        rows = () if rule is None else (f"parameters.{rule.trigger}.{end}" for end in (rule.id, f"{rule.id}-kept"))
        ids = set(rows)
        return [each for found in self._by_parameter.values() for each in found if each.requirement.id in ids]

    def _of_schema(self, rest: str) -> list[Assertion]:
        """A shared schema is held against answers, or against the parameters that use it."""
        name = rest.partition("/")[0]
        checks = [check for root, check in ROOTS.items() if name in self._used({"$ref": SCHEMAS + root})]
        users = [key for key, each in self._contract.parameters.items() if name in self._used(each.schema)]
        return [*self._of_checks(*checks), *(each for user in users for each in self._of_parameter(user))]

    def _used(self, schema: Any) -> set[str]:
        """The names of all schemas that this one leads to."""
        seen: set[str] = set()
        waiting = [schema]
        while waiting:
            for key, value, _ in walk_tree(waiting.pop()):
                name = value.removeprefix(SCHEMAS) if key == "$ref" else ""
                if name and name not in seen:
                    seen.add(name)
                    waiting.append(self._contract.schemas[name])
        return seen

    def _of_checks(self, *identities: str) -> list[Assertion]:
        return [each for identity in identities for each in self.of_check(identity)]


def _rows(member: str) -> Callable[[str], bool]:
    """Which requirements of a parameter a member of its row stands for, by what follows the parameter's name."""
    kind, _, rest = member.partition("/")
    keyword = rest.partition("/")[0]
    if kind == "null_value":
        return lambda row: row.startswith("null")
    if kind == "required":
        return lambda row: row == "required"
    if kind == "schema" and keyword == "type":
        return lambda row: row.startswith(("type", "value"))
    if kind == "schema" and keyword:
        return lambda row: row.startswith(tuple(f"{keyword}-{side}" for side in SIDES))
    return lambda row: not row.startswith("null")
