"""Generates faults from the parameters of a contract: bounds that are not enforced, and bounds that are too tight.

`accepts:top_p.maximum` accepts and ignores values above the maximum; `refuses:top_p.maximum` refuses the maximum.
Facts that a contract leaves open (MAY) yield no fault.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.contract import Keyword
from openapi.description.validation import Validator
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.hooks import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi.contract.contract import Contract, Parameter, Probe, Rule
    from openapi.schema.problem import Problem
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

GREETING: Final = [{"role": "user", "content": "Hello!"}]
SLIGHT: Final = 1e-3  # how much an exclusive bound of a number is too tight
BUG: Final = 121  # the row of bugs.yaml for bodies that no schema allows
BUGS: Final = {  # bounds with rows of their own
    "refuses:response_format.null": 110,
    "refuses:max_tokens.null": 129,
    "accepts:messages.enum": 131,
    "accepts:messages.oneOf": 131,
    "accepts:messages.discriminator": 131,
}


class Bounds:
    """The parameters of a contract with a validator, which is created when it is needed."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract

    @cached_property
    def validator(self) -> Validator:
        """The validator of the server without faults."""
        return Validator(self.contract.with_server_limits())

    def problems(self, sent: Json) -> tuple[Problem, ...]:
        """Return the problems of a request body."""
        return self.validator.request_problems(sent)

    def broken_keywords(self, parameter: Parameter) -> dict[str, Keyword]:
        """Return the schema keywords that a value of the parameter can violate, each with the strongest level."""
        levels: dict[str, Keyword] = {}
        schema = parameter.schema
        for keyword in ("type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            if keyword in schema:
                levels[keyword] = parameter.level(keyword)
        for probe in parameter.probes:
            if probe.expect == "reject" and self.is_probed(probe):
                companions = parameter.companions(probe.value)
                problems = self.problems({"messages": GREETING, **companions, parameter.name: probe.value})
                own = [problem.keyword for problem in problems if problem.parameter == parameter.name]
                for keyword in own[:1]:
                    levels[keyword] = _stronger(levels.get(keyword, Keyword.MAY), probe.keyword)
        return levels

    def is_probed(self, probe: Probe) -> bool:
        """Whether the server has the capability that a probe needs."""
        return probe.capability is None or probe.capability in self.contract.capabilities


def _stronger(one: Keyword, other: Keyword) -> Keyword:
    order = (Keyword.MUST, Keyword.SHOULD, Keyword.MAY)
    return min(one, other, key=order.index)


def bound_faults_of(contract: Contract) -> Iterator[Fault]:
    """Yield the faults generated from the parameters and rules of a served contract."""
    bounds = Bounds(contract)
    for parameter in contract.parameters.values():
        if not parameter.lacking:
            yield from _unenforced(parameter, bounds)
            yield from _too_tight(parameter, bounds)
            yield from _on_null(parameter)
    for rule in contract.rules.values():
        yield from _on_rule(rule)


def _request_fault(name: str, line: str, parameter: str, edit: Callable[[ServedRequest], None]) -> Fault:
    return hooked_fault(name, line, parameter=parameter, bugs=(BUGS.get(name, BUG),), request=edit)


def _unenforced(parameter: Parameter, bounds: Bounds) -> Iterator[Fault]:
    name = parameter.name
    for keyword, level in bounds.broken_keywords(parameter).items():
        if level is not Keyword.MAY:
            line = f"A value of {name} that violates its {keyword} is accepted and ignored."
            yield _request_fault(f"accepts:{name}.{keyword}", line, name, _ignoring(parameter, keyword, bounds))
    if parameter.required:
        line = f"A request without {name} is answered."
        yield _request_fault(f"accepts:{name}.missing", line, name, _supplying(name, bounds.contract))


def _ignoring(parameter: Parameter, keyword: str, bounds: Bounds) -> Callable[[ServedRequest], None]:
    def edit(request: ServedRequest) -> None:
        if parameter.name in request.payload and any(
            problem.parameter == parameter.name and problem.keyword == keyword
            for problem in bounds.problems(request.payload)
        ):
            _neglect(request.payload, parameter, bounds.contract)

    return edit


def _neglect(sent: Json, parameter: Parameter, contract: Contract) -> None:
    """Remove a parameter from a body, or replace a required one by a harmless value."""
    del sent[parameter.name]
    if parameter.required:
        sent |= _harmless(parameter.name, contract)


def _harmless(name: str, contract: Contract) -> Json:
    return {"messages": GREETING} if name == "messages" else {"model": contract.default_model}


def _supplying(name: str, contract: Contract) -> Callable[[ServedRequest], None]:
    def edit(request: ServedRequest) -> None:
        if request.payload.get(name) is None:
            request.payload |= _harmless(name, contract)

    return edit


def _too_tight(parameter: Parameter, bounds: Bounds) -> Iterator[Fault]:
    name = parameter.name
    for keyword, is_refused in _tight(parameter.schema):
        if any(is_refused(probe.value) for probe in parameter.probes if _is_open(probe)):
            continue
        line = f"The {keyword} of {name} is too tight: a value at the bound is refused."
        yield _request_fault(f"refuses:{name}.{keyword}", line, name, _refusing(name, is_refused))
    accepted = [probe for probe in parameter.probes if probe.expect == "accept" and bounds.is_probed(probe)]
    if any(probe.keyword is not Keyword.MAY for probe in accepted) and not parameter.required:
        line = f"Every request with {name} is refused, as if the parameter did not exist."
        yield _request_fault(f"refuses:{name}", line, name, _refusing(name, lambda _: True))


def _is_open(probe: Probe) -> bool:
    """Whether the server may refuse a value."""
    return probe.expect == "reject" or probe.keyword is Keyword.MAY


def _tight(schema: Json) -> Iterator[tuple[str, Callable[[Any], bool]]]:
    whole = schema.get("type") == "integer"
    step = 1 if whole else SLIGHT
    for keyword in ("minimum", "maximum"):
        if keyword in schema:
            yield keyword, _equals(schema[keyword])
    if "exclusiveMinimum" in schema:
        yield "exclusiveMinimum", _within(schema["exclusiveMinimum"], step)
    if "exclusiveMaximum" in schema:
        yield "exclusiveMaximum", _within(schema["exclusiveMaximum"], step)
    if "enum" in schema:
        yield "enum", _equals(schema["enum"][-1])
    if schema.get("type") == "boolean":
        yield "type", _equals(True)


def _equals(bound: Any) -> Callable[[Any], bool]:
    return lambda value: type(value) is type(bound) and bool(value == bound)


def _within(bound: float, step: float) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, (int, float)) and abs(value - bound) <= step


def _refusing(name: str, is_refused: Callable[[Any], bool]) -> Callable[[ServedRequest], None]:
    def edit(request: ServedRequest) -> None:
        if request.payload.get(name) is not None and is_refused(request.payload[name]):
            raise Refusal("invalid_request", f"{name}: this value is not allowed")

    return edit


def _on_null(parameter: Parameter) -> Iterator[Fault]:
    name, null = parameter.name, parameter.null
    if null.keyword is Keyword.MAY:
        return
    if null.expect == "accept":
        yield _request_fault(f"refuses:{name}.null", f"null is refused for {name}.", name, _refusing_null(name))
    elif not parameter.required:
        yield _request_fault(f"accepts:{name}.null", f"null is accepted for {name}.", name, _dropping_null(name))


def _refusing_null(name: str) -> Callable[[ServedRequest], None]:
    def edit(request: ServedRequest) -> None:
        if name in request.payload and request.payload[name] is None:
            raise Refusal("invalid_request", f"{name} must not be null")

    return edit


def _dropping_null(name: str) -> Callable[[ServedRequest], None]:
    def edit(request: ServedRequest) -> None:
        if name in request.payload and request.payload[name] is None:
            del request.payload[name]

    return edit


def _on_rule(rule: Rule) -> Iterator[Fault]:
    trigger = rule.trigger
    if trigger is None:
        return
    if rule.broken is not None and rule.keyword is not Keyword.MAY:
        line = f"A request that violates a rule is accepted, and {trigger} is ignored. The rule: {rule.summary}"
        yield _request_fault(f"accepts:{rule.id}", line, trigger, _dropping(trigger, dict(rule.broken)))
    if rule.kept is not None:
        line = f"A request that satisfies a rule is refused. The rule: {rule.summary}"
        yield _request_fault(f"refuses:{rule.id}", line, trigger, _refusing_fields(dict(rule.kept), trigger))


def _contains(sent: Json, fields: Json) -> bool:
    return all(name in sent and sent[name] == value for name, value in fields.items())


def _dropping(trigger: str, fields: Json) -> Callable[[ServedRequest], None]:
    def edit(request: ServedRequest) -> None:
        if _contains(request.payload, fields):
            request.payload.pop(trigger, None)

    return edit


def _refusing_fields(fields: Json, trigger: str) -> Callable[[ServedRequest], None]:
    def edit(request: ServedRequest) -> None:
        if _contains(request.payload, fields):
            raise Refusal("invalid_request", f"{trigger}: this combination is not allowed")

    return edit
