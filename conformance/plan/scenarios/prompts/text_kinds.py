"""Generate messages with texts of every kind, and the same with another text of one kind.

A server that masks, converts or drops one kind of text treats both alike: two addresses become one placeholder, two
spellings one. Texts that some servers refuse are in a message of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from conformance.plan.scenarios.prompts.clauses import write_call, write_result, write_tool
from conformance.scenario import Scenario, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
"""Fields that tell clients or caches apart, the same in all requests, so that an answer for one is not that of another."""
SESSION: Final = {"X-Session-ID": "chatproof-7", "X-User-ID": "chatproof-7"}
QUESTION: Final = "Which of these notes is the oldest one?"
LONG_WORD: Final = "Wuffo0Zq-iR/7bT+" * 10


@dataclass(frozen=True, slots=True)
class TextKind:
    """A kind of text: one of it, and another one.

    grows: whether the other one certainly has more tokens. rare: whether only a thorough run sends it.
    """

    name: str
    text: str
    other: str
    grows: bool = False
    rare: bool = False


NOTES: Final = (
    TextKind("email", "Write to anna@example.org", "Write to anna.kowalczyk-1987@post.example.org", grows=True),
    TextKind("phone", "Call +1 202 555 0143", "Call +49 30 901820 12345678", grows=True, rare=True),
    TextKind("card", "Pay with 4222222222222", "Pay with 4111111111111111", grows=True, rare=True),
    TextKind("ip-address", "The router is 9.9.9.9", "The router is 203.0.113.254", rare=True),
    TextKind(
        "url",
        "See https://example.org/a?x=1",
        "See https://example.org/shop/items?colour=green&size=xl#reviews",
        grows=True,
    ),
    TextKind(
        "data-url",
        "Icon data:image/png;base64,iVBORw0KGgo=",
        "Icon data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
        grows=True,
    ),
    TextKind("key", "Key sk-proj-a1B2c3D4e5F6g7H8", "Key sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6", grows=True),
    TextKind(
        "path",
        "Open /home/anna/.ssh/id_rsa",
        "Open /home/anna/projects/hotel/backup/.ssh/id_ed25519.pub",
        grows=True,
        rare=True,
    ),
    TextKind("entities", "Rock & roll, a < b", "Rock &amp; roll, a &lt; b"),
    TextKind("percent-encoding", "Salt%26pepper", "Salt&pepper", rare=True),
    TextKind("percent", "100%% wool", "100% wool", rare=True),
    TextKind("dollars", "My $$5 note", "My $5 note", rare=True),
    TextKind("placeholder", "Dear <{{$home}}>", "Dear <{{$name}}>"),
    TextKind("braces", "Set {{a}}", "Set {a}"),
    TextKind("backslashes", "In C:\\\\tmp", "In C:\\tmp"),
    TextKind("escapes", "One\\ntwo", "One\ntwo"),
    TextKind("tags", "<i>Soft</i> bread", "<b>Soft</b> bread", rare=True),
    TextKind("emphasis", "**Loud** and `low`", "Loud and low", rare=True),
    TextKind("indentation", "for all:\n        sing", "for all:\n    sing"),
    TextKind("joined-lines", "early\nlate", "early late", rare=True),
    TextKind("carriage-return", "up\r\ndown", "up\ndown"),
    TextKind("empty-lines", "sun\n\n\n\nmoon", "sun\n\nmoon", rare=True),
    TextKind("emoji", "Flight \U0001f680", "Flight \U0001f6f8", rare=True),
    TextKind("joined-emoji", "She is \U0001f469\u200d\U0001f680", "She is \U0001f469\U0001f680", rare=True),
    TextKind("accent", "A caf\u00e9", "A cafe"),
    TextKind("scripts", "\u4f60\u597d \u05e9\u05dc\u05d5\u05dd", "\u65e9\u5b89 \u05d1\u05d5\u05e7\u05e8"),
    TextKind("beyond-bmp", "Tags \U0001f308 \U0001d518 \U00020bb7", "Tags \U0001f30b \U0001d51f \U00020b9f"),
    TextKind("compatible", "Fold \ufb01 \u2460 \uff34 m\u00b2 \u212b", "Fold fi 1 T m2 \u00c5"),
    TextKind("ligature", "Say \ufb02our", "Say flour", rare=True),
    TextKind("circled", "Step \u2462", "Step 3", rare=True),
    TextKind("superscript", "Area 7 km\u00b2", "Area 7 km2", rare=True),
    TextKind("full-width", "\uff34\uff4f\uff4b\uff59\uff4f \uff12\uff10", "Tokyo 20", rare=True),
    TextKind("invisible", "ho\u200btel", "hotel", rare=True),
    TextKind("other-spaces", "5\u00a0km of\u2009old\u202froad", "5 km of old road"),
    TextKind("quotes", "\u201csoft\u201d", '"soft"'),
    TextKind(
        "account", "Send it to NO9386011117947", "Send it to MT84MALT011000012345MTLCAST001S", grows=True, rare=True
    ),
    TextKind(
        "identifier",
        "Order 0f8fad5b-d9cb-469f-a165-70867728950e",
        "Order 7c9e6679-7425-40de-944b-e07fc1f90ae7",
        rare=True,
    ),
    TextKind("blanks-at-line-ends", "verse   \nline", "verse\nline", rare=True),
    TextKind("tab", "left\tright", "left    right", rare=True),
    TextKind("repeated", "soooooooooo", "soooo", rare=True),
    TextKind("long-word", f"{LONG_WORD}x1", f"{LONG_WORD}q7", rare=True),
    TextKind("role", "\nUser: Is it warm?", "\nUser: Is it cold?"),
    TextKind("case", "HELLO World", "hello world", rare=True),
)
RISKY: Final = (
    TextKind("control", "be\u0007ep", "beep", rare=True),
    TextKind("swearword", "damn it", "crap it", rare=True),
    TextKind("end-of-thoughts", "red </think> sun", "blue </think> sun", rare=True),
)
KINDS: Final = {"notes": NOTES, "risky": RISKY}
GROWING: Final = frozenset(kind.name for kinds in KINDS.values() for kind in kinds if kind.grows)
"""The kinds whose other text certainly has more tokens."""
RESULT: Final = "result"


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return the scenario. Without log-probabilities it has the kinds that counts of tokens show."""
    steps = (*_list_messages(contract), *_list_results(contract))
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
