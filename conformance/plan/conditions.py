"""Name the conditions under which a check judges an exchange, as far as the request shows them.

Two requests with the same conditions show a check the same. A plan for selected checks contains each condition of each
check, see `selection`. Conditions are read from the request alone, so they exist for every check and every dialect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.plan.assertion import Assertion
    from conformance.scenario import Step
    from openapi.contract.contract import Contract

Condition: TypeAlias = tuple[object, ...]

COMMON_FIELDS = ("model", "messages", "stream", "max_tokens", "max_completion_tokens")
"""Fields that say nothing by their presence alone; their values are conditions of their own."""


def list_conditions(assertion: Assertion, contract: Contract) -> Iterator[Condition]:
    """Yield the conditions under which an assertion judges its step; some may be repeated."""
    scenario, step = assertion.scenario, assertion.step
    subject = scenario.subject_of(step)
    form = _form(step)
    is_shared = bool(scenario.also or scenario.unless_answered)
    yield "request", form, step.method, step.path
    yield "expected", form, step.expect
    yield "credentials", step.credentials
    yield "serialization", step.form
    yield from (("header", name.lower()) for name in step.headers)
    if step.raw is not None:  # written bytes differ in nothing that can be named
        yield "raw", scenario.id, step.name
    if step.stop_from is not None:
        yield "stop string", form, step.stop_from.form == "unfinished"
    if step.continues is not None:
        yield "continued", form
    if subject is not None:
        yield "value", form, subject.expect
    if subject is not None and step.expect == "refusal":
        yield "violation", subject.requirement.rpartition(".")[2]  # without the parameter: `maximum-outside`
        yield "refused parameter", subject.parameter
    elif step.expect != "refusal" and not (is_shared and step.streams):  # values together show what any stream does
        yield from _conditions_of_body(step, form, contract)


def _form(step: Step) -> str:
    return "raw" if step.raw is not None else "stream" if step.streams else "plain"


def _conditions_of_body(step: Step, form: str, contract: Contract) -> Iterator[Condition]:
    body = step.body or {}
    for name, value in body.items():
        parameter = contract.parameters.get(name)
        neutral = () if parameter is None else parameter.neutral
        if (
            value is not None
            and name not in COMMON_FIELDS
            and not any(type(value) is type(item) and value == item for item in neutral)
        ):
            yield "parameter", form, name, value if isinstance(value, bool | str) else type(value)
    yield "length", form, step.tokens.bit_length() // 2  # a condition for each power of four
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict):
            yield "role", repr(message.get("role"))
            content = message.get("content")
            yield "content", form, type(content).__name__, isinstance(content, str) and content.isascii()
