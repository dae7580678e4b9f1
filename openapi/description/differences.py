"""Find the differences between two descriptions, and their effect on a client that was written for the first one.

A difference is breaking if the server now refuses a request that was valid, or removes a field of an answer or changes
its type. It is widening if more requests are valid or answers have more fields. All others are neutral: defaults,
texts, and answers that are specified more closely. Both sides are OpenAPI documents as `description` writes them, so
dialects, versions of a dialect and saved files can all be compared.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.tree.delta import walk_tree
from openapi.description.description import REQUEST
from openapi.description.rules import read_rules
from openapi.schema.fields import SchemaField, list_fields
from openapi.schema.notation import notation
from openapi.schema.value_range import Direction, compare_ranges, value_range

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.description.rules import DescribedRule
    from openapi.schema.value_range import RangeChange

    Document = Mapping[str, Any]

ANSWERS: Final = (("answer", "ChatCompletion"), ("stream", "ChatCompletionChunk"), ("refusal", "ErrorEnvelope"))
FORMS: Final[dict[str, tuple[Any, ...]]] = {
    "role": ("never", "first-delta", "every-delta"),
    "usage": ("on-request", "with-finish"),
}
"""Forms of a stream, each promising more than the previous one. Other forms have no order."""


class Effect(StrEnum):
    """The effect of a difference on a client, the most severe first."""

    BREAKING = "breaking"
    WIDENING = "widening"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class DescriptionDifference:
    """One difference between two descriptions.

    part: the part of the interface, such as `request`.
    place: the field, rule or kind of error in it.
    what: the keyword or property that differs.
    before, after: its value on each side; "" without a value.
    """

    part: str
    place: str
    effect: Effect
    what: str
    before: str = ""
    after: str = ""


def find_differences(before: Document, after: Document) -> tuple[DescriptionDifference, ...]:
    """Find all differences between two descriptions, by effect and then in the order of the documents."""
    differences = (
        *_compare_endpoints(before, after),
        *_compare_requests(before, after),
        *_compare_rules(before, after),
        *(difference for part, root in ANSWERS for difference in _compare_answers(part, root, before, after)),
        *_compare_stream_forms(before, after),
        *_compare_refusals(before, after),
        *_compare_capabilities(before, after),
    )
    order = list(Effect)
    return tuple(sorted(differences, key=lambda difference: order.index(difference.effect)))


def _compare_endpoints(before: Document, after: Document) -> Iterator[DescriptionDifference]:
    for place, method in (("chat", "post"), ("models", "get")):
        (old, old_operation), (new, new_operation) = (_operation(side, method) for side in (before, after))
        if old != new:
            yield DescriptionDifference("endpoint", place, Effect.BREAKING, "path", old, new)
        keys = ["a key" if operation.get("security") else "open" for operation in (old_operation, new_operation)]
        if keys[0] != keys[1]:
            effect = Effect.BREAKING if keys[1] == "a key" else Effect.WIDENING
            yield DescriptionDifference("endpoint", place, effect, "auth", *keys)


def _operation(document: Document, method: str) -> tuple[str, Mapping[str, Any]]:
    return next((path, item[method]) for path, item in document["paths"].items() if method in item)


def _compare_requests(before: Document, after: Document) -> Iterator[DescriptionDifference]:
    unsupported = set(after["info"].get("x-unsupported", ()))
    for old, new in _pair_fields(REQUEST, before, after):
        if old is not None and new is not None:
            for change in _compare_field(old, new, before, after):
                effect = Effect.BREAKING if change.direction is Direction.NARROWER else Effect.WIDENING
                yield DescriptionDifference("request", old.path, effect, change.what, change.before, change.after)
            yield from _compare_required("request", old, new)
            yield from _compare_annotations("request", old, new)
        elif old is not None:
            what = "not supported" if old.path in unsupported else "not described"
            yield DescriptionDifference("request", old.path, Effect.BREAKING, what, _notation(old, before), "")
        elif new is not None:
            required = new.required == "yes"
            effect = Effect.BREAKING if required else Effect.WIDENING
            yield DescriptionDifference(
                "request", new.path, effect, "required" if required else "new", "", _notation(new, after)
            )


def _compare_required(part: str, old: SchemaField, new: SchemaField) -> Iterator[DescriptionDifference]:
    """Report a field that became required or optional."""
    if old.required == new.required:
        return
    words = {"yes": "required", "some": "sometimes required", "no": "optional"}
    order = list(words)
    stricter = order.index(new.required) < order.index(old.required)
    effect = Effect.BREAKING if stricter else Effect.WIDENING
    yield DescriptionDifference(part, old.path, effect, "required", words[old.required], words[new.required])


def _compare_annotations(part: str, old: SchemaField, new: SchemaField) -> Iterator[DescriptionDifference]:
    """Report changed defaults and texts, which do not change the set of valid requests."""
    for what, key in (("default", "default"), ("text", "description"), ("capability", "x-capability")):
        was, now = ([schema[key] for schema in field.schemas if key in schema] for field in (old, new))
        if was != now:
            sides = [
                ("; ".join(dict.fromkeys(_format_value(value) for value in values))) or "none" for values in (was, now)
            ]
            yield DescriptionDifference(part, old.path, Effect.NEUTRAL, what, *sides)


def _compare_answers(part: str, root: str, before: Document, after: Document) -> Iterator[DescriptionDifference]:
    for old, new in _pair_fields(root, before, after):
        if old is not None and new is not None:
            for change in _compare_field(old, new, before, after):
                effect = Effect.NEUTRAL
                if change.direction is Direction.WIDER:
                    effect = Effect.BREAKING if change.what in ("type", "null") else Effect.WIDENING
                yield DescriptionDifference(part, old.path, effect, change.what, change.before, change.after)
            if (old.required == "yes") != (new.required == "yes"):
                guaranteed = new.required == "yes"
                words = ("optional", "always present") if guaranteed else ("always present", "optional")
                effect = Effect.NEUTRAL if guaranteed else Effect.BREAKING
                yield DescriptionDifference(part, old.path, effect, "presence", *words)
        elif old is not None:
            yield DescriptionDifference(part, old.path, Effect.BREAKING, "gone", _notation(old, before), "")
        elif new is not None:
            yield DescriptionDifference(part, new.path, Effect.WIDENING, "new", "", _notation(new, after))


def _pair_fields(
    root: str, before: Document, after: Document
) -> Iterator[tuple[SchemaField | None, SchemaField | None]]:
    """Pair the fields of both sides by path; skip those inside a field that only one side has."""
    old, new = (
        {field.path: field for field in list_fields(schemas[root], schemas)} if root in schemas else {}
        for schemas in (side["components"]["schemas"] for side in (before, after))
    )
    unpaired: set[str] = set()
    for path in dict.fromkeys([*old, *new]):
        pair = old.get(path), new.get(path)
        field = pair[0] or pair[1]
        if field is None or field.parent in unpaired:
            unpaired.add(path)
            continue
        if None in pair:
            unpaired.add(path)
        if field.is_element:  # the other side does not restrict elements: they may be anything
            anything = SchemaField(path, ({},))
            yield pair[0] or anything, pair[1] or anything
        else:
            yield pair


def _compare_field(old: SchemaField, new: SchemaField, before: Document, after: Document) -> Iterator[RangeChange]:
    sides = ((old, before), (new, after))
    return compare_ranges(*(value_range(field.schemas, document["components"]["schemas"]) for field, document in sides))


def _notation(field: SchemaField, document: Document) -> str:
    return notation({"anyOf": list(field.schemas)}, document["components"]["schemas"])


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _compare_rules(before: Document, after: Document) -> Iterator[DescriptionDifference]:
    """Compare rules that combine parameters. Rules in words are not validated, so their changes are neutral."""
    old, new = read_rules(before), read_rules(after)
    for key in dict.fromkeys([*old, *new]):
        was, now = old.get(key), new.get(key)
        if was is not None and now is not None:
            if was.schema != now.schema:
                yield DescriptionDifference("rule", key, Effect.BREAKING, "changed", was.summary, now.summary)
            elif was.summary != now.summary:
                yield DescriptionDifference("rule", key, Effect.NEUTRAL, "text", was.summary, now.summary)
        elif now is not None:
            effect = Effect.BREAKING if _applies_to(now, before) else Effect.NEUTRAL
            yield DescriptionDifference("rule", key, effect, "new", "", now.summary)
        elif was is not None:
            effect = Effect.WIDENING if _applies_to(was, after) else Effect.NEUTRAL
            yield DescriptionDifference("rule", key, effect, "gone", was.summary, "")


def _applies_to(rule: DescribedRule, document: Document) -> bool:
    """Return whether the rule can refuse a request whose parameters are all known to the other side."""
    return rule.schema != "" and rule.parameter in document["components"]["schemas"][REQUEST]["properties"]


def _compare_stream_forms(before: Document, after: Document) -> Iterator[DescriptionDifference]:
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
            effect = Effect.BREAKING  # the text of the answer changes
        yield DescriptionDifference("stream", key, effect, "form", *(_format_form(value) for value in (was, now)))


def _format_form(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else _format_value(value)


def _compare_refusals(before: Document, after: Document) -> Iterator[DescriptionDifference]:
    """Compare the status of each kind of error, and the fields of its body."""
    old, new = _error_kinds(before), _error_kinds(after)
    for kind in dict.fromkeys([*old, *new]):
        if kind not in old or kind not in new:
            known = old.get(kind) or new[kind]
            what, sides = ("gone", (known[0], "")) if kind in old else ("new", ("", known[0]))
            yield DescriptionDifference("refusal", kind, Effect.NEUTRAL, what, *sides)
            continue
        (status, body), (new_status, new_body) = old[kind], new[kind]
        if status != new_status:
            yield DescriptionDifference("refusal", kind, Effect.BREAKING, "status", status, new_status)
        for name in body.keys() & new_body.keys():
            if body[name] != new_body[name]:
                sides = (_format_value(body[name]), _format_value(new_body[name]))
                yield DescriptionDifference("refusal", kind, Effect.BREAKING, name, *sides)


def _error_kinds(document: Document) -> dict[str, tuple[str, Mapping[str, Any]]]:
    kinds: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for item in document["paths"].values():
        for operation in item.values():
            for status, response in operation["responses"].items():
                for key, examples, _ in walk_tree(response):
                    if key == "examples" and not status.startswith("2"):
                        kinds |= {kind: (status, shown["value"]) for kind, shown in examples.items()}
    return kinds


def _compare_capabilities(before: Document, after: Document) -> Iterator[DescriptionDifference]:
    old, new = (side["info"].get("x-capabilities", []) for side in (before, after))
    for name in old:
        if name not in new:
            yield DescriptionDifference("capability", name, Effect.BREAKING, "gone")
    for name in new:
        if name not in old:
            yield DescriptionDifference("capability", name, Effect.WIDENING, "new")
