"""Differences: what changes for a client that was written for one description and meets a server of another.

Seen from the client: a request that is refused now, or a field of an answer that is gone or of another type, breaks
it. What may be sent now and could not before, or is answered now and was not, widens. All else is neutral: defaults,
texts, and what an answer promises more closely. The two sides are OpenAPI documents as `description` writes them, so
that dialects, versions of a dialect and files that were kept can be compared.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.resolution import members
from openapi.description.description import REQUEST
from openapi.description.rules import rulings
from openapi.schema.fields import Member, members_of
from openapi.schema.notation import notation
from openapi.schema.value_range import Direction, changes, extent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.description.rules import Ruling
    from openapi.schema.value_range import Change

    Document = Mapping[str, Any]

ANSWERS: Final = (("answer", "ChatCompletion"), ("stream", "ChatCompletionChunk"), ("refusal", "ErrorEnvelope"))
FORMS: Final[dict[str, tuple[Any, ...]]] = {
    "role": ("never", "first-delta", "every-delta"),
    "usage": ("on-request", "with-finish"),
}
"""Forms of a stream that promise more from left to right; other forms are neither better nor worse."""


class Effect(StrEnum):
    """What a difference does to a client, the worst first."""

    BREAKING = "breaking"
    WIDENING = "widening"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. `part` of the interface, `place` in it, `what` about it; "" where a side has nothing to show."""

    part: str
    place: str
    effect: Effect
    what: str
    before: str = ""
    after: str = ""


def differences(before: Document, after: Document) -> tuple[Difference, ...]:
    """Every difference between two descriptions, the breaking ones first, else in the order of the documents."""
    found = (
        *_endpoints(before, after),
        *_request(before, after),
        *_rules(before, after),
        *(each for part, root in ANSWERS for each in _answer(part, root, before, after)),
        *_stream_form(before, after),
        *_refusals(before, after),
        *_capabilities(before, after),
    )
    order = list(Effect)
    return tuple(sorted(found, key=lambda each: order.index(each.effect)))


def _endpoints(before: Document, after: Document) -> Iterator[Difference]:
    for place, method in (("chat", "post"), ("models", "get")):
        (old, old_operation), (new, new_operation) = (_operation(side, method) for side in (before, after))
        if old != new:
            yield Difference("endpoint", place, Effect.BREAKING, "path", old, new)
        keys = ["a key" if operation.get("security") else "open" for operation in (old_operation, new_operation)]
        if keys[0] != keys[1]:
            effect = Effect.BREAKING if keys[1] == "a key" else Effect.WIDENING
            yield Difference("endpoint", place, effect, "auth", *keys)


def _operation(document: Document, method: str) -> tuple[str, Mapping[str, Any]]:
    return next((path, item[method]) for path, item in document["paths"].items() if method in item)


def _request(before: Document, after: Document) -> Iterator[Difference]:
    unsupported = set(after["info"].get("x-unsupported", ()))
    for old, new in _paired(REQUEST, before, after):
        if old is not None and new is not None:
            for change in _changed(old, new, before, after):
                effect = Effect.BREAKING if change.direction is Direction.NARROWER else Effect.WIDENING
                yield Difference("request", old.path, effect, change.what, change.before, change.after)
            yield from _demanded("request", old, new)
            yield from _annotated("request", old, new)
        elif old is not None:
            what = "not supported" if old.path in unsupported else "not described"
            yield Difference("request", old.path, Effect.BREAKING, what, _shown(old, before), "")
        elif new is not None:
            demanded = new.required == "yes"
            effect = Effect.BREAKING if demanded else Effect.WIDENING
            yield Difference("request", new.path, effect, "required" if demanded else "new", "", _shown(new, after))


def _demanded(part: str, old: Member, new: Member) -> Iterator[Difference]:
    """A member that is demanded now, or no longer."""
    if old.required == new.required:
        return
    words = {"yes": "required", "some": "required of some", "no": "optional"}
    order = list(words)
    demands_more = order.index(new.required) < order.index(old.required)
    effect = Effect.BREAKING if demands_more else Effect.WIDENING
    yield Difference(part, old.path, effect, "required", words[old.required], words[new.required])


def _annotated(part: str, old: Member, new: Member) -> Iterator[Difference]:
    """Defaults and texts, which change what is meant and nothing that is taken."""
    for what, key in (("default", "default"), ("text", "description"), ("capability", "x-capability")):
        was, now = ([schema[key] for schema in member.schemas if key in schema] for member in (old, new))
        if was != now:
            sides = [("; ".join(dict.fromkeys(_said(value) for value in values))) or "none" for values in (was, now)]
            yield Difference(part, old.path, Effect.NEUTRAL, what, *sides)


def _answer(part: str, root: str, before: Document, after: Document) -> Iterator[Difference]:
    for old, new in _paired(root, before, after):
        if old is not None and new is not None:
            for change in _changed(old, new, before, after):
                effect = Effect.NEUTRAL
                if change.direction is Direction.WIDER:
                    effect = Effect.BREAKING if change.what in ("type", "null") else Effect.WIDENING
                yield Difference(part, old.path, effect, change.what, change.before, change.after)
            if (old.required == "yes") != (new.required == "yes"):
                sure = new.required == "yes"
                words = ("may be absent", "always there") if sure else ("always there", "may be absent")
                yield Difference(part, old.path, Effect.NEUTRAL if sure else Effect.BREAKING, "presence", *words)
        elif old is not None:
            yield Difference(part, old.path, Effect.BREAKING, "gone", _shown(old, before), "")
        elif new is not None:
            yield Difference(part, new.path, Effect.WIDENING, "new", "", _shown(new, after))


def _paired(root: str, before: Document, after: Document) -> Iterator[tuple[Member | None, Member | None]]:
    """Members of both sides by path; below one that only one side has, nothing is told."""
    old, new = (
        {member.path: member for member in members_of(schemas[root], schemas)} if root in schemas else {}
        for schemas in (side["components"]["schemas"] for side in (before, after))
    )
    alone: set[str] = set()
    for path in dict.fromkeys([*old, *new]):
        pair = old.get(path), new.get(path)
        member = pair[0] or pair[1]
        if member is None or member.holder in alone:
            alone.add(path)
            continue
        if None in pair:
            alone.add(path)
        if member.is_element:  # of which nothing is said on the other side: it may be anything
            anything = Member(path, ({},))
            yield pair[0] or anything, pair[1] or anything
        else:
            yield pair


def _changed(old: Member, new: Member, before: Document, after: Document) -> Iterator[Change]:
    sides = ((old, before), (new, after))
    return changes(*(extent(member.schemas, document["components"]["schemas"]) for member, document in sides))


def _shown(member: Member, document: Document) -> str:
    return notation({"anyOf": list(member.schemas)}, document["components"]["schemas"])


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _rules(before: Document, after: Document) -> Iterator[Difference]:
    """Rules across parameters. Those in words alone are judged by nobody, so a change of them is told and no more."""
    old, new = rulings(before), rulings(after)
    for key in dict.fromkeys([*old, *new]):
        was, now = old.get(key), new.get(key)
        if was is not None and now is not None:
            if was.demand != now.demand:
                yield Difference("rule", key, Effect.BREAKING, "changed", was.summary, now.summary)
            elif was.summary != now.summary:
                yield Difference("rule", key, Effect.NEUTRAL, "text", was.summary, now.summary)
        elif now is not None:
            effect = Effect.BREAKING if _touches(now, before) else Effect.NEUTRAL
            yield Difference("rule", key, effect, "new", "", now.summary)
        elif was is not None:
            effect = Effect.WIDENING if _touches(was, after) else Effect.NEUTRAL
            yield Difference("rule", key, effect, "gone", was.summary, "")


def _touches(ruling: Ruling, document: Document) -> bool:
    """Whether the rule refuses anything, and of a parameter that the other side knows."""
    return ruling.demand != "" and ruling.about in document["components"]["schemas"][REQUEST]["properties"]


def _stream_form(before: Document, after: Document) -> Iterator[Difference]:
    old, new = (side["info"].get("x-stream", {}) for side in (before, after))
    for key in dict.fromkeys([*old, *new]):
        was, now = old.get(key), new.get(key)
        if was == now:
            continue
        order = FORMS.get(key, ())
        effect = Effect.NEUTRAL
        if was in order and now in order:
            effect = Effect.BREAKING if order.index(now) < order.index(was) else Effect.WIDENING
        elif key == "stop_text":
            effect = Effect.BREAKING  # what a client reads as the answer is another text
        yield Difference("stream", key, effect, "form", *(_form(value) for value in (was, now)))


def _form(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else _said(value)


def _refusals(before: Document, after: Document) -> Iterator[Difference]:
    """The status of each kind of refusal, and the codes in its body."""
    old, new = _kinds(before), _kinds(after)
    for kind in dict.fromkeys([*old, *new]):
        if kind not in old or kind not in new:
            known = old.get(kind) or new[kind]
            what, sides = ("gone", (known[0], "")) if kind in old else ("new", ("", known[0]))
            yield Difference("refusal", kind, Effect.NEUTRAL, what, *sides)
            continue
        (status, body), (new_status, new_body) = old[kind], new[kind]
        if status != new_status:
            yield Difference("refusal", kind, Effect.BREAKING, "status", status, new_status)
        for name in body.keys() & new_body.keys():
            if body[name] != new_body[name]:
                sides = (_said(body[name]), _said(new_body[name]))
                yield Difference("refusal", kind, Effect.BREAKING, name, *sides)


def _kinds(document: Document) -> dict[str, tuple[str, Mapping[str, Any]]]:
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for item in document["paths"].values():
        for operation in item.values():
            for status, response in operation["responses"].items():
                for key, examples, _ in members(response):
                    if key == "examples" and not status.startswith("2"):
                        found |= {kind: (status, shown["value"]) for kind, shown in examples.items()}
    return found


def _capabilities(before: Document, after: Document) -> Iterator[Difference]:
    old, new = (side["info"].get("x-capabilities", []) for side in (before, after))
    for name in old:
        if name not in new:
            yield Difference("capability", name, Effect.BREAKING, "gone")
    for name in new:
        if name not in old:
            yield Difference("capability", name, Effect.WIDENING, "new")
