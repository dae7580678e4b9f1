"""Read the chat-completions interface that a vendor's page states, compared with the dialect that is extended.

A page states less than a description. What it leaves out of a parameter that the extended dialect has, such as whether
null is accepted, is inherited by analogy. So is each keyword of a field or an element that it does not state there.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from openapi.contract.parameter import ABSENT
from openapi.importing.answers.page_errors import read_page_errors
from openapi.importing.answers.page_responses import align_fact, read_page_responses
from openapi.importing.interface import StatedField, StatedInterface, StatedParameter
from openapi.importing.todo import Todo
from openapi.reading.compare.contract_facts import contract_facts
from openapi.reading.compare.delta import DialectDelta
from openapi.reading.compare.drift import fact_key
from openapi.reading.compare.schema_keywords import close_ends, is_expressible, list_stated_keywords, make_schema
from openapi.reading.facts.fact import ATTRIBUTES, Fact, is_stated
from openapi.reading.grammar.statement import UNSTATED, DescribedDefault
from openapi.reading.pages.entries.described_name import parse_entry, parse_plain_entry
from openapi.schema.null_values import split_null

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from openapi.reading.answers.page_answers import PageAnswers
    from openapi.reading.compare.contract_facts import ContractFact
    from openapi.reading.facts.facts import Facts

EMPTY: Final = "(the cell is empty)"
_EITHER: Final = frozenset({"integer", "number"})
ABSENT_NAME: Final = "not on the page: inherited"
UNREAD_LINE: Final = "the line begins with this name, and no rule reads it as a parameter"


def read_page_interface(
    facts: Facts, answers: PageAnswers, contract: Contract, title: str, text: str = ""
) -> StatedInterface:
    """Return the interface of a page; `text`: the page itself, to look for names that no rule reads."""
    known = contract_facts(contract)
    paths = {part: [path for other, path in known if other == part] for part in ("response", "stream")}
    facts = replace(facts, facts=tuple(align_fact(fact, paths.get(fact.part, ())) for fact in facts.facts))
    facts = replace(
        facts, facts=tuple(_settle_number(fact, known.get(fact_key(fact) or ("", ""))) for fact in facts.facts)
    )
    errors = [fact for fact in facts.facts if fact.part == "errors"]
    compared = [fact for fact in facts.facts if fact.part == "request" or fact_key(fact) in known]
    delta = DialectDelta(replace(facts, facts=tuple(compared)), contract, keep_unstated=True)
    interface = StatedInterface(title, "undated", answers=read_page_errors(errors, answers, contract))
    request = [fact for fact in facts.facts if fact.part == "request"]
    for fact in request:
        if not fact.supported:
            interface.unsupported.append(fact.path)
        elif "." not in fact.path and not fact.path.endswith("[]"):
            interface.parameters[fact.path] = _parameter(fact, request, delta, contract)
    interface.mentioned = {re.split(r"[.\[]", fact.path)[0] for fact in request} - {
        *interface.parameters,
        *interface.unsupported,
    }
    for name, parameter in contract.parameters.items():
        if parameter.required and name not in interface.parameters | dict.fromkeys(interface.mentioned):
            interface.mentioned.add(name)  # a chat needs it, although the page does not list it
            interface.todos.append(_find_unread(name, text) or Todo(name, "page", ABSENT_NAME, quoted=False))
    described = {*interface.parameters, *interface.mentioned, *interface.unsupported}
    others = (_find_unread(name, text, is_described=True) for name in contract.parameters if name not in described)
    interface.todos += [todo for todo in others if todo is not None]
    interface.schemas = {name: delta.tree.final(f"schemas/{name}") for name in delta.tree.get("schemas")}
    read_page_responses(facts.facts, answers, delta.tree, interface.answers)
    changed = {**delta.tree.add, **delta.tree.replace}
    interface.answers.changes.update({path: value for path, value in changed.items() if path.startswith("schemas/")})
    interface.todos += interface.answers.todos
    for fact, text in delta.by_hand:
        interface.todos.append(Todo(_subject(fact), f"line {fact.line}", text))
    for passage in (*facts.unread, *answers.unread):
        interface.todos.append(Todo("page", f"line {passage.line}", f"{passage.text}: {passage.reason}"))
    for fact in facts.facts:
        for text in fact.unread:
            interface.todos.append(Todo(_subject(fact), f"line {fact.line}", text or EMPTY))
        interface.prose += [Todo(_subject(fact), f"line {fact.line}", text) for text in fact.prose]
    return interface


def _settle_number(fact: Fact, known: ContractFact | None) -> Fact:
    """Settle the type of a number whose notation has no integers: that of the extended dialect, by analogy.

    Without one, a number is any number, which includes integers.
    """
    if not _EITHER <= set(fact.types):
        return fact
    kinds = set(known.fact.types) & _EITHER if known else set()
    others = set(fact.types) - _EITHER
    if kinds == {"integer"} and others:
        return replace(fact, types=tuple(sorted({*others, "integer"})))
    if kinds == {"integer"}:
        return replace(fact, types=())
    default = float(fact.default) if type(fact.default) is int else fact.default
    return replace(fact, types=tuple(sorted({*others, "number"})), default=default)


def _find_unread(name: str, text: str, *, is_described: bool = False) -> Todo | None:
    """Return a to-do for the first line of a page that begins with a name, behind marks and tags; None without one.

    is_described: whether the line must also state a type or the like, as words such as `stop` begin sentences, too.
    """
    for match in re.finditer(rf"^(?:<[^>\n]*>|[^\w<\n])*{re.escape(name)}(?![\w-])[^\n]*", text, re.MULTILINE):
        words = re.sub(r"^(?:<[^>]*>|[-*+>#\s])+(?=\W?\w)|</?\w+>", "", match[0])
        entry = parse_entry(words) or parse_plain_entry(words)
        if not is_described or (entry is not None and entry.is_typed):
            line = text.count("\n", 0, match.start()) + 1
            return Todo(
                name, f"line {line}", f"{UNREAD_LINE}: {'left out' if is_described else 'inherited'}", quoted=False
            )
    return None


def _parameter(fact: Fact, request: list[Fact], delta: DialectDelta, contract: Contract) -> StatedParameter:
    """Return a parameter with the schema of the delta; what the page does not state is silent."""
    name = fact.path
    below = [other for other in request if other.path.startswith((f"{name}.", f"{name}[]"))]
    stated = [
        attribute
        for one in map(close_ends, (fact, *below))
        for attribute in ATTRIBUTES
        if is_expressible(attribute, one) and is_stated(attribute, getattr(one, attribute))
    ]
    silent = {
        "schema": not stated,
        "default": fact.default is UNSTATED,
        "required": fact.required not in ("yes", "no"),
        "null": fact.nullable is None,
    }
    schema, nullable = split_null(delta.tree.final(f"parameters/{name}/schema") or {})
    described = isinstance(fact.default, DescribedDefault)
    return StatedParameter(
        name,
        schema,
        fact.required == "yes",
        fact.nullable if fact.nullable is not None else nullable or None,
        ABSENT if described or fact.default is UNSTATED else fact.default,
        str(fact.default) if described else None,
        place=f"line {fact.line}",
        silent=frozenset(key for key, value in silent.items() if value and name in contract.parameters),
        fields=_list_fields([fact, *below]) if name in contract.parameters else None,
    )


def _list_fields(facts: list[Fact]) -> tuple[StatedField, ...]:
    """Return what the page states about a parameter, its fields and its elements, as far as keywords can say it."""
    closed = list(map(close_ends, facts))
    return tuple(
        StatedField(fact.path, list_stated_keywords(fact), fact.required == "yes", make_schema(fact)) for fact in closed
    )


def _subject(fact: Fact) -> str:
    return fact.path if fact.part == "request" else f"{fact.part}.{fact.path}"
