"""Describe validation errors in messages that name the parameter and the bound.

The errors of `oneOf` and `anyOf` do not help a client ("not valid under any of the schemas"), so the errors of the
intended branch are described instead. The intended branch is the one with the same discriminator, or, without a
discriminator, with the same type as the value.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import jsonschema_rs

MAX_QUOTED = 60  # characters of a value that a message quotes
MAX_PROBLEMS = 5  # per instance; an invalid array of 300,000 items would otherwise yield 46 MB of messages


@dataclass(frozen=True, slots=True)
class Problem:
    """One violated keyword.

    where: JSON pointer to the value in the instance.
    bound: the value of the keyword in the schema.
    """

    where: str
    keyword: str
    bound: Any
    message: str

    @property
    def parameter(self) -> str:
        """Name of the top-level field that contains the problem; "" for the instance itself."""
        return self.where.split("/")[1] if self.where else ""


def describe_errors(
    errors: Iterable[jsonschema_rs.ValidationError], document: Mapping[str, Any]
) -> tuple[Problem, ...]:
    """Describe the first few distinct errors, each by the errors of the intended branch."""
    problems: dict[tuple[str, str], Problem] = {}
    for error in errors:
        for problem in _describe_error(error, document):
            problems.setdefault((problem.where, problem.message), problem)
        if len(problems) >= MAX_PROBLEMS:
            break
    return tuple(problems.values())[:MAX_PROBLEMS]


def _describe_error(error: jsonschema_rs.ValidationError, document: Mapping[str, Any]) -> list[Problem]:
    path = tuple(error.instance_path)
    keyword = _keyword(error)
    steps = _schema_steps(error, document)
    for step in reversed(steps):
        rule = step.schema.get("x-rule")
        if rule and rule.get("of", step.keyword) == step.keyword:
            where = path if step.trigger is None else (step.trigger,)
            return [Problem(_pointer(where), "rule", rule["id"], f"{_place(where)}: {rule['summary']}")]
    branches: Sequence[Sequence[jsonschema_rs.ValidationError]] = error.kind.as_dict().get("context", ())
    if keyword == "oneOf" and sum(not branch for branch in branches) > 1:
        return [
            Problem(_pointer(path), keyword, None, f"{_place(path)} matches more than one alternative{_got(error)}")
        ]
    if keyword in ("anyOf", "oneOf") and branches:
        intended = _intended_branch(branches, path)
        if intended is None:
            message = f"{_place(path)} {_expected(branches, path)}{_got(error)}"
            return [Problem(_pointer(path), keyword, None, message)]
        return [problem for inner in intended for problem in _describe_error(inner, document)]
    return [_describe_keyword(error, keyword, path, steps[-1].schema if steps else {})]


def _keyword(error: jsonschema_rs.ValidationError) -> str:
    return str(error.kind.name)


def _intended_branch(
    branches: Sequence[Sequence[jsonschema_rs.ValidationError]], path: tuple[Any, ...]
) -> Sequence[jsonschema_rs.ValidationError] | None:
    """Return the errors of the branch that agrees with the value in its type and discriminator; None if none does."""

    def disagrees(branch: Sequence[jsonschema_rs.ValidationError]) -> bool:
        return any(
            (_keyword(error) in ("type", "enum") and tuple(error.instance_path) == path)
            or (_keyword(error) == "const" and len(error.instance_path) <= len(path) + 1)
            or _lacks_discriminator(error, path)
            for error in branch
        )

    candidates = [branch for branch in branches if not disagrees(branch)]
    return min(candidates, key=len) if candidates else None


def _lacks_discriminator(error: jsonschema_rs.ValidationError, path: tuple[Any, ...]) -> bool:
    """Return whether the value lacks the discriminator of the branches, `role` or `type`."""
    return (
        _keyword(error) == "required"
        and tuple(error.instance_path) == path
        and error.kind.as_dict().get("property") in ("role", "type")
    )


def _expected(branches: Sequence[Sequence[jsonschema_rs.ValidationError]], path: tuple[Any, ...]) -> str:
    """Describe what the branches expect: the values of their discriminator, or else their types."""
    discriminators = [
        (error.instance_path[-1], error.kind.as_dict()["expected_value"])
        for branch in branches
        for error in branch
        if _keyword(error) == "const" and len(error.instance_path) == len(path) + 1
    ]
    if discriminators:
        return f"must have {discriminators[0][0]} one of {_list(value for _, value in discriminators)}"
    for branch in branches:
        for error in branch:
            if _lacks_discriminator(error, path):
                return f"must have {error.kind.as_dict()['property']}"
    expected: list[str] = []
    for branch in branches:
        values = [error for error in branch if _keyword(error) == "enum" and tuple(error.instance_path) == path]
        if values:
            expected += [json.dumps(value) for error in values for value in error.kind.as_dict()["options"]]
            continue
        for error in branch:
            if _keyword(error) == "type" and tuple(error.instance_path) == path:
                expected += error.kind.as_dict()["types"]
    return f"must be {_alternatives(expected)}" if expected else "matches none of the alternatives"


def _describe_keyword(
    error: jsonschema_rs.ValidationError, keyword: str, path: tuple[Any, ...], schema: Mapping[str, Any]
) -> Problem:
    facts = error.kind.as_dict()
    bound: Any = None
    match keyword:
        case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
            bound = facts.get("limit")
            words = f"{_BOUNDS[keyword]} {bound}"
        case "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties":
            bound = facts.get("limit")
            singular, plural = _UNITS[keyword[3:]]
            words = f"{_BOUNDS[keyword[:3]]} {bound} {singular if bound == 1 else plural}"
        case "multipleOf":
            bound = facts.get("multiple_of")
            words = f"must be a multiple of {bound}"
        case "uniqueItems":
            words = "must not contain duplicate items"
        case "pattern":
            bound = facts.get("pattern")
            words = f"must match {bound}"
        case "additionalProperties":
            bound = facts.get("unexpected", [])[:MAX_PROBLEMS]
            return Problem(
                _pointer(path), keyword, bound, f"{_place(path)} must not have {_list(map(_shorten, bound))}"
            )
        case "falseSchema":
            words = "is not allowed"
        case "type":
            bound = facts.get("types")
            words = f"must be {_alternatives(bound)}"
        case "enum":
            bound = facts.get("options")
            words = f"must be one of {_list(bound)}"
            if lacking := schema.get("x-lacking"):
                words = f"is not supported by this server ({lacking}): omit it or send {_list(bound)}"
        case "const":
            bound = facts.get("expected_value")
            words = f"must be {json.dumps(bound)}"
        case "not":
            bound = schema.get("not", {}).get("const")
            words = f"must not be {json.dumps(bound)}"
        case "required":
            bound = facts.get("property")
            return Problem(_pointer((*path, bound)), keyword, bound, f"{_place((*path, bound))} is required")
        case "x-maxCharacters" | "x-json":
            bound = schema.get(keyword)
            words = error.message
        case _:
            words = f"does not satisfy {keyword}"
    return Problem(_pointer(path), keyword, bound, f"{_place(path)} {words}{_got(error)}")


_BOUNDS = {
    "minimum": "must be at least",
    "maximum": "must be at most",
    "exclusiveMinimum": "must be greater than",
    "exclusiveMaximum": "must be less than",
    "min": "must have at least",
    "max": "must have at most",
}
_UNITS = {"Items": ("item", "items"), "Length": ("character", "characters"), "Properties": ("field", "fields")}


def _alternatives(words: Iterable[str]) -> str:
    """Join types as in `integer or null`; null comes last because it is the least likely intention."""
    return " or ".join(sorted(dict.fromkeys(words), key=lambda word: word == "null"))


class _Step(NamedTuple):
    """A schema on the path to a violated keyword, the next keyword on the path, and the `dependentSchemas` trigger."""

    schema: dict[str, Any]
    keyword: str
    trigger: str | None


def _schema_steps(error: jsonschema_rs.ValidationError, document: Mapping[str, Any]) -> list[_Step]:
    """Return the schemas from the root to the violated keyword.

    The paths of jsonschema-rs lead through the document itself, with references already resolved.
    """
    node: Any = document
    steps: list[_Step] = []
    trigger, previous = None, ""
    for step in map(str, error.schema_path):
        if isinstance(node, dict):
            steps.append(_Step(node, step, trigger))
        node = node[int(step)] if isinstance(node, list) else node.get(step) if isinstance(node, dict) else None
        if previous == "dependentSchemas":
            trigger = step
        previous = step
    return steps


def _pointer(path: Iterable[Any]) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def _place(path: Sequence[Any]) -> str:
    """Format a path as `messages[0].role`, and the empty path as `the body`."""
    words = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return words.lstrip(".") or "the body"


def _list(values: Iterable[Any]) -> str:
    return ", ".join(dict.fromkeys(json.dumps(value, ensure_ascii=False) for value in values))


def _got(error: jsonschema_rs.ValidationError) -> str:
    """Quote the value, shortened; name only the type of objects and arrays, to stay short and to leak no secrets."""
    value = error.instance
    if isinstance(value, (dict, list)):
        return f", got {'an object' if isinstance(value, dict) else 'an array'}"
    return f", got {_shorten(json.dumps(value, ensure_ascii=False))}"


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}..."
