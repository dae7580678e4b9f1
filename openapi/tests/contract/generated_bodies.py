"""Random request bodies to compare validators with: generated from a dialect's description, half of them mutated.

The same seed gives the same bodies. The generator does not know which bodies are valid.
"""

from __future__ import annotations

import copy
import json
from random import Random
from typing import TYPE_CHECKING, Any

from openapi.description.description import REQUEST, describe
from openapi.schema.json_schema import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.contract.contract import Contract

OTHER_VALUES: tuple[Any, ...] = (None, True, False, 0, 1, -1, 1.5, 2**63, 2**64, "", "x", "1", [], [None], {}, {"x": 1})
WORDS = ("Hello!", "你好", "stop", "a\u2028b", "0", "user", "\U0001f600")
UNKNOWN = "chatproof_unknown"
LONGEST = 20_000  # characters of JSON; longer bodies find nothing that shorter ones do not


def bodies(contract: Contract, seed: int) -> Iterator[Any]:
    """Yield distinct bodies without end: generated at random, half of them mutated."""
    schemas = describe(contract)["components"]["schemas"]
    random = Random(f"{contract.name} {seed}")
    generator = _Generator(random, schemas)
    known: set[str] = set()
    while True:
        body = generator.generate(schemas[REQUEST])
        if random.random() < 0.5:
            body = generator.mutate(body)
        shown = json.dumps(body, sort_keys=True)
        if shown not in known and len(shown) <= LONGEST:
            known.add(shown)
            yield body


class _Generator:
    """Generates values of schemas, most of them valid."""

    def __init__(self, random: Random, schemas: Mapping[str, Any]) -> None:
        self.random = random
        self.schemas = schemas

    def generate(self, schema: Any, depth: int = 0) -> Any:
        if not isinstance(schema, dict):
            return self.random.choice(OTHER_VALUES)
        if "$ref" in schema:
            return self.generate(self.schemas[schema["$ref"].removeprefix(REFERENCE)], depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        if schema.get("examples") and self.random.random() < 0.3:
            return copy.deepcopy(self.random.choice(schema["examples"]))
        for key in ("anyOf", "oneOf"):
            if key in schema:
                branch = self.random.choice(schema[key])
                rest = {name: value for name, value in schema.items() if name not in (key, "examples")}
                return self.generate(self._merge(rest, branch), depth)
        kind = schema.get("type", "string")
        match self.random.choice(kind) if isinstance(kind, list) else kind:
            case "boolean":
                return self.random.random() < 0.5
            case "integer":
                return self._number(schema, whole=True)
            case "number":
                return self._number(schema, whole=False)
            case "array":
                return self._list(schema, depth)
            case "object":
                return self._object(schema, depth)
            case "null":
                return None
        return self._text(schema)

    def _merge(self, schema: dict[str, Any], branch: dict[str, Any]) -> dict[str, Any]:
        """Merge a schema with one of its branches, which overrides the properties of the schema."""
        if "$ref" in branch:
            branch = self.schemas[branch["$ref"].removeprefix(REFERENCE)]
        required = [*schema.get("required", ()), *branch.get("required", ())]
        properties = dict(schema.get("properties", {}))
        for name, value in branch.get("properties", {}).items():
            known = properties.get(name, {})
            properties[name] = value if "$ref" in known else {**known, **value}
        return {**schema, **branch, "required": required, "properties": properties}

    def _number(self, schema: dict[str, Any], *, whole: bool) -> Any:
        low = schema.get("minimum", schema.get("exclusiveMinimum", -1000))
        high = schema.get("maximum", schema.get("exclusiveMaximum", 1000))
        if whole:
            return self.random.choice((low, low + 1, high, high - 1, self.random.randint(int(low), int(high))))
        return self.random.choice((low, high, round(self.random.uniform(low, high), 3)))

    def _text(self, schema: dict[str, Any]) -> str:
        text = " ".join(self.random.choices(WORDS, k=self.random.randint(0, 3)))
        if "maxLength" in schema and self.random.random() < 0.1:
            text = "x" * (schema["maxLength"] + self.random.randint(-1, 1))
        return text or "x" * schema.get("minLength", 0)

    def _list(self, schema: dict[str, Any], depth: int) -> list[Any]:
        fewest = schema.get("minItems", 0)
        most = min(schema.get("maxItems", fewest + 3), fewest + 3)
        count = self.random.randint(fewest, most if depth < 8 else fewest)
        return [self.generate(schema.get("items", True), depth + 1) for _ in range(count)]

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        known = schema.get("properties", {})
        optional = [name for name in known if name not in schema.get("required", ())]
        chosen = self.random.sample(optional, k=self.random.randint(0, min(4, len(optional)))) if depth < 8 else []
        named = [*schema.get("required", ()), *chosen]
        generated = {name: self.generate(known.get(name, True), depth + 1) for name in dict.fromkeys(named)}
        other = schema.get("additionalProperties", False)
        if isinstance(other, dict) and self.random.random() < 0.5:
            generated[self.random.choice(WORDS)] = self.generate(other, depth + 1)
        return generated

    def mutate(self, body: Any) -> Any:
        """Copy a body with one change: another value, a field removed or added, an item repeated, or a number moved."""
        root = [copy.deepcopy(body)]
        places: list[tuple[Any, Any]] = [(root, 0)]
        for holder, key in places:
            value = holder[key]
            if isinstance(value, dict):
                places += [(value, name) for name in value]
            elif isinstance(value, list):
                places += [(value, at) for at in range(len(value))]
        holder, key = self.random.choice(places)
        value = holder[key]
        match self.random.randint(0, 3):
            case 0 if isinstance(holder, dict):
                del holder[key]
            case 1 if isinstance(value, dict):
                value[UNKNOWN] = self.random.choice(OTHER_VALUES)
            case 2 if isinstance(value, list) and value:
                value.append(copy.deepcopy(value[0]))
            case 3 if isinstance(value, (int, float)) and not isinstance(value, bool):
                holder[key] = value + self.random.choice((-1, 1, -0.5, 0.5))
            case _:
                holder[key] = self.random.choice(OTHER_VALUES)
        return root[0]
