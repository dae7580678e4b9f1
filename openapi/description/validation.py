"""Validate instances against the schemas of a description, and whole requests through openapi-core.

The result is a tuple of `Problem`: the path, the violated keyword and its bound, and one sentence that tells a client
what to change. Messages never quote the whole body. A validator is compiled when it is first used, and openapi-core is
imported only for `Validator.refusals`, so that a process that only judges answers pays for neither.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from openapi.description.body_request import BodyRequest
from openapi.description.description import REQUEST, describe
from openapi.description.schema_outline import SchemaOutline
from openapi.schema.excerpt import find_errors
from openapi.schema.json_schema import REFERENCE, reachable
from openapi.schema.problem import Problem, describe_errors
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.contract.contract import Contract
    from openapi.description.request_validation import Operations
    from openapi.schema.json_schema import Schema, Schemas

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MAX_DEPTH = 255  # levels of nesting that jsonschema-rs supports


class _MaxCharacters:
    """The keyword `x-maxCharacters`: the maximum number of characters in all strings inside a value.

    The values of the fields that `x-uncounted` lists do not count.
    """

    def __init__(self, parent: Mapping[str, Any], value: int, _path: list[Any]) -> None:
        self.limit = value
        self._uncounted = frozenset(parent.get("x-uncounted", ()))

    def validate(self, instance: object) -> None:
        """Raise ValueError if the strings have more characters than allowed."""
        count = _count_characters(instance, self._uncounted)
        if count > self.limit:
            raise ValueError(f"has {count} characters in total, more than the {self.limit} allowed")


class _Json:
    """The keyword `x-json` of our own limits: whether a string must contain JSON, and not only begin like it."""

    def __init__(self, _parent: Mapping[str, Any], value: bool, _path: list[Any]) -> None:
        self.required = value

    def validate(self, instance: object) -> None:
        """Raise ValueError if a string is not JSON."""
        if self.required and isinstance(instance, str) and read_json(instance).error:
            raise ValueError("must contain JSON")


def _count_characters(value: object, uncounted: frozenset[str]) -> int:
    count, pending = 0, [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            count += len(item)
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, dict):
            pending.extend(inner for name, inner in item.items() if name not in uncounted)
    return count


def compile_part(document: Mapping[str, Any], schema: Schema) -> jsonschema_rs.Validator:
    """Compile a schema inside an OpenAPI document alone, with those it refers to: that is a small part of all."""
    named = document["components"]["schemas"]
    needed: Schemas = {name: named[name] for name in reachable((schema,), named)}
    return _compile({"$schema": DIALECT, **schema, "components": {"schemas": needed}})


def compile_schema(document: Mapping[str, Any], pointer: str) -> jsonschema_rs.Validator:
    """Compile the schema at a JSON pointer into an OpenAPI document, with support for our own keywords."""
    parts = {key: document[key] for key in ("components", "paths") if key in document}
    root = {"$schema": DIALECT, "$ref": pointer, **parts}
    return _compile(root)


def _compile(root: dict[str, Any]) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(root, keywords={"x-maxCharacters": _MaxCharacters, "x-json": _Json})


class Validator:
    """Validates requests and answers against one contract. Create one per contract; threads may share it."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.document = describe(contract)
        self._compiled: dict[str, jsonschema_rs.Validator] = {}
        self._outlines: dict[str, SchemaOutline] = {}

    def prepare(self) -> None:
        """Import openapi-core and compile the request schemas now, so that the first request does not wait for it."""
        self.refusals(BodyRequest(self.contract.path, b"{}"))

    def refusals(self, request: BodyRequest) -> tuple[Problem, ...]:
        """Validate a request through openapi-core; return nothing if it is valid. The body must be JSON."""
        problems: list[Problem] = []
        try:
            for reason, errors in self._operations.refusals(request):
                if errors:
                    problems += describe_errors(errors, self.document)
                else:
                    problems.append(Problem("", reason, None, "the path, method or media type is not supported"))
        except ValueError as error:
            return _too_deep(error)
        return tuple(problems)

    def problems(self, schema: str, instance: object) -> tuple[Problem, ...]:
        """Validate an instance against a schema of the description by its name, such as `ChatCompletionChunk`."""
        if schema not in self.document["components"]["schemas"]:
            raise KeyError(f"the description has no schema {schema!r}")
        try:
            return describe_errors(find_errors(self._at(f"{REFERENCE}{schema}"), instance), self.document)
        except ValueError as error:
            return _too_deep(error)

    def request_problems(self, body: object) -> tuple[Problem, ...]:
        """Validate a request body, without the HTTP request around it."""
        return self.problems(REQUEST, body)

    def outline(self, schema: str) -> SchemaOutline:
        """Return the outline of a schema of the description, by its name."""
        if schema not in self._outlines:
            named = self.document["components"]["schemas"]
            self._outlines[schema] = SchemaOutline(named, [named[schema]])
        return self._outlines[schema]

    def _at(self, pointer: str) -> jsonschema_rs.Validator:
        if pointer not in self._compiled:
            self._compiled[pointer] = compile_schema(self.document, pointer)
        return self._compiled[pointer]

    @cached_property
    def _operations(self) -> Operations:
        from openapi.description.request_validation import Operations

        return Operations(self.document, self._at)


def _too_deep(error: ValueError) -> tuple[Problem, ...]:
    """Convert the ValueError that jsonschema-rs raises when a value nests too deeply; re-raise any other."""
    if "Recursion limit" not in str(error):
        raise error
    return (Problem("", "depth", MAX_DEPTH, f"the body nests deeper than {MAX_DEPTH} levels"),)
