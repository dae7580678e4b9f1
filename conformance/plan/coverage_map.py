"""Map the facts of a contract to the assertions of a plan that test them.

A fact is identified by its path in the contract, for example `parameters/top_p/schema/maximum`,
`rules/n-needs-temperature` or `schemas/Choice/required/message`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi.contract.tree.delta import walk_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.plan.assertion import Assertion
    from conformance.plan.plan import Plan
    from openapi.contract.contract import Contract, Probe

SCHEMAS = "#/components/schemas/"
ROOTS = {"ChatCompletion": "answer.fits-schema", "ChatCompletionChunk": "stream.chunks-fit-schema"}
ANSWERED = ("answer.accepted", "stream.accepted")
REFUSED = ("errors.envelope-fits", "errors.status-as-documented")
SIDES = ("inside", "outside")


class CoverageMap:
    """Finds the assertions that test a fact. `contract` is the contract that the plan was made from."""

    def __init__(self, contract: Contract, plan: Plan) -> None:
        self._contract = contract
        self._by_check: dict[str, list[Assertion]] = {}
        self._by_parameter: dict[str, list[Assertion]] = {}
        for assertion in plan.assertions:
            self._by_check.setdefault(assertion.check.id, []).append(assertion)
            subject = assertion.scenario.subject_of(assertion.step)
            if assertion.check.by_subject and subject is not None:
                self._by_parameter.setdefault(subject.parameter, []).append(assertion)

    def find_by_check(self, identity: str) -> list[Assertion]:
        """Return the assertions of a check."""
        return self._by_check.get(identity, [])

    def find_by_path(self, path: str) -> list[Assertion]:
        """Return the assertions that can fail if a server does not conform to the fact at a path."""
        kind, _, rest = path.partition("/")
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
        name, _, key = rest.partition("/")
        assertions = self._by_parameter.get(name, [])
        if key.startswith("probes/"):
            sent = {repr(probe.value) for probe in self._probes(name) if probe.name == key.removeprefix("probes/")}
            return [item for item in assertions if item.scenario.subject and repr(item.scenario.subject.value) in sent]
        matches = _row_filter(key)
        return [item for item in assertions if matches(item.requirement.id.removeprefix(f"parameters.{name}."))]

    def _probes(self, name: str) -> tuple[Probe, ...]:
        return self._contract.parameters[name].probes if name in self._contract.parameters else ()

    def _of_rule(self, rest: str) -> list[Assertion]:
        rule = self._contract.rules.get(rest)
        rows = () if rule is None else (f"parameters.{rule.trigger}.{end}" for end in (rule.id, f"{rule.id}-kept"))
        ids = set(rows)
        return [item for items in self._by_parameter.values() for item in items if item.requirement.id in ids]

    def _of_schema(self, rest: str) -> list[Assertion]:
        """A shared schema is tested by the checks of answers, or by the parameters that use it."""
        name = rest.partition("/")[0]
        checks = [
            check for root, check in ROOTS.items() if name in used_schemas({"$ref": SCHEMAS + root}, self._contract)
        ]
        users = [
            key for key, item in self._contract.parameters.items() if name in used_schemas(item.schema, self._contract)
        ]
        return [*self._of_checks(*checks), *(item for user in users for item in self._of_parameter(user))]

    def _of_checks(self, *identities: str) -> list[Assertion]:
        return [item for identity in identities for item in self.find_by_check(identity)]


def used_schemas(schema: Any, contract: Contract) -> set[str]:
    """Return the names of all schemas that a schema refers to, directly or indirectly."""
    seen: set[str] = set()
    waiting = [schema]
    while waiting:
        for key, value, _ in walk_tree(waiting.pop()):
            name = value.removeprefix(SCHEMAS) if key == "$ref" else ""
            if name and name not in seen:
                seen.add(name)
                waiting.append(contract.schemas[name])
    return seen


def _row_filter(key: str) -> Callable[[str], bool]:
    """Return a filter for the requirements that test a field of a parameter, by the last part of their id."""
    kind, _, rest = key.partition("/")
    keyword = rest.partition("/")[0]
    if kind.startswith("default"):
        return lambda row: row == "default-held"
    if kind == "null_value":
        return lambda row: row.startswith("null")
    if kind == "required":
        return lambda row: row == "required"
    if kind == "schema" and keyword == "type":
        return lambda row: row.startswith(("type", "value"))
    if kind == "schema" and keyword:
        return lambda row: row.startswith(tuple(f"{keyword}-{side}" for side in SIDES))
    return lambda row: not row.startswith(("null", "default"))
