"""Generate requests that together have every form of the request's schema that no other request has.

A server may handle each branch of a union, each value of an enum, null and each optional field in code of its own, so
each is sent at least once. Forms that must or should be accepted are sent together, one value of each parameter in a
request; if that one is refused, each of them is sent alone. Forms that a model or an account may lack are sent in
requests of their own, which may be refused.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.combinations.forms.merging import merge
from conformance.plan.scenarios.combinations.forms.writer import FormValue, find_writer
from conformance.scenario import Scenario, Step, Subject
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from conformance.plan.scenarios.combinations.forms.schema_forms import Form
    from conformance.plan.scenarios.combinations.forms.writer import FormWriter
    from openapi.contract.contract import Contract

    Body = dict[str, Any]

TOGETHER: Final = "forms-together"
SUMMARY: Final = "forms of values that no other request has are accepted together"


def generate(others: Iterable[Scenario], contract: Contract) -> tuple[Scenario, ...]:
    """Return the requests with several forms each, and those with one form for the case that these are refused."""
    writer = find_writer(contract)
    values = (*writer.write_all(_list_absent(others, writer)), *writer.write_unusual())
    packs = list(_pack(_merge(values, writer), writer))
    return tuple(
        scenario for number, pack in enumerate(packs, 1) for scenario in _scenarios(number, pack, values, writer)
    )


def list_unreached(others: Iterable[Scenario], contract: Contract) -> dict[str, set[Form]]:
    """Return the forms, by parameter, that none of the scenarios sends as it should."""
    absent = _list_absent(others, find_writer(contract))
    return {name: set(forms) for name, forms in absent.items() if forms}


def _list_absent(others: Iterable[Scenario], writer: FormWriter) -> dict[str, list[Form]]:
    """Return the forms of each parameter that the other requests lack.

    A form that may be refused counts as sent in a request that may be refused. So does one of a value to which another
    scenario gives that level.
    """
    answered: dict[str, set[Form]] = defaultdict(set)
    offered: dict[str, set[Form]] = defaultdict(set)
    for scenario in others:
        for step in scenario.steps:
            if not step.targets_chat or step.body is None or step.expect == "refusal":
                continue
            subject = scenario.subject_of(step)
            is_open = subject is not None and subject.keyword is Keyword.MAY and subject.expect == "accept"
            for name in step.body.keys() & set(writer.names):
                found = writer.find_forms(name, step.body[name])
                offered[name] |= found
                if step.expect == "answer" or (is_open and subject is not None and subject.parameter == name):
                    answered[name] |= found
    return {
        name: [
            form
            for form in writer.list_forms(name)
            if form not in answered[name] and not (form in offered[name] and writer.level(name, form) is Keyword.MAY)
        ]
        for name in writer.names
    }


def _merge(values: Iterable[FormValue], writer: FormWriter) -> list[FormValue]:
    """Return the values with those of a parameter in one, as far as it keeps all their forms and is allowed."""
    merged: list[FormValue] = []
    for value in values:
        for at, other in enumerate(merged):
            if (other.parameter, other.keyword) == (value.parameter, value.keyword):
                both, forms = merge(other.value, value.value), other.forms | value.forms
                joined = replace(value, value=both, forms=forms, leaves=other.leaves | value.leaves)
                fits = both is not None and writer.complete({value.parameter: both}) is not None
                if fits and writer.keeps(both, joined):
                    merged[at] = joined
                    break
        else:
            merged.append(value)
    return merged


def _pack(values: list[FormValue], writer: FormWriter) -> Iterator[list[FormValue]]:
    """Yield groups of values that may be sent together, one of each parameter, until each was in one."""
    for keywords in ((Keyword.MUST, Keyword.SHOULD), (Keyword.MAY,)):
        waiting = [value for value in values if value.keyword in keywords]
        while waiting:
            pack: list[FormValue] = []
            for value in list(waiting):
                fields = {item.parameter: item.value for item in (*pack, value)}
                if len(fields) > len(pack) and writer.complete(fields) is not None:
                    pack.append(value)
                    waiting.remove(value)
            if not pack:
                raise ValueError(f"{waiting[0].parameter}: a value that is allowed alone cannot be sent")
            yield pack


def _scenarios(
    number: int, pack: list[FormValue], values: Sequence[FormValue], writer: FormWriter
) -> Iterator[Scenario]:
    """Yield the request with all values of a pack, and one for each of the values that are merged in them."""
    packed = {value.parameter: value for value in pack}
    alone = [value for value in values if (item := packed.get(value.parameter)) and item.contains(value)]
    streams = len(alone) > 1 and number % 2 == 0
    subjects = [_subject(value, writer) for value in alone]
    keyword = Keyword.SHOULD if pack[0].keyword is not Keyword.MAY else Keyword.MAY
    fields = {value.parameter: value.value for value in pack}
    together = Subject(
        requirement=f"parameters.together.forms-{number}",
        check="parameters.valid-accepted",
        parameter="together",
        keyword=keyword,
        source=f"{writer.contract.document.id}#request",
        summary=SUMMARY,
        value=fields,
        expect="accept",
    )
    identity = f"{TOGETHER}-{number}"
    step = _step(fields, writer, keyword, streams=streams)
    yield Scenario(identity, SUMMARY, (step,), subject=together, also=tuple(subjects))
    for value, subject in zip(alone, subjects, strict=True):
        number = values.index(value) + 1
        suffix = f"-unusual-{number}" if value.leaves else ""
        name = f"form-{_name(value.parameter, _find_main(value))}{suffix}"
        step = _step({value.parameter: value.value}, writer, value.keyword, streams=streams)
        yield Scenario(name, subject.summary, (step,), subject=subject, unless_answered=identity)


def _step(fields: Body, writer: FormWriter, keyword: Keyword, *, streams: bool) -> Step:
    body = writer.complete(fields) or {}
    if streams and writer.may_stream({**body, "stream": True}):
        body["stream"] = True
    return Step(body=body, expect="either" if keyword is Keyword.MAY else "answer")


def _find_main(value: FormValue) -> Form:
    """Return the form after which a value is named."""
    forms = value.forms or {form for form, _ in value.leaves}
    return min(forms, key=lambda form: (-len(form), form))


def _subject(value: FormValue, writer: FormWriter) -> Subject:
    parameter = writer.contract.parameters[value.parameter]
    main = "".join(_find_main(value))
    described = f"a value with {main}" if not value.leaves else f"an unusual value of {main or value.parameter}"
    part = "form" if value.keyword is Keyword.MUST else f"form-{value.keyword.lower()}"
    return Subject(
        requirement=f"parameters.{value.parameter}.{part}",
        check="parameters.valid-accepted",
        parameter=value.parameter,
        keyword=value.keyword,
        source=parameter.source,
        summary=f"{value.parameter}: {described} is accepted",
        value=value.value,
        expect="accept",
        interpretation=parameter.interpretation,
    )


def _name(parameter: str, form: Form) -> str:
    """Return the form as a part of an id."""
    text = "".join(char if char.isalnum() or char in "_" else " " for step in form for char in (" " + step))
    return "-".join((parameter, *text.split()))
