"""What the contract holds, as facts of the same kind as those of a page, so that the two can be compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from openapi.contract.contract import ABSENT, Keyword
from openapi.reading.facts.fact import Fact
from openapi.reading.grammar.interval import Interval, Range, exact, merged
from openapi.reading.grammar.statement import UNSTATED, DescribedDefault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from openapi.contract.contract import Contract, Parameter
    from openapi.reading.pages.row import Part
    from openapi.schema.json_schema import Schema

ROOTS: tuple[tuple[Part, str], ...] = (("response", "ChatCompletion"), ("stream", "ChatCompletionChunk"))
_SCALARS = frozenset({"string", "boolean", "integer", "number"})
_REFERENCE = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Held:
    """One fact of the contract. `source` is its document and anchor, `places` are its paths in a dialect's tree."""

    fact: Fact
    source: str
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Form:
    """One form that a value may have: a schema without branches, and its path in the tree."""

    schema: Schema
    place: str
    source: str


def held(contract: Contract) -> dict[tuple[str, str], Held]:
    """Every parameter, field and element of a contract by (part, path), outermost first."""
    found: dict[tuple[str, str], Held] = {}

    def keep(each: Held) -> None:
        found[each.fact.part, each.fact.path] = each

    walk = _Walk(contract.schemas)
    for parameter in contract.parameters.values():
        place = f"parameters/{parameter.name}"
        forms = walk.forms(parameter.schema, f"{place}/schema", parameter.source)
        fact = _of_parameter(walk.fact("request", parameter.name, forms), parameter)
        keep(Held(fact, parameter.source, (place,)))
        for below in walk.below("request", parameter.name, forms):
            keep(below)
    for name in contract.unsupported:
        keep(Held(Fact("request", name, supported=False), f"{contract.document.id}#request", ("unsupported",)))
    for part, root in ROOTS:
        for below in walk.below(part, "", walk.forms({"$ref": _REFERENCE + root}, "", "")):
            keep(below)
    for below in walk.below("errors", "", [_Form(contract.errors.schema, "errors/schema", "")]):
        keep(below)
    return found


def _of_parameter(fact: Fact, parameter: Parameter) -> Fact:
    """What stands beside the schema of a parameter. Null is settled only where a MUST says so."""
    settled = parameter.null.keyword is Keyword.MUST
    default: Any = parameter.default
    if default is ABSENT:
        default = UNSTATED if parameter.default_note is None else DescribedDefault(parameter.default_note)
    return replace(
        fact,
        required="yes" if parameter.required else "no",
        default=default,
        nullable=parameter.null.expect == "accept" if settled else None,
    )


class _Walk:
    """From schema to facts, references followed."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas

    def forms(self, schema: Schema, place: str, source: str) -> list[_Form]:
        """The forms of a value: references and branches are followed, and what they share is not merged."""
        source = schema.get("x-source", source)
        if "$ref" in schema:
            name = schema["$ref"].removeprefix(_REFERENCE)
            return self.forms(self._schemas[name], f"schemas/{name}", source)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema and "properties" not in schema:
                return [
                    form
                    for at, branch in enumerate(schema[keyword])
                    for form in self.forms(branch, f"{place}/{keyword}/{at}", source)
                ]
        return [_Form(schema, place, source)]

    def fact(self, part: Part, path: str, forms: Sequence[_Form], required: str | None = None) -> Fact:
        """What the forms say together."""
        schemas = [form.schema for form in forms]
        types = {name for schema in schemas for name in _types(schema)}
        closed = [_values(schema) for schema in schemas if _types(schema) & _SCALARS]
        enum = () if None in closed else dict.fromkeys(value for values in closed for value in values or ())
        return Fact(
            part=part,
            path=path,
            types=tuple(sorted(types - {"null"})),
            format=next((schema["format"] for schema in schemas if "format" in schema), None),
            range=merged(each for schema in schemas for each in _range(schema)),
            enum=tuple(value for value in enum if value is not None),
            default=next((schema["default"] for schema in schemas if "default" in schema), UNSTATED),
            nullable="null" in types,
            required=required,
            length=_sizes([s for s in schemas if "string" in _types(s)], "Length"),
            items=_sizes([s for s in schemas if "array" in _types(s)], "Items"),
            characters=_ceiling(schemas, "x-maxCharacters"),
            media_bytes=_ceiling(schemas, "x-maxMediaBytes"),
            formats=tuple(sorted(name for schema in schemas for name in schema.get("x-mediaFormats", ()))),
        )

    def below(self, part: Part, path: str, forms: Sequence[_Form]) -> Iterator[Held]:
        """Elements, members and members of any name, of all forms."""
        inner: dict[str, list[_Form]] = {}
        for form in forms:
            schema, place = form.schema, form.place
            for name, item in schema.get("properties", {}).items():
                step = f"{path}.{name}" if path else name
                inner.setdefault(step, []).extend(self.forms(item, f"{place}/properties/{name}", form.source))
            for keyword, step in (("items", f"{path}[]"), ("additionalProperties", f"{path}.*")):
                if isinstance(schema.get(keyword), dict):
                    inner.setdefault(step, []).extend(self.forms(schema[keyword], f"{place}/{keyword}", form.source))
        for step, every in inner.items():
            below = list({form.place: form for form in every}.values())  # one schema may be reached in several ways
            name = step.rpartition(".")[2]
            required = None if step.endswith(("[]", ".*")) else _required(name, [form.schema for form in forms])
            places = tuple(dict.fromkeys(form.place for form in below))
            yield Held(self.fact(part, step, below, required), below[0].source, places)
            yield from self.below(part, step, below)


def _types(schema: Schema) -> set[str]:
    """The types of a schema; those of its values where it names none."""
    named = schema.get("type")
    if named is not None:
        return {named} if isinstance(named, str) else set(named)
    words = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return {words[type(value)] for value in _values(schema) or ()}


def _values(schema: Schema) -> list[Any] | None:
    """The only values that a schema takes, or None when it takes others too."""
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _range(schema: Schema) -> Iterator[Interval]:
    if not _types(schema) & {"integer", "number"} or _values(schema) is not None:
        return
    low, high = (schema.get(f"exclusive{end}", schema.get(end.lower())) for end in ("Minimum", "Maximum"))
    if low is None and high is None:
        return
    whole = Interval(
        None if low is None else exact(low),
        None if high is None else exact(high),
        "exclusiveMinimum" in schema,
        "exclusiveMaximum" in schema,
    )
    hole = schema.get("not", {}).get("const")
    if hole is None:
        yield whole
    else:
        yield Interval(whole.low, exact(hole), whole.low_open, high_open=True)
        yield Interval(exact(hole), whole.high, low_open=True, high_open=whole.high_open)


def _sizes(schemas: Sequence[Schema], of: str) -> Range:
    """How long the values of all forms may be; a form that is one value is as long as it."""
    found = []
    for schema in schemas:
        values = _values(schema)
        if values is None:
            found.append(Interval(schema.get(f"min{of}", 0), schema.get(f"max{of}")))
        elif any(_values(other) is None for other in schemas):
            found += [Interval(len(value), len(value)) for value in values if isinstance(value, str)]
    together = merged(found)
    return () if together == (Interval(0),) else together


def _ceiling(schemas: Sequence[Schema], keyword: str) -> Range:
    return tuple(Interval(0, schema[keyword]) for schema in schemas if keyword in schema)


def _required(name: str, schemas: Sequence[Schema]) -> str:
    """Whether a member is required: by all forms, by none, or by those with a certain tag."""
    objects = [schema for schema in schemas if "properties" in schema]
    needing = [schema for schema in objects if name in schema.get("required", ())]
    if len(needing) in (0, len(objects)):
        return "yes" if needing else "no"
    tags = [key for key in objects[0]["properties"] if all("const" in s["properties"].get(key, {}) for s in objects)]
    tag = tags[0] if tags else None
    if tag is None:
        return "by some forms"
    without = [schema for schema in objects if schema not in needing and name in schema["properties"]]
    if not without:
        return f"when {tag}={'|'.join(sorted(str(schema['properties'][tag]['const']) for schema in needing))}"
    beside = {
        other for schema in without for branch in schema.get("anyOf", ()) for other in branch.get("required", ())
    } - {name}
    values = "|".join(sorted(str(schema["properties"][tag]["const"]) for schema in without))
    return f"unless {tag}={values}" + "".join(f" and {other}" for other in sorted(beside))
