"""Write the body of a request in which a parameter has a given form, with what it needs to be allowed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.media import HOST
from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from conformance.plan.scenarios.combinations.conversations import arrange
from conformance.plan.scenarios.combinations.forms.leaf_values import UNUSUAL
from conformance.plan.scenarios.combinations.forms.levels import (
    INSTRUCTIONS,
    STRENGTHS,
    find_level,
    is_instruction_in_one_text,
)
from conformance.plan.scenarios.combinations.forms.schema_forms import SchemaForms
from conformance.plan.scenarios.combinations.forms.values import FormValues
from conformance.plan.scenarios.combinations.tasks import WEATHER, list_supported
from openapi.contract.contract import ABSENT, Keyword
from openapi.description.description import REQUEST, describe
from openapi.schema.json_schema import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.plan.scenarios.combinations.forms.schema_forms import Form
    from openapi.contract.contract import Contract

    Body = dict[str, Any]

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
"""What must be sent together with a parameter, the first that the contract allows."""
EXCLUSIVE: Final = frozenset(
    (
        *("response_format", "structured_outputs", "allowed_token_ids"),
        *("tools", "tool_choice", "functions", "function_call"),
    )
)
"""Parameters of which a request has one, because each decides what the model writes."""
OFFERS: Final = frozenset(("tools", "functions"))
NAMING: Final = frozenset(("tool_choice", "function_call"))
"""Parameters whose strings name something that another one has."""
ELSEWHERE: Final = frozenset(("model", "stream"))
"""Parameters that every request has, or that decide the kind of every answer."""


@dataclass(frozen=True, slots=True)
class FormValue:
    """A value of a parameter, the forms for which it is sent, and how binding it is that it is accepted.

    leaves: the unusual values in it, as JSON, each with the form that leads to it.
    """

    parameter: str
    value: Any
    forms: frozenset[Form]
    keyword: Keyword
    leaves: frozenset[tuple[Form, str]] = frozenset()

    def contains(self, other: FormValue) -> bool:
        """Return whether this value is sent for all for which another one is."""
        same = self.parameter == other.parameter and self.keyword == other.keyword
        return same and other.forms <= self.forms and other.leaves <= self.leaves


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
                value = next(self._write(name, form), ABSENT)
                found = {form} if value is ABSENT else {*self.find_forms(name, value), form} & waiting.keys()
                waiting = dict.fromkeys(item for item in waiting if item not in found)
                if value is not ABSENT:
                    yield FormValue(name, value, frozenset(found), self.level(name, form))

    def write_unusual(self) -> Iterator[FormValue]:
        """Yield a value for each unusual value of a leaf that should be accepted, as far as the contract allows it."""
        for name in self.names:
            pointer = _point_at(name)
            forms = dict.fromkeys(self._values.list_targets(pointer, "", name)) if name not in NAMING else {}
            for form in forms:
                level = min(self.level(name, form), Keyword.SHOULD, key=STRENGTHS.index)
                sent = level is Keyword.SHOULD and not is_instruction_in_one_text(form, pointer, self.forms)
                for value in self._write(name, (*form, UNUSUAL)) if sent else ():
                    found = self._find_leaves(name, form, value)
                    yield FormValue(name, value, frozenset(), level, found)

    def keeps(self, merged: Any, value: FormValue) -> bool:
        """Return whether a merged value of the parameter has all forms and unusual values of this one."""
        if not value.forms <= self.find_forms(value.parameter, merged):
            return False
        return all((form, leaf) in self._find_leaves(value.parameter, form, merged) for form, leaf in value.leaves)

    def _find_leaves(self, name: str, form: Form, value: Any) -> frozenset[tuple[Form, str]]:
        found = self.forms.find_values(_point_at(name), form, value)
        return frozenset((form, json.dumps(leaf, sort_keys=True)) for leaf in found)

    def complete(self, fields: Body) -> Body | None:
        """Return a body with the fields and what they need; None if not every server must accept it."""
        messages = fields.get("messages", ())
        instructions = [item for item in messages if isinstance(item, dict) and item.get("role") in INSTRUCTIONS]
        deciding = [name for name in EXCLUSIVE & fields.keys() if fields[name] is not None]
        if len(instructions) > 1 or len(deciding) > 1:
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
        """Yield what may have to be sent in addition to the fields, the most realistic first."""
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
    names: set[str] = set()
    for number, item in enumerate(offered, 1):
        kind = next((kind for kind in ("function", "custom") if isinstance(item.get(kind), dict)), None)
        inner = item if kind is None else item[kind]
        named = {**inner, "name": f"{inner['name']}_{number}"} if inner["name"] in names else inner
        names.add(inner["name"])
        told.append(named if kind is None else {**item, kind: named})
    return told


@lru_cache(maxsize=4)
def find_writer(contract: Contract) -> FormWriter:
    """Return the writer for a contract. Cached: it compiles the unions of the schema."""
    return FormWriter(contract)


def _point_at(name: str) -> str:
    return f"{REFERENCE}{REQUEST}/properties/{name}"
