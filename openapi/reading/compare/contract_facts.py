"""Convert a contract to facts of the same kind as those of a page, so that the two can be compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from openapi.contract.contract import ABSENT, Keyword
from openapi.reading.facts.fact import Fact
from openapi.reading.grammar.interval import Interval, Range, exact_number, merge
from openapi.reading.grammar.statement import UNSTATED, DescribedDefault
from openapi.schema.json_schema import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from openapi.contract.contract import Contract, Parameter
    from openapi.reading.compare.delta_placement import DeltaTree
    from openapi.reading.pages.row import Part
    from openapi.schema.json_schema import Schema

ROOTS: tuple[tuple[Part, str], ...] = (("response", "ChatCompletion"), ("stream", "ChatCompletionChunk"))
_SCALARS = frozenset({"string", "boolean", "integer", "number"})


@dataclass(frozen=True, slots=True)
class ContractFact:
    """One fact of the contract, its source (document and anchor), and its paths in the dialect's tree."""

    fact: Fact
    source: str
    tree_paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Form:
    """One alternative of a value: a schema without branches, its path in the tree, and its source."""

    schema: Schema
    tree_path: str
    source: str


@lru_cache(maxsize=16)
def contract_facts(contract: Contract) -> Mapping[tuple[str, str], ContractFact]:
    """Return the facts of every parameter, field and element of a contract by (part, path), outermost first."""
    facts: dict[tuple[str, str], ContractFact] = {}

    def add(fact: ContractFact) -> None:
        facts[fact.fact.part, fact.fact.path] = fact

    reader = _SchemaReader(contract.schemas)
    for parameter in contract.parameters.values():
        tree_path = f"parameters/{parameter.name}"
        forms = reader.forms(parameter.schema, f"{tree_path}/schema", parameter.source)
        fact = _with_parameter(reader.fact("request", parameter.name, forms), parameter)
        add(ContractFact(fact, parameter.source, (tree_path,)))
        for below in reader.below("request", parameter.name, forms):
            add(below)
    for name in contract.unsupported:
        add(ContractFact(Fact("request", name, supported=False), f"{contract.document.id}#request", ("unsupported",)))
    for part, root in ROOTS:
        for below in reader.below(part, "", reader.forms({"$ref": REFERENCE + root}, "", "")):
            add(below)
    for below in reader.below("errors", "", [_Form(contract.errors.schema, "errors/schema", "")]):
        add(below)
    return facts


def schema_fact(schema: Schema, schemas: Mapping[str, Schema]) -> Fact:
    """Return what a schema states about its value, without the fields and elements below it."""
    reader = _SchemaReader(schemas)
    return reader.fact("request", "", reader.forms(schema, "", ""))


def find_fact(part: Part, name: str, schema: Schema, schemas: Mapping[str, Schema], path: str) -> Fact | None:
    """Return the fact of a schema, or of a field or element below it; None if it has none at this path.

    name: the path of the schema itself, such as the name of a parameter, or empty.
    """
    reader = _SchemaReader(schemas)
    forms = reader.forms(schema, "", "")
    if path == name:
        return reader.fact(part, path, forms)
    return next((below.fact for below in reader.below(part, name, forms) if below.fact.path == path), None)


def find_facts(part: Part, tree: DeltaTree) -> dict[str, ContractFact]:
    """Return the facts about the fields and elements of answers or chunks, by path, in a dialect with its delta."""
    schemas = tree.current("schemas")
    reader = _SchemaReader(schemas)
    root = dict(ROOTS)[part]
    below = reader.below(part, "", reader.forms({"$ref": REFERENCE + root}, "", ""))
    return {known.fact.path: known for known in below}


def _with_parameter(fact: Fact, parameter: Parameter) -> Fact:
    """Add what a parameter states outside its schema. Null is stated only if its requirement level is MUST."""
    null_is_stated = parameter.null.keyword is Keyword.MUST
    default: Any = parameter.default
    if default is ABSENT:
        default = UNSTATED if parameter.default_note is None else DescribedDefault(parameter.default_note)
    return replace(
        fact,
        required="yes" if parameter.required else "no",
        default=default,
        nullable=parameter.null.expect == "accept" if null_is_stated else None,
    )


class _SchemaReader:
    """Converts schemas to facts, with references resolved."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas

    def forms(self, schema: Schema, tree_path: str, source: str) -> list[_Form]:
        """Return the alternatives of a value, with references and branches resolved."""
        source = schema.get("x-source", source)
        if "$ref" in schema:
            name = schema["$ref"].removeprefix(REFERENCE)
            return self.forms(self._schemas[name], f"schemas/{name}", source)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema and "properties" not in schema:
                return [
                    form
                    for at, branch in enumerate(schema[keyword])
                    for form in self.forms(branch, f"{tree_path}/{keyword}/{at}", source)
                ]
        return [_Form(schema, tree_path, source)]

    def fact(self, part: Part, path: str, forms: Sequence[_Form], required: str | None = None) -> Fact:
        """Combine the alternatives of a value to one fact."""
        schemas = [form.schema for form in forms]
        types = {name for schema in schemas for name in list_types(schema)}
        enumerated = [list_values(schema) for schema in schemas if list_types(schema) & _SCALARS]
        enum = () if None in enumerated else dict.fromkeys(value for values in enumerated for value in values or ())
        return Fact(
            part=part,
            path=path,
            types=tuple(sorted(types - {"null"})),
            format=next((schema["format"] for schema in schemas if "format" in schema), None),
            range=merge(interval for schema in schemas for interval in _range(schema)),
            enum=tuple(value for value in enum if value is not None),
            default=next((schema["default"] for schema in schemas if "default" in schema), UNSTATED),
            nullable="null" in types,
            required=required,
            length=_sizes([s for s in schemas if "string" in list_types(s)], "Length"),
            items=_sizes([s for s in schemas if "array" in list_types(s)], "Items"),
            characters=_upper_limit(schemas, "x-maxCharacters"),
            media_bytes=_upper_limit(schemas, "x-maxMediaBytes"),
            formats=tuple(sorted({name for schema in schemas for name in schema.get("x-mediaFormats", ())})),
        )

    def below(self, part: Part, path: str, forms: Sequence[_Form]) -> Iterator[ContractFact]:
        """Yield the facts of the elements and fields of all alternatives."""
        inner: dict[str, list[_Form]] = {}
        for form in forms:
            schema, tree_path = form.schema, form.tree_path
            for name, item in schema.get("properties", {}).items():
                step = f"{path}.{name}" if path else name
                inner.setdefault(step, []).extend(self.forms(item, f"{tree_path}/properties/{name}", form.source))
            for keyword, step in (("items", f"{path}[]"), ("additionalProperties", f"{path}.*")):
                if isinstance(schema.get(keyword), dict):
                    inner.setdefault(step, []).extend(
                        self.forms(schema[keyword], f"{tree_path}/{keyword}", form.source)
                    )
        for step, forms_of_step in inner.items():
            below = list(
                {form.tree_path: form for form in forms_of_step}.values()
            )  # a schema may be referenced several times
            name = step.rpartition(".")[2]
            required = None if step.endswith(("[]", ".*")) else _required(name, [form.schema for form in forms])
            tree_paths = tuple(dict.fromkeys(form.tree_path for form in below))
            yield ContractFact(self.fact(part, step, below, required), below[0].source, tree_paths)
            yield from self.below(part, step, below)


def list_types(schema: Schema) -> set[str]:
    """Return the types of a schema, or those of its values if it has no `type`."""
    declared = schema.get("type")
    if declared is not None:
        return {declared} if isinstance(declared, str) else set(declared)
    names = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return {names[type(value)] for value in list_values(schema) or ()}


def list_values(schema: Schema) -> list[Any] | None:
    """Return the only values that a schema accepts, or None if it does not enumerate them."""
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _range(schema: Schema) -> Iterator[Interval]:
    if not list_types(schema) & {"integer", "number"} or list_values(schema) is not None:
        return
    low, high = (schema.get(f"exclusive{end}", schema.get(end.lower())) for end in ("Minimum", "Maximum"))
    if low is None and high is None:
        return
    whole = Interval(
        None if low is None else exact_number(low),
        None if high is None else exact_number(high),
        "exclusiveMinimum" in schema,
        "exclusiveMaximum" in schema,
    )
    hole = schema.get("not", {}).get("const")
    if hole is None:
        yield whole
    else:
        yield Interval(whole.low, exact_number(hole), whole.low_open, high_open=True)
        yield Interval(exact_number(hole), whole.high, low_open=True, high_open=whole.high_open)


def _sizes(schemas: Sequence[Schema], of: str) -> Range:
    """Return the sizes that the alternatives accept; an enumerated string has its own length."""
    intervals = []
    for schema in schemas:
        values = list_values(schema)
        if values is None:
            intervals.append(Interval(schema.get(f"min{of}", 0), schema.get(f"max{of}")))
        elif any(list_values(other) is None for other in schemas):
            intervals += [Interval(len(value), len(value)) for value in values if isinstance(value, str)]
    sizes = merge(intervals)
    return () if sizes == (Interval(0),) else sizes


def _upper_limit(schemas: Sequence[Schema], keyword: str) -> Range:
    return tuple(dict.fromkeys(Interval(0, schema[keyword]) for schema in schemas if keyword in schema))


def _required(name: str, schemas: Sequence[Schema]) -> str:
    """Return whether a field is required: by all alternatives, by none, or by those with a certain discriminator."""
    objects = [schema for schema in schemas if "properties" in schema]
    requiring = [schema for schema in objects if name in schema.get("required", ())]
    if len(requiring) in (0, len(objects)):
        return "yes" if requiring else "no"
    discriminators = [
        key for key in objects[0]["properties"] if all("const" in s["properties"].get(key, {}) for s in objects)
    ]
    tag = discriminators[0] if discriminators else None
    if tag is None:
        return "by some forms"
    without = [schema for schema in objects if schema not in requiring and name in schema["properties"]]
    if not without:
        return f"when {tag}={'|'.join(sorted({str(schema['properties'][tag]['const']) for schema in requiring}))}"
    alternatives = {
        other for schema in without for branch in schema.get("anyOf", ()) for other in branch.get("required", ())
    } - {name}
    values = "|".join(sorted(str(schema["properties"][tag]["const"]) for schema in without))
    return f"unless {tag}={values}" + "".join(f" and {other}" for other in sorted(alternatives))
