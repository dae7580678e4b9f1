"""Generate requests that together have every form of the request's schema that no other request has.

A server may handle each branch of a union, each member of an enum, null and each optional field in code of its own, so
each is sent at least once. Forms that must or should be accepted are sent together, one value of each parameter in a
request; if that one is refused, each of them is sent alone. Forms that a model or an account may lack are sent in
requests of their own, which may be refused.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.media import HOST
from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from conformance.plan.scenarios.combinations.conversations import arrange
from conformance.plan.scenarios.combinations.form_levels import find_level
from conformance.plan.scenarios.combinations.form_values import FormValues
from conformance.plan.scenarios.combinations.merging import merge
from conformance.plan.scenarios.combinations.tasks import WEATHER, list_supported
from conformance.scenario import Scenario, Step, Subject
from openapi.contract.contract import Keyword
from openapi.description.description import REQUEST, describe
from openapi.description.schema_forms import SchemaForms
from openapi.schema.json_schema import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openapi.contract.contract import Contract
    from openapi.description.schema_forms import Form

    Body = dict[str, Any]

TOGETHER: Final = "forms-together"
SUMMARY: Final = "forms of values that no other request has are accepted together"
TOKENS: Final = 8
NOTE: Final = {"type": "custom", "custom": {"name": "write_note"}}
FUNCTION: Final = WEATHER["function"]
ASKED: Final = {"role": "user", "content": "What is the weather in Rome? Answer with a JSON object."}
TOOLS: Final[tuple[list[Any], ...]] = ([WEATHER, NOTE], [WEATHER])
AROUND: Final[Mapping[str, tuple[Body, ...]]] = {
    "tool_choice": tuple({"tools": tools} for tools in TOOLS),
    "function_call": ({"functions": [FUNCTION]},),
    "stream_options": ({"stream": True},),
}
"""What must be sent beside a parameter, the first that the contract allows."""
EXCLUSIVE: Final = frozenset(
    ("response_format", "structured_outputs", "tools", "tool_choice", "functions", "function_call")
)
"""Parameters of which a request has one, because each decides what the model writes."""
OFFERS: Final = frozenset(("tools", "functions"))
INSTRUCTIONS: Final = frozenset(("system", "developer"))
"""Roles of which a conversation has one message, because templates may refuse more."""
ELSEWHERE: Final = frozenset(("model", "stream"))
"""Parameters that every request has, or that decide the kind of every answer."""


@dataclass(frozen=True, slots=True)
class FormValue:
    """A value of a parameter, the forms for which it is sent, and how binding it is that it is accepted."""

    parameter: str
    value: Any
    forms: frozenset[Form]
    keyword: Keyword


def generate(others: Iterable[Scenario], contract: Contract) -> tuple[Scenario, ...]:
    """Return the requests with several forms each, and those with one form, which are sent if the others are refused."""
    writer = _find_writer(contract)
    values = tuple(writer.write_all(_list_absent(others, writer)))
    packs = list(_pack(_merge(values, writer), writer))
    return tuple(scenario for number, pack in enumerate(packs, 1) for scenario in _scenarios(number, pack, values, writer))


def list_unreached(others: Iterable[Scenario], contract: Contract) -> dict[str, set[Form]]:
    """Return the forms, by parameter, that none of the scenarios sends as it should."""
    absent = _list_absent(others, _find_writer(contract))
    return {name: set(forms) for name, forms in absent.items() if forms}


class FormWriter:
    """Writes bodies with given forms for one contract."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.allowed = find_allowed_bodies(contract)
        self.forms = SchemaForms(describe(contract.with_server_limits()))
        self.names = tuple(name for name in contract.parameters if name not in ELSEWHERE)
        self._values = FormValues(self.forms)
        self._limits = {
            name: TOKENS for name in ("max_tokens", "max_completion_tokens") if name in list_supported(contract)
        }

    def list_forms(self, name: str) -> tuple[Form, ...]:
        """Return every form of a parameter."""
        return tuple(dict.fromkeys(self.forms.list_forms(_point_at(name))))

    def find_forms(self, name: str, value: Any) -> frozenset[Form]:
        """Return the forms of a value of a parameter."""
        return self.forms.find_forms(_point_at(name), value)

    def level(self, name: str, form: Form) -> Keyword:
        """Return how binding it is that a form is accepted."""
        return find_level(self.contract.parameters[name], form, _point_at(name), self.forms)

    def write_all(self, absent: Mapping[str, Sequence[Form]]) -> Iterator[FormValue]:
        """Yield a value for each of the forms, or for several of them, as far as the contract allows any."""
        for name, forms in absent.items():
            waiting = dict.fromkeys(sorted(forms, key=len, reverse=True))
            while waiting:
                form = next(iter(waiting))
                value = next(self._write(name, form), None)
                found = {form} if value is None else {*self.find_forms(name, value), form} & waiting.keys()
                waiting = dict.fromkeys(item for item in waiting if item not in found)
                if value is not None:
                    yield FormValue(name, value, frozenset(found), self.level(name, form))

    def complete(self, fields: Body) -> Body | None:
        """Return a body with the fields and what they need; None if not every server must accept it."""
        messages = fields.get("messages", ())
        instructions = [item for item in messages if isinstance(item, dict) and item.get("role") in INSTRUCTIONS]
        if len(instructions) > 1 or len(EXCLUSIVE & fields.keys()) > 1:
            return None
        named = {name: _tell_apart(fields[name]) for name in OFFERS & fields.keys() if fields[name]}
        for around in self._surround(fields):
            body = {"messages": [ASKED], **around, **fields, **named}
            if messages:
                body["messages"] = arrange(messages)
            for limit, tokens in self._limits.items():
                limited = {limit: tokens, **body}
                if limited.keys() <= self.contract.parameters.keys() and self.allowed.allows(limited):
                    return limited
        return None

    def may_stream(self, body: Body) -> bool:
        """Return whether every server must accept a body that asks for a stream."""
        return "stream" in list_supported(self.contract) and self.allowed.allows(body)

    def _surround(self, fields: Body) -> Iterator[Body]:
        """Yield what may have to be sent beside the fields, the most realistic first."""
        needs: Body = {}
        for name, value in fields.items():
            needs |= self.contract.parameters[name].companions(value)
        choices = [AROUND[name] for name in sorted(AROUND.keys() & fields.keys())]
        for chosen in product(*choices) if choices else ():
            yield {**needs, **{name: value for around in chosen for name, value in around.items()}}
        if any(message.get("tool_calls") or message["role"] == "tool" for message in fields.get("messages", ())):
            yield {**needs, "tools": [WEATHER]}
        yield needs
        yield {}

    def _write(self, name: str, form: Form) -> Iterator[Any]:
        for value in self._values.write(_point_at(name), form, "", name):
            fetched = HOST in json.dumps(value) and "media_urls" not in self.contract.capabilities
            if not fetched and self.complete({name: value}) is not None:
                yield value


def _tell_apart(offered: Sequence[Body]) -> list[Body]:
    """Return tools or functions of which each has a name of its own."""
    told: list[Body] = []
    for number, item in enumerate(offered, 1):
        kind = next((kind for kind in ("function", "custom") if isinstance(item.get(kind), dict)), None)
        inner = item if kind is None else item[kind]
        named = {**inner, "name": f"{inner['name']}_{number}"} if number > 1 else inner
        told.append(named if kind is None else {**item, kind: named})
    return told


@lru_cache(maxsize=4)
def _find_writer(contract: Contract) -> FormWriter:
    """Return the writer for a contract. Cached: it compiles the unions of the schema."""
    return FormWriter(contract)


def _point_at(name: str) -> str:
    return f"{REFERENCE}{REQUEST}/properties/{name}"


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
            if form not in answered[name]
            and not (form in offered[name] and writer.level(name, form) is Keyword.MAY)
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
                fits = both is not None and writer.complete({value.parameter: both}) is not None
                if fits and forms <= writer.find_forms(value.parameter, both):
                    merged[at] = FormValue(value.parameter, both, forms, value.keyword)
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
    streams = number % 2 == 0
    alone = [value for value in values if (item := packed.get(value.parameter)) and value.forms <= item.forms]
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
    if len(alone) > 1:
        step = _step(fields, writer, keyword, streams=streams)
        yield Scenario(identity, SUMMARY, (step,), subject=together, also=tuple(subjects))
    for value, subject in zip(alone, subjects, strict=True):
        name = f"form-{_name(value.parameter, _find_main(value))}"
        step = _step({value.parameter: value.value}, writer, value.keyword, streams=streams)
        shown = identity if len(alone) > 1 else ""
        yield Scenario(name, subject.summary, (step,), subject=subject, unless_answered=shown)


def _step(fields: Body, writer: FormWriter, keyword: Keyword, *, streams: bool) -> Step:
    body = writer.complete(fields) or {}
    if streams and writer.may_stream({**body, "stream": True}):
        body["stream"] = True
    return Step(body=body, expect="either" if keyword is Keyword.MAY else "answer")


def _find_main(value: FormValue) -> Form:
    """Return the form after which a value is named."""
    return min(value.forms, key=lambda form: (-len(form), form))


def _subject(value: FormValue, writer: FormWriter) -> Subject:
    parameter = writer.contract.parameters[value.parameter]
    part = "form" if value.keyword is Keyword.MUST else f"form-{value.keyword.lower()}"
    return Subject(
        requirement=f"parameters.{value.parameter}.{part}",
        check="parameters.valid-accepted",
        parameter=value.parameter,
        keyword=value.keyword,
        source=parameter.source,
        summary=f"{value.parameter}: a value with {''.join(_find_main(value))} is accepted",
        value=value.value,
        expect="accept",
        interpretation=parameter.interpretation,
    )


def _name(parameter: str, form: Form) -> str:
    """Return the form as a part of an id."""
    text = "".join(char if char.isalnum() or char in "_" else " " for step in form for char in (" " + step))
    return "-".join((parameter, *text.split()))
