"""Perturbations of parameters: bounds, null, presence, enums, and whether there is such a parameter at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi.contract.contract import ABSENT, Keyword
from openapi.perturbation.edit import Edit
from openapi.perturbation.perturbation import Perturbation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from openapi.contract.contract import Contract, Parameter

ENVELOPE: Final = frozenset({"model", "messages"})
"""Parameters that every chat request needs."""
SIZED: Final = frozenset({"messages", "tools"})
"""Lists of objects whose size a vendor may limit."""
LIMITS: Final = frozenset({"max_tokens", "max_completion_tokens"})
"""Limits of the length of an answer. Without any of them, each answer costs as much as the server allows."""
LOWEST: Final = {"temperature": 0.0, "presence_penalty": -4.0, "frequency_penalty": -4.0}
HIGHEST: Final = {"temperature": 4.0, "presence_penalty": 4.0, "frequency_penalty": 4.0, "repetition_penalty": 8.0}
"""How far a range can grow so that the reference server still samples. Other ranges only shrink."""
OTHER_DEFAULTS: Final = {
    "temperature": (1.9,),
    "top_p": (0.5,),
    "presence_penalty": (1.0,),
    "frequency_penalty": (0.5,),
    "repetition_penalty": (1.3,),
}
DEFAULT: Final = "parameters.default-held"
DEFAULT_ROW: Final = "default-held"
REQUIRED: Final = "parameters.required-demanded"
"""The check of required parameters, which some dialects do not have."""
FREE_ENUMS: Final = {"service_tier", "verbosity"}
"""Enumerations of which the reference server only echoes or ignores the values that it does not know."""
SIZES: Final = (3, 8, 10, 32)
"""How many elements a list of objects, such as messages, may have."""
LARGE: Final = 1_000


def perturb_parameters(contract: Contract, random: Random) -> Iterator[Perturbation]:
    """Yield perturbations of every parameter, with values that follow from the random numbers."""
    for parameter in contract.parameters.values():
        yield from _bounds(parameter, random)
        yield from _size(parameter, random)
        if parameter.name not in ENVELOPE:
            yield from _presence(parameter, contract)
            yield _null(parameter)
            yield from _enum(parameter)
            yield from _default(parameter, contract)


def _path(parameter: Parameter, rest: str) -> str:
    return f"parameters/{parameter.name}/{rest}"


def _row(parameter: Parameter, end: str) -> tuple[str, ...]:
    """Return the requirements of a fact; the level of some is the last part of their id."""
    name = f"parameters.{parameter.name}.{end}"
    return name, f"{name}-should"


def _bounds(parameter: Parameter, random: Random) -> Iterator[Perturbation]:
    if parameter.schema.get("type") not in ("integer", "number"):
        return
    for key in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"):
        if key in parameter.schema:
            yield from _moved(parameter, key, random)
            yield from _other_end(parameter, key)


def _moved(parameter: Parameter, key: str, random: Random) -> Iterator[Perturbation]:
    """Yield a tighter bound, and a looser one where the reference server supports it."""
    bound, upper = parameter.schema[key], key.lower().endswith("maximum")
    whole = parameter.schema["type"] == "integer"
    inner = _innermost(parameter, upper=upper)
    if inner is not None:
        tighter = _between(inner, bound, random, whole=whole)
        if tighter != bound and (tighter < bound) == upper:
            yield _bound(parameter, key, tighter, f"{key}-outside", "tightened")
    end = (HIGHEST if upper else LOWEST).get(parameter.name)
    if end is not None and end != bound and (end > bound) == upper:
        looser = _between(bound, end, random, whole=whole)
        if looser != bound:
            yield _bound(parameter, key, looser, f"{key}-inside", "loosened")


def _size(parameter: Parameter, random: Random) -> Iterator[Perturbation]:
    """Yield a limit of the size of a list of messages or tools."""
    if parameter.name in SIZED and parameter.schema.get("type") == "array":
        size = random.choice(SIZES)
        yield Perturbation(
            fact=_path(parameter, "schema/maxItems"),
            before=parameter.schema.get("maxItems"),
            after=size,
            line=f"{parameter.name}: at most {size} elements",
            edits=(Edit(_path(parameter, "schema/maxItems"), size),),
            shown_by=_row(parameter, "maxItems-outside"),
        )


def _innermost(parameter: Parameter, *, upper: bool) -> float | None:
    """Return how far a bound can be moved inwards: to the default and the smallest useful values."""
    schema, default = parameter.schema, parameter.default
    number = default if isinstance(default, int | float) and not isinstance(default, bool) else None
    if upper:
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        floor = 0 if low is None else low
        if schema["type"] == "integer":
            floor += 2
        return floor if number is None else max(floor, number)
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    ceiling = 1 if number is None else number
    return ceiling if high is None else min(ceiling, high)


def _between(inner: float, bound: float, random: Random, *, whole: bool) -> float:
    """Return a number between two others that reads well: an integer, or a fraction with two digits."""
    share = random.choice((0.0, 0.25, 0.5, 0.75))
    if whole:
        low, high = sorted((int(inner), int(bound)))
        if high - low > LARGE:  # such as 2147483647: a bound that a document would state
            return low + random.choice((16, 100, LARGE)) if bound > inner else high - random.choice((16, 100, LARGE))
        return round(inner + (bound - inner) * share)
    return round(inner + (bound - inner) * share, 2)


def _bound(parameter: Parameter, key: str, value: float, row: str, verb: str) -> Perturbation:
    old = parameter.schema[key]
    return Perturbation(
        fact=_path(parameter, f"schema/{key}"),
        before=old,
        after=value,
        line=f"{parameter.name}: {key} {verb} from {old} to {value}",
        edits=(Edit(_path(parameter, f"schema/{key}"), value),),
        shown_by=() if _is_optional(parameter, _outside(key, value)) else _bound_row(parameter, key, row),
    )


def _outside(key: str, bound: float) -> float:
    """Return the integer outside a bound that is next to it."""
    return {"minimum": bound - 1, "maximum": bound + 1}.get(key, bound)


def _is_optional(parameter: Parameter, value: float) -> bool:
    """Return whether a server of the dialect may or must refuse a value that is in range: its refusal shows nothing."""
    return any(
        probe.value == value and (probe.keyword is Keyword.MAY or probe.expect == "reject")
        for probe in parameter.probes
    )


def _bound_row(parameter: Parameter, key: str, row: str) -> tuple[str, ...]:
    """Return the requirements of a bound; none if the document leaves it open (MAY)."""
    level = parameter.level(key) if row.endswith("-outside") else parameter.acceptance(key)
    return () if level is Keyword.MAY else _row(parameter, row)


def _other_end(parameter: Parameter, key: str) -> Iterator[Perturbation]:
    """Yield the same bound as an open instead of a closed end, or the other way round."""
    bound, closed = parameter.schema[key], not key.startswith("exclusive")
    other = f"exclusive{key[0].upper()}{key[1:]}" if closed else key.removeprefix("exclusive").lower()
    if not closed and parameter.name in ("top_p", "repetition_penalty", "max_tokens", "max_completion_tokens"):
        return  # 0 means nothing for these
    row = f"{other}-outside" if closed else f"{other}-inside"
    edits = [Edit(_path(parameter, f"schema/{key}")), Edit(_path(parameter, f"schema/{other}"), bound)]
    if key in parameter.levels:
        edits += [
            Edit(_path(parameter, f"levels/{key}")),
            Edit(_path(parameter, f"levels/{other}"), str(parameter.levels[key])),
        ]
    yield Perturbation(
        fact=_path(parameter, f"schema/{key}"),
        before=key,
        after=other,
        line=f"{parameter.name}: {bound} is {'no longer ' if closed else 'now '}in range",
        edits=tuple(edits),
        shown_by=() if _is_optional(parameter, bound) else _bound_row(parameter, key, row),
    )


def _presence(parameter: Parameter, contract: Contract) -> Iterator[Perturbation]:
    name = parameter.name
    gone = [name, *(item.name for item in contract.parameters.values() if name in item.needs)]
    if not LIMITS & set(gone) or LIMITS & set(contract.parameters) - set(gone):
        yield Perturbation(
            fact=f"parameters/{name}",
            before="a parameter",
            after=None,
            line=f"{', '.join(gone)}: removed",
            edits=tuple(dict.fromkeys(edit for gone_name in gone for edit in _removal(gone_name, contract))),
        )
    if not parameter.required and parameter.default not in (ABSENT, None) and not parameter.capability:
        yield Perturbation(
            fact=_path(parameter, "required"),
            before=False,
            after=True,
            line=f"{name}: required",
            edits=(Edit(_path(parameter, "required"), value=True),),
            shown_by=_row(parameter, "required") if REQUIRED in contract.requirements else (),
        )


def _removal(name: str, contract: Contract) -> Iterator[Edit]:
    """Yield the edits that remove a parameter, and the rules and requirements about it."""
    yield Edit(f"parameters/{name}")
    for rule in contract.rules.values():
        if _mentions(rule, name):
            yield Edit(f"rules/{rule.id}")
    for row in contract.requirements.values():
        document, _, place = row.source.partition("#")
        if document == contract.document.id and place.split("/")[:2] == ["request", name]:
            yield Edit(f"requirements/{row.id}")


def _mentions(rule: Any, name: str) -> bool:
    return f"'{name}'" in repr((rule.trigger, rule.schema, rule.broken, rule.kept))


def _null(parameter: Parameter) -> Perturbation:
    old = parameter.null.expect
    new = "reject" if old == "accept" else "accept"
    default = [Edit(_path(parameter, "default"))] if parameter.default is None and new == "reject" else []
    return Perturbation(
        fact=_path(parameter, "null_value"),
        before=old,
        after=new,
        line=f"{parameter.name}: null is {new}ed",
        edits=(Edit(_path(parameter, "null_value"), {"expect": new, "level": "MUST"}), *default),
        shown_by=_row(parameter, "null"),
    )


def _enum(parameter: Parameter) -> Iterator[Perturbation]:
    values = parameter.schema.get("enum")
    if not values:
        return
    if parameter.name in FREE_ENUMS:
        added = [*values, "chatproof-added"]
        yield Perturbation(
            fact=_path(parameter, "schema/enum"),
            before=values,
            after=added,
            line=f"{parameter.name}: one more value",
            edits=(Edit(_path(parameter, "schema/enum"), added),),
            shown_by=_row(parameter, "enum-inside"),
        )
    gone = [value for value in values if value != parameter.default and value not in parameter.neutral]
    if len(values) > 1 and gone:
        left = [value for value in values if value != gone[-1]]
        probe = {"name": "no-longer-listed", "value": gone[-1], "expect": "reject"}
        probes = [] if parameter.probes else [Edit(_path(parameter, "probes"), [])]
        yield Perturbation(
            fact=_path(parameter, "schema/enum"),
            before=values,
            after=left,
            line=f"{parameter.name}: without the value {gone[-1]!r}",
            edits=(
                Edit(_path(parameter, "schema/enum"), left),
                *probes,
                Edit(_path(parameter, "probes/no-longer-listed"), probe),
            ),
            shown_by=_row(parameter, "enum-outside"),
        )


def _default(parameter: Parameter, contract: Contract) -> Iterator[Perturbation]:
    """Yield another default. Whether a request shows it depends on the other parameters, which the plan decides."""
    for value in OTHER_DEFAULTS.get(parameter.name, ()):
        if parameter.default not in (ABSENT, value):
            yield Perturbation(
                fact=_path(parameter, "default"),
                before=parameter.default,
                after=value,
                line=f"{parameter.name}: the default is {value}, not {parameter.default}",
                edits=(Edit(_path(parameter, "default"), value),),
                shown_by=_row(parameter, DEFAULT_ROW) if DEFAULT in contract.requirements else (),
            )
