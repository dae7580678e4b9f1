"""Problem: one way an instance breaks a schema, in words that name the parameter and the bound.

`oneOf` and `anyOf` alone say nothing a client can use ("not valid under any of the schemas"), so the branch that was
meant is looked up: by the discriminator where there is one, else by the type of the value.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import jsonschema_rs

EXCERPT = 60  # characters of a value that a message may show
MOST = 5  # problems that one answer names; a broken list of 300,000 items must not become 46 MB of refusals


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken keyword. `where` is a JSON pointer into the instance, `bound` the keyword's value."""

    where: str
    keyword: str
    bound: Any
    message: str

    @property
    def parameter(self) -> str:
        """The member of the instance's root that holds the problem; "" for the root itself."""
        return self.where.split("/")[1] if self.where else ""


def problems_of(errors: Iterable[jsonschema_rs.ValidationError], document: Mapping[str, Any]) -> tuple[Problem, ...]:
    """The first few problems, each followed down to the branch that was meant. Doubles are dropped."""
    found: dict[tuple[str, str], Problem] = {}
    for error in errors:
        for problem in _unfold(error, document):
            found.setdefault((problem.where, problem.message), problem)
        if len(found) >= MOST:
            break
    return tuple(found.values())[:MOST]


def _unfold(error: jsonschema_rs.ValidationError, document: Mapping[str, Any]) -> list[Problem]:
    path = tuple(error.instance_path)
    keyword = _keyword(error)
    passed = _way(error, document)
    for step in reversed(passed):
        rule = step.schema.get("x-rule")
        if rule and rule.get("of", step.keyword) == step.keyword:
            where = path if step.trigger is None else (step.trigger,)
            return [Problem(_pointer(where), "rule", rule["id"], f"{_place(where)}: {rule['summary']}")]
    branches: Sequence[Sequence[jsonschema_rs.ValidationError]] = error.kind.as_dict().get("context", ())
    if keyword == "oneOf" and sum(not branch for branch in branches) > 1:
        return [Problem(_pointer(path), keyword, None, f"{_place(path)} fits more than one of its forms{_got(error)}")]
    if keyword in ("anyOf", "oneOf") and branches:
        meant = _meant(branches, path)
        if meant is None:
            return [Problem(_pointer(path), keyword, None, f"{_place(path)} {_none_of(branches, path)}{_got(error)}")]
        return [problem for inner in meant for problem in _unfold(inner, document)]
    return [_problem(error, keyword, path, passed[-1].schema if passed else {})]


def _keyword(error: jsonschema_rs.ValidationError) -> str:
    return str(error.kind.name)


def _meant(
    branches: Sequence[Sequence[jsonschema_rs.ValidationError]], path: tuple[Any, ...]
) -> Sequence[jsonschema_rs.ValidationError] | None:
    """The branch that the value was meant for: the one it does not miss by its tag or its type."""

    def misses(branch: Sequence[jsonschema_rs.ValidationError]) -> bool:
        return any(
            (_keyword(error) in ("type", "enum") and tuple(error.instance_path) == path)
            or (_keyword(error) == "const" and len(error.instance_path) <= len(path) + 1)
            or _lacks_tag(error, path)
            for error in branch
        )

    fitting = [branch for branch in branches if not misses(branch)]
    return min(fitting, key=len) if fitting else None


def _lacks_tag(error: jsonschema_rs.ValidationError, path: tuple[Any, ...]) -> bool:
    """Whether the value itself has no `role` or `type`, by which branches are told apart."""
    return (
        _keyword(error) == "required"
        and tuple(error.instance_path) == path
        and error.kind.as_dict().get("property") in ("role", "type")
    )


def _none_of(branches: Sequence[Sequence[jsonschema_rs.ValidationError]], path: tuple[Any, ...]) -> str:
    """What the branches wanted: their tags when they are told apart by a tag, else their types."""
    tags = [
        (error.instance_path[-1], error.kind.as_dict()["expected_value"])
        for branch in branches
        for error in branch
        if _keyword(error) == "const" and len(error.instance_path) == len(path) + 1
    ]
    if tags:
        return f"must have {tags[0][0]} one of {_list(value for _, value in tags)}"
    for branch in branches:
        for error in branch:
            if _lacks_tag(error, path):
                return f"must have {error.kind.as_dict()['property']}"
    wanted: list[str] = []
    for branch in branches:
        values = [error for error in branch if _keyword(error) == "enum" and tuple(error.instance_path) == path]
        if values:
            wanted += [json.dumps(value) for error in values for value in error.kind.as_dict()["options"]]
            continue
        for error in branch:
            if _keyword(error) == "type" and tuple(error.instance_path) == path:
                wanted += error.kind.as_dict()["types"]
    return f"must be {_alternatives(wanted)}" if wanted else "fits none of its forms"


def _problem(
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
            words = f"{_BOUNDS[keyword[:3]]} {bound} {_UNITS[keyword[3:]]}{'s' * (bound != 1)}"
        case "multipleOf":
            bound = facts.get("multiple_of")
            words = f"must be a multiple of {bound}"
        case "uniqueItems":
            words = "must not hold an item twice"
        case "pattern":
            bound = facts.get("pattern")
            words = f"must match {bound}"
        case "additionalProperties":
            bound = facts.get("unexpected", [])[:MOST]
            return Problem(_pointer(path), keyword, bound, f"{_place(path)} must not have {_list(map(_cut, bound))}")
        case "falseSchema":
            words = "must be left out"
        case "type":
            bound = facts.get("types")
            words = f"must be {_alternatives(bound)}"
        case "enum":
            bound = facts.get("options")
            words = f"must be one of {_list(bound)}"
            if lacking := schema.get("x-lacking"):
                words = f"asks for what this server does not offer ({lacking}): leave it out or send {_list(bound)}"
        case "const":
            bound = facts.get("expected_value")
            words = f"must be {json.dumps(bound)}"
        case "not":
            bound = schema.get("not", {}).get("const")
            words = f"must not be {json.dumps(bound)}"
        case "required":
            bound = facts.get("property")
            return Problem(_pointer((*path, bound)), keyword, bound, f"{_place((*path, bound))} is required")
        case "x-maxCharacters":
            bound = schema.get(keyword)
            words = error.message
        case _:
            words = f"breaks {keyword}"
    return Problem(_pointer(path), keyword, bound, f"{_place(path)} {words}{_got(error)}")


_BOUNDS = {
    "minimum": "must be at least",
    "maximum": "must be at most",
    "exclusiveMinimum": "must be greater than",
    "exclusiveMaximum": "must be less than",
    "min": "must have at least",
    "max": "must have at most",
}
_UNITS = {"Items": "item", "Length": "character", "Properties": "member"}


def _alternatives(words: Iterable[str]) -> str:
    """`integer or null`: null comes last, as it is the least likely meant."""
    return " or ".join(sorted(dict.fromkeys(words), key=lambda word: word == "null"))


class _Step(NamedTuple):
    """One schema on the way to a broken keyword, the keyword taken from it, and the `dependentSchemas` trigger."""

    schema: dict[str, Any]
    keyword: str
    trigger: str | None


def _way(error: jsonschema_rs.ValidationError, document: Mapping[str, Any]) -> list[_Step]:
    """The schemas from the root down to the broken keyword.

    jsonschema-rs gives the place in the document itself, references already followed.
    """
    node: Any = document
    passed: list[_Step] = []
    trigger, before = None, ""
    for step in map(str, error.schema_path):
        if isinstance(node, dict):
            passed.append(_Step(node, step, trigger))
        node = node[int(step)] if isinstance(node, list) else node.get(step) if isinstance(node, dict) else None
        if before == "dependentSchemas":
            trigger = step
        before = step
    return passed


def _pointer(path: Iterable[Any]) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def _place(path: Sequence[Any]) -> str:
    """`messages[0].role`; the body itself when there is no path."""
    words = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return words.lstrip(".") or "the body"


def _list(values: Iterable[Any]) -> str:
    return ", ".join(dict.fromkeys(json.dumps(value, ensure_ascii=False) for value in values))


def _got(error: jsonschema_rs.ValidationError) -> str:
    """The value, cut; containers only by their kind, so that a refusal stays small and tells no secrets."""
    value = error.instance
    if isinstance(value, (dict, list)):
        return f", got {'an object' if isinstance(value, dict) else 'a list'}"
    return f", got {_cut(json.dumps(value, ensure_ascii=False))}"


def _cut(text: str) -> str:
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}..."
