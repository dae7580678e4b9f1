"""Generate messages with texts of every kind, and the same with another text of one kind.

A server that masks, converts or drops one kind of text treats both alike: two addresses become one placeholder, two
spellings one. Texts that some servers refuse are in a message of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from conformance.plan.scenarios.prompts.clauses import write_call, write_result, write_tool
from conformance.plan.scenarios.prompts.first_words import FIRST_WORDS, LAST_WORDS, write_messages
from conformance.plan.scenarios.prompts.note_kinds import NOTES, RISKY
from conformance.scenario import Scenario, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.plan.scenarios.prompts.note_kinds import TextKind
    from openapi.contract.contract import Contract

    Body = dict[str, Any]

SCENARIO: Final = "prompts-that-look-alike"
SUMMARY: Final = "messages with texts of every kind, and others that become the same if one kind is masked or converted"
OTHER: Final = "-other-"
"""Stands between the name of a message and the kind of text that is another one."""
ONE_TOKEN: Final = {"max_tokens": 1, "temperature": 0}
TOLD: Final = {"logprobs": True, "top_logprobs": 5}
CLIENT: Final[Body] = {
    "user": "chatproof-7",
    "safety_identifier": "chatproof-7",
    "session_id": "chatproof-7",
    "prompt_cache_key": "chatproof-7",
    "cache_salt": "chatproof-7",
    "metadata": {"run": "chatproof-7"},
}
"""Fields that tell clients or caches apart, the same in all requests: no answer for one of them is that of another."""
SESSION: Final = {"X-Session-ID": "chatproof-7", "X-User-ID": "chatproof-7"}
QUESTION: Final = "Which of these notes is the oldest one?"


KINDS: Final = {"notes": NOTES, "risky": RISKY}
GROWING: Final = frozenset(kind.name for kinds in KINDS.values() for kind in kinds if kind.grows)
"""The kinds whose other text certainly has more tokens."""
RESULT: Final = "result"


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return the scenario. Without log-probabilities it has the kinds that counts of tokens show."""
    steps = (*_list_messages(contract), *_list_first_words(contract), *_list_results(contract))
    return (Scenario(SCENARIO, SUMMARY, steps),) if steps else ()


def list_unfit(contract: Contract) -> Iterator[tuple[Scenario, str]]:
    """Yield the scenario if the contract does not allow it, with the reason."""
    if not generate(contract):
        step = Step("notes", body={**_write_notes(NOTES), **ONE_TOKEN})
        yield Scenario(SCENARIO, SUMMARY, (step,)), f"scenario {SCENARIO}: the contract allows none of its requests"


def _list_messages(contract: Contract) -> Iterator[Step]:
    """Yield the messages and those with another text of one kind; either may be refused for what it contains."""
    for name, kinds in KINDS.items():
        fields = _find_fields(contract, _write_notes(kinds))
        sent = kinds if fields and fields.keys() & TOLD.keys() else [kind for kind in kinds if kind.grows]
        if fields is None or not sent:
            continue
        rare = all(kind.rare for kind in sent)
        yield Step(name, body={**_write_notes(kinds), **fields}, headers=SESSION, expect="either", thorough=rare)
        for kind in sent:
            body = {**_write_notes(kinds, kind), **fields}
            yield Step(f"{name}{OTHER}{kind.name}", body=body, headers=SESSION, expect="either", thorough=kind.rare)


def _list_first_words(contract: Contract) -> Iterator[Step]:
    """Yield messages that begin with words like commands, and the same with these words at their ends."""
    fields = _find_fields(contract, {"messages": write_messages(first=True)})
    for name in (FIRST_WORDS, LAST_WORDS) if fields is not None else ():
        body = {"messages": write_messages(first=name == FIRST_WORDS), **(fields or {})}
        yield Step(name, body=body, headers=SESSION, expect="either")


def _list_results(contract: Contract) -> Iterator[Step]:
    """Yield two results of a tool in which the same values are written in two notations."""
    json_text, python_text = (
        '{"day": "Monday", "paid": true, "note": null}',
        "{'day': 'Monday', 'paid': True, 'note': None}",
    )
    fields = _find_fields(contract, _write_result(json_text))
    if fields and fields.keys() & TOLD.keys():
        yield Step(RESULT, body={**_write_result(json_text), **fields})
        yield Step(f"{RESULT}{OTHER}notation", body={**_write_result(python_text), **fields})


def _find_fields(contract: Contract, body: Body) -> Body | None:
    """Return the other fields of a request, with log-probabilities where they are allowed; None if the body is not."""
    allowed = find_allowed_bodies(contract)
    known = {"model", *(name for name, parameter in contract.parameters.items() if not parameter.lacking)}
    client = {name: value for name, value in CLIENT.items() if name in known}
    wished = [{**ONE_TOKEN, **told, **fields} for told in (TOLD, {}) for fields in (client, {})]
    return next((fields for fields in wished if {*body, *fields} <= known and allowed.allows({**body, **fields})), None)


def _write_notes(kinds: Sequence[TextKind], changed: TextKind | None = None) -> Body:
    """Return a message with one line for each kind, of which one is another one."""
    texts = [kind.other if kind is changed else kind.text for kind in kinds]
    lines = "\n".join(f"- {text}." for text in texts)
    return {"messages": [{"role": "user", "content": f"These are my notes:\n{lines}\n{QUESTION}"}]}


def _write_result(text: str) -> Body:
    call = write_call("call00001", "get_order", '{"number": "4711"}')
    return {
        "messages": [
            {"role": "user", "content": "When does my order arrive?"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            write_result("call00001", text),
        ],
        "tools": [write_tool("get_order", "Find out when an order arrives.", {"number": {"type": "string"}})],
    }
