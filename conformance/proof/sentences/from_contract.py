"""Derive the counterexamples of a sentence from the places of the contract that are its home.

A server that breaks a fact about requests answers what it must refuse, or refuses what it must answer. A server that
breaks a fact about answers leaves out a required field, or sends a value of another type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.proof.sentences.deviation import Deviation, LiveFault
from conformance.proof.sentences.edits import AnswerEdit
from conformance.proof.sentences.outcomes import Outcome, is_same, make_outcome
from conformance.proof.sentences.paths import find_paths, split_fact
from conformance.proof.sentences.request_schemas import break_request_schema
from openapi.schema.json_schema import dereference

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.proof.recorded_run import RecordedRun
    from openapi.contract.contract import Contract, Parameter
    from openapi.schema.json_schema import Schema, Schemas

ROOTS: Final = {"ChatCompletion": False, "ChatCompletionChunk": True}
BOUNDS: Final = ("minimum", "maximum")
SAMPLES: Final[dict[str, Any]] = {"string": "text", "object": {"field": 1}, "array": ["item"], "number": 0.5}
"""Values of four types, one of which is usually not allowed."""


def derive(place: str, run: RecordedRun) -> list[Deviation | LiveFault]:
    """Return the ways to break the fact at a place of the contract; empty if no rule derives any from the place."""
    kind, _, rest = place.partition("/")
    match kind:
        case "parameters":
            name, _, fact = rest.partition("/")
            parameter = run.contract.parameters.get(name)
            return [] if parameter is None else list(_break_parameter(parameter, fact))
        case "rules":
            return list(_break_rule(rest, run.contract))
        case "schemas":
            return list(_break_schema(rest, run.contract))
        case "unsupported":
            return [
                make_outcome(f"{rest} is refused", "refused", lambda body, _: isinstance(body, dict) and rest in body)
            ]
        case "endpoint":
            return [make_outcome("every request is refused", "refused", lambda _body, _run: True)]
    return []


def _break_parameter(parameter: Parameter, fact: str) -> Iterator[Deviation | LiveFault]:
    name = parameter.name
    kind, _, rest = fact.partition("/")
    match kind:
        case "default" | "default_note":
            yield LiveFault(f"the default of {name} is another", f"default:{name}")
        case "null_value":
            yield from _both(f"{name}: null", lambda body, _: name in body and body[name] is None)
        case "required":
            yield make_outcome(f"a request without {name} is answered", "answered", _lacks(name))
        case "probes":
            values = [probe.value for probe in parameter.probes if probe.name == rest]
            for value in values:
                yield from _both(f"{name}: {rest}", _sends(name, value))
        case "schema":
            what = rest or "schema"
            yield make_outcome(f"{name} that violates its {what} is answered", "answered", _violates(name, rest))
            if rest in BOUNDS:
                bound = parameter.schema.get(rest)
                yield make_outcome(f"{name}: {bound}, its {rest}, is refused", "refused", _sends_number(name, bound))


def _both(what: str, concerns: Any) -> Iterator[Deviation]:
    """Yield the two contrary outcomes; a recorded request meets only one of them."""
    outcomes: tuple[Outcome, Outcome] = ("answered", "refused")
    for outcome in outcomes:
        yield make_outcome(
            f"{what} is {outcome}", outcome, lambda body, run: isinstance(body, dict) and concerns(body, run)
        )


def _lacks(name: str) -> Any:
    return lambda body, _: isinstance(body, dict) and name not in body


def _sends(name: str, value: Any) -> Any:
    return lambda body, _: name in body and is_same(body[name], value)


def _sends_number(name: str, bound: Any) -> Any:
    return lambda body, _: isinstance(body, dict) and type(body.get(name)) in (int, float) and body[name] == bound


def _violates(name: str, keyword: str) -> Any:
    last = keyword.rpartition("/")[2]

    def concerns(body: Any, run: RecordedRun) -> bool:
        if not isinstance(body, dict) or name not in body:
            return False
        problems = run.validator.request_problems(body)
        return any(problem.parameter == name and last in ("", problem.keyword) for problem in problems)

    return concerns


def _break_rule(identity: str, contract: Contract) -> Iterator[Deviation]:
    rule = contract.rules.get(identity)
    if rule is not None and rule.broken:
        fields = rule.broken
        yield make_outcome(f"a request with {', '.join(fields)} is answered", "answered", _includes(fields))
    if rule is not None and rule.kept:
        fields = rule.kept
        yield make_outcome(f"a request with {', '.join(fields)} is refused", "refused", _includes(fields))


def _includes(fields: Any) -> Any:
    return lambda body, _: (
        isinstance(body, dict) and all(name in body and is_same(body[name], value) for name, value in fields.items())
    )


def _break_schema(rest: str, contract: Contract) -> Iterator[Deviation]:
    name, _, fact = rest.partition("/")
    answers = [(root, path) for root in ROOTS for path in find_paths(root, name, contract.schemas)]
    for root, path in answers:
        for edit, summary in _edits(contract.schemas[name], path, fact, contract.schemas):
            yield _as_deviation(edit, summary, streamed=ROOTS[root])
    if not answers:
        yield from break_request_schema(name, fact, contract)


def _edits(schema: Schema, path: str, fact: str, schemas: Schemas) -> Iterator[tuple[AnswerEdit, str]]:
    fields, keyword = split_fact(fact)
    place = "/".join([path, *fields]).strip("/")
    if keyword == "required":
        yield AnswerEdit({"remove": [place]}), f"{place} is missing"
    elif keyword in ("", "type", "enum", "const"):
        described = _schema_of(schema, fields, schemas)
        value = None if described is None else _wrong_value(described, schemas)
        if value is not None:
            yield AnswerEdit({"set": {place: value}}), f"{place} is {value!r}"


def _schema_of(schema: Schema, fields: Sequence[str], schemas: Schemas) -> Schema | None:
    """Return the schema of a field, through references; None if it is in a branch of a union."""
    for field in fields:
        holder = dereference(schema, schemas)
        found = holder.get("items") if field == "*" else holder.get("properties", {}).get(field)
        if found is None:
            return None
        schema = found
    return schema


def _wrong_value(schema: Schema, schemas: Schemas) -> Any:
    """Return a value of a type that a schema does not allow; None if it allows all of them."""
    allowed = _allowed_types(schema, schemas)
    if "integer" in allowed and "number" not in allowed:
        return SAMPLES["number"]
    return next((value for kind, value in SAMPLES.items() if kind not in allowed), None)


def _allowed_types(schema: Schema, schemas: Schemas) -> frozenset[str]:
    schema = dereference(schema, schemas)
    if types := schema.get("type"):
        return frozenset([types] if isinstance(types, str) else types)
    if branches := [*schema.get("anyOf", ()), *schema.get("oneOf", ())]:
        return frozenset().union(*(_allowed_types(branch, schemas) for branch in branches))
    return frozenset() if schema.keys() & {"const", "enum"} else frozenset(SAMPLES)


def _as_deviation(edit: AnswerEdit, summary: str, *, streamed: bool) -> Deviation:
    def change(exchange: Any, _: RecordedRun) -> Any:
        if exchange.is_stream != streamed or not exchange.succeeded:
            return None
        return edit.apply(exchange)

    return Deviation(summary, "stream" if streamed else "plain", change)
