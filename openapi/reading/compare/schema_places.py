"""Find where each named schema of a dialect is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openapi.schema.json_schema import REFERENCE

if TYPE_CHECKING:
    from openapi.reading.compare.delta_placement import DeltaTree
    from openapi.schema.json_schema import Schema, Schemas

ROOTS: Final = {
    "response": "schemas/ChatCompletion",
    "stream": "schemas/ChatCompletionChunk",
    "errors": "errors/schema",
}
"""The schemas of the parts other than the request, by their paths in the tree."""
SEVERAL: Final = ("", "...")
"""The place of a schema that is used in several places."""


class SchemaPlaces:
    """Where each named schema is used: the part of the interface and the path in it, or SEVERAL."""

    def __init__(self, tree: DeltaTree) -> None:
        self.of: dict[str, tuple[str, str]] = {}
        self._schemas: Schemas = tree.get("schemas")
        for name, row in tree.get("parameters").items():
            self._enter(row["schema"], "request", name)
        for part, root in ROOTS.items():
            self._enter(tree.get(root) or {}, part, "")

    def _enter(self, schema: Schema, part: str, at: str) -> None:
        name = str(schema.get("$ref", "")).removeprefix(REFERENCE)
        if name in self._schemas:
            self._use(name, part, at)
        for keyword in ("anyOf", "oneOf", "allOf"):
            for branch in schema.get(keyword, ()):
                self._enter(branch, part, at)
        for field, inner in schema.get("properties", {}).items():
            self._enter(inner, part, join_step(at, field))
        for keyword, step in (("items", "[]"), ("additionalProperties", "*")):
            if isinstance(schema.get(keyword), dict):
                self._enter(schema[keyword], part, join_step(at, step))

    def _use(self, name: str, part: str, at: str) -> None:
        known = self.of.get(name)
        if known in (SEVERAL, (part, at)):
            return
        self.of[name] = (part, at) if known is None else SEVERAL
        self._enter(self._schemas[name], *self.of[name])


def join_step(at: str, step: str) -> str:
    """Return the path one step below another; below a schema with several places, there are several, too."""
    if at == SEVERAL[1]:
        return at
    return f"{at}{step}" if step == "[]" else f"{at}.{step}" if at else step
