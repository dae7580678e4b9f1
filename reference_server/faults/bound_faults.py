"""Faults that the parameters make: every documented bound that is not enforced, and every one that is too tight.

None is written by hand. `accepts:top_p.maximum` takes what the contract refuses for that keyword, and leaves it out;
`refuses:top_p.maximum` refuses the bound itself. Facts that a contract leaves open (MAY) make no fault.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.contract import Keyword
from openapi.description.validation import Validator
from reference_server.faults.decorators import at_seams
from reference_server.faults.hooks import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi.contract.contract import Contract, Parameter, Probe, Rule
    from openapi.schema.problem import Problem
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, Told

GREETING: Final = [{"role": "user", "content": "Hello!"}]
SLIGHT: Final = 1e-3  # how much too tight a bound of a number is that must not be reached itself
BUG: Final = 121  # a body that no schema allows
BUGS: Final = {  # bounds that have reports of their own
    "refuses:response_format.null": 110,
    "refuses:max_tokens.null": 129,
    "accepts:messages.enum": 131,
    "accepts:messages.oneOf": 131,
    "accepts:messages.discriminator": 131,
}


class Bounds:
    """What a contract says of the parameters, for the faults that do otherwise; the validator is made when needed."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract

    @cached_property
    def validator(self) -> Validator:
        """The one that the faultless server refuses with."""
        return Validator(self.contract)

    def problems(self, sent: Json) -> tuple[Problem, ...]:
        """What is wrong with a body."""
        return self.validator.request_problems(sent)

    def broken_keywords(self, parameter: Parameter) -> dict[str, Keyword]:
        """Keywords that some value of a parameter breaks, with how sure it is that it is refused."""
        found: dict[str, Keyword] = {}
        schema = parameter.schema
        for keyword in ("type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            if keyword in schema:
                found[keyword] = parameter.level(keyword)
        for probe in parameter.probes:
            if probe.expect == "reject" and self.is_probed(probe):
                problems = self.problems({"messages": GREETING, **parameter.needs, parameter.name: probe.value})
                own = [problem.keyword for problem in problems if problem.parameter == parameter.name]
                for keyword in own[:1]:
                    found[keyword] = _surer(found.get(keyword, Keyword.MAY), probe.keyword)
        return found

    def is_probed(self, probe: Probe) -> bool:
        """Whether the capability that a probe needs is there."""
        return probe.capability is None or probe.capability in self.contract.capabilities


def _surer(one: Keyword, other: Keyword) -> Keyword:
    order = (Keyword.MUST, Keyword.SHOULD, Keyword.MAY)
    return min(one, other, key=order.index)


def made_of(contract: Contract) -> Iterator[Fault]:
    """The faults that the parameters and rules of a served contract make."""
    bounds = Bounds(contract)
    for parameter in contract.parameters.values():
        if not parameter.lacking:
            yield from _unenforced(parameter, bounds)
            yield from _too_tight(parameter, bounds)
            yield from _on_null(parameter)
    for rule in contract.rules.values():
        yield from _on_rule(rule)


def _made(name: str, line: str, about: str, edit: Callable[[Told], None]) -> Fault:
    return at_seams(name, line, about=about, bugs=(BUGS.get(name, BUG),), request=edit)


def _unenforced(parameter: Parameter, bounds: Bounds) -> Iterator[Fault]:
    name = parameter.name
    for keyword, level in bounds.broken_keywords(parameter).items():
        if level is not Keyword.MAY:
            line = f"A value of {name} that breaks its {keyword} is taken and ignored."
            yield _made(f"accepts:{name}.{keyword}", line, name, _ignoring(parameter, keyword, bounds))
    if parameter.required:
        line = f"A request without {name} is answered."
        yield _made(f"accepts:{name}.missing", line, name, _supplying(name, bounds.contract))


def _ignoring(parameter: Parameter, keyword: str, bounds: Bounds) -> Callable[[Told], None]:
    def edit(told: Told) -> None:
        if parameter.name in told.sent and any(
            problem.parameter == parameter.name and problem.keyword == keyword for problem in bounds.problems(told.sent)
        ):
            _neglect(told.sent, parameter, bounds.contract)

    return edit


def _neglect(sent: Json, parameter: Parameter, contract: Contract) -> None:
    """Takes a parameter out of a body, or puts something harmless in the place of one that is required."""
    del sent[parameter.name]
    if parameter.required:
        sent |= _harmless(parameter.name, contract)


def _harmless(name: str, contract: Contract) -> Json:
    return {"messages": GREETING} if name == "messages" else {"model": contract.default_model}


def _supplying(name: str, contract: Contract) -> Callable[[Told], None]:
    def edit(told: Told) -> None:
        if told.sent.get(name) is None:
            told.sent |= _harmless(name, contract)

    return edit


def _too_tight(parameter: Parameter, bounds: Bounds) -> Iterator[Fault]:
    name = parameter.name
    for keyword, is_refused in _tight(parameter.schema):
        if any(is_refused(probe.value) for probe in parameter.probes if _is_open(probe)):
            continue
        line = f"The {keyword} of {name} is too tight: a value that just keeps it is refused."
        yield _made(f"refuses:{name}.{keyword}", line, name, _refusing(name, is_refused))
    accepted = [probe for probe in parameter.probes if probe.expect == "accept" and bounds.is_probed(probe)]
    if any(probe.keyword is not Keyword.MAY for probe in accepted) and not parameter.required:
        line = f"Every request with {name} is refused, as if there were no such parameter."
        yield _made(f"refuses:{name}", line, name, _refusing(name, lambda _: True))


def _is_open(probe: Probe) -> bool:
    """Whether a value need not be taken."""
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


def _refusing(name: str, is_refused: Callable[[Any], bool]) -> Callable[[Told], None]:
    def edit(told: Told) -> None:
        if told.sent.get(name) is not None and is_refused(told.sent[name]):
            raise Refused("invalid_request", f"{name}: this value is not allowed")

    return edit


def _on_null(parameter: Parameter) -> Iterator[Fault]:
    name, null = parameter.name, parameter.null
    if null.keyword is Keyword.MAY:
        return
    if null.expect == "accept":
        yield _made(f"refuses:{name}.null", f"null is refused for {name}.", name, _refusing_null(name))
    elif not parameter.required:
        yield _made(f"accepts:{name}.null", f"null is taken for {name}.", name, _dropping_null(name))


def _refusing_null(name: str) -> Callable[[Told], None]:
    def edit(told: Told) -> None:
        if name in told.sent and told.sent[name] is None:
            raise Refused("invalid_request", f"{name} must not be null")

    return edit


def _dropping_null(name: str) -> Callable[[Told], None]:
    def edit(told: Told) -> None:
        if name in told.sent and told.sent[name] is None:
            del told.sent[name]

    return edit


def _on_rule(rule: Rule) -> Iterator[Fault]:
    trigger = rule.trigger
    if trigger is None:
        return
    if rule.broken is not None and rule.keyword is not Keyword.MAY:
        line = f"What breaks a rule is taken, and {trigger} ignored. The rule: {rule.summary}"
        yield _made(f"accepts:{rule.id}", line, trigger, _dropping(trigger, dict(rule.broken)))
    if rule.kept is not None:
        line = f"What keeps a rule is refused. The rule: {rule.summary}"
        yield _made(f"refuses:{rule.id}", line, trigger, _refusing_members(dict(rule.kept), trigger))


def _holds(sent: Json, members: Json) -> bool:
    return all(name in sent and sent[name] == value for name, value in members.items())


def _dropping(trigger: str, members: Json) -> Callable[[Told], None]:
    def edit(told: Told) -> None:
        if _holds(told.sent, members):
            told.sent.pop(trigger, None)

    return edit


def _refusing_members(members: Json, trigger: str) -> Callable[[Told], None]:
    def edit(told: Told) -> None:
        if _holds(told.sent, members):
            raise Refused("invalid_request", f"{trigger}: this combination is not allowed")

    return edit
