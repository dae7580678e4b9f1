"""Derive the counterexamples of a sentence whose home is a schema of requests, or a part of one.

A server that breaks it answers a request whose value at that part violates the description, or refuses one that has a
valid value there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from conformance.proof.sentences.outcomes import is_same, make_outcome
from conformance.proof.sentences.paths import find_paths_below, find_places, split_fact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.proof.recorded_run import RecordedRun
    from conformance.proof.sentences.deviation import Deviation
    from openapi.contract.contract import Contract
    from openapi.schema.problem import Problem

UNIONS: Final = ("oneOf", "anyOf")
"""A wrong discriminator is reported as a violation of the union, at the object that has it."""


@dataclass(frozen=True, slots=True)
class RequestPart:
    """A part of a schema of requests.

    holders: the paths of the schema in a request, such as `messages/*`.
    fields: the steps from there to the part, none for the schema itself.
    keyword: the keyword of the part that the sentence states; "" for all of them.
    constants: the fields that tell the schema from the others in its place, such as the role of a message.
    """

    holders: tuple[str, ...]
    fields: tuple[str, ...]
    keyword: str
    constants: Mapping[str, Any]

    def is_violated(self, body: Any, run: RecordedRun) -> bool:
        """Return whether a request has the part, and violates it."""
        if not isinstance(body, dict):
            return False
        problems = run.validator.request_problems(body)
        return any(self._concerns(problem, holder, body) for problem in problems for holder in self.holders)

    def is_sent(self, body: Any, _: RecordedRun) -> bool:
        """Return whether a request has the part."""
        return isinstance(body, dict) and any(
            self._is_own(parent[key])
            and (not self.fields or any(find_places(parent[key], "/".join(self.fields), streamed=False)))
            for holder in self.holders
            for parent, key in find_places(body, holder, streamed=False)
        )

    def _concerns(self, problem: Problem, holder: str, body: Any) -> bool:
        steps, above = problem.where.split("/")[1:], holder.split("/")
        part = [*above, *self.fields]
        owned = self._is_own(_follow(body, steps[: len(above)])) if self.fields else True
        if not owned:
            return False
        if self.keyword:
            return problem.keyword == self.keyword and len(steps) == len(part) and _leads_into(steps, part)
        if self.fields and self.fields[0] in self.constants and problem.keyword in UNIONS:
            return len(steps) == len(above) and _leads_into(steps, above)
        return _leads_into(steps, part)

    def _is_own(self, holder: Any) -> bool:
        """Return whether an object is one of the schema, as far as its other constants tell."""
        if not isinstance(holder, dict):
            return not self.fields and not self.constants
        return all(
            is_same(holder.get(name), value) for name, value in self.constants.items() if name not in self.fields[:1]
        )


def break_request_schema(name: str, fact: str, contract: Contract) -> Iterator[Deviation]:
    """Yield the ways to break the fact at a path below a schema: its keyword, one of its fields, or all of it."""
    part = _find_part(name, fact, contract)
    where = "/".join((name, *part.fields, *([part.keyword] if part.keyword else [])))
    yield make_outcome(f"{where} is not enforced", "answered", part.is_violated)
    if part.keyword != "required":
        yield make_outcome(f"a request with a valid {where} is refused", "refused", part.is_sent)


def _find_part(name: str, fact: str, contract: Contract) -> RequestPart:
    fields, keyword = split_fact(fact)
    properties = contract.schemas[name].get("properties", {})
    constants = {field: schema["const"] for field, schema in properties.items() if "const" in schema}
    holders = (
        path
        for parameter in contract.parameters.values()
        for path in find_paths_below(parameter.schema, name, contract.schemas, parameter.name)
    )
    return RequestPart(tuple(dict.fromkeys(holders)), fields, keyword, constants)


def _leads_into(steps: Sequence[str], part: Sequence[str]) -> bool:
    """Return whether the path of a value is the path of a part or leads on from there."""
    return len(steps) >= len(part) and all(wanted in ("*", step) for step, wanted in zip(steps, part, strict=False))


def _follow(value: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        if isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, dict):
            value = value.get(step)
        else:
            return None
    return value
