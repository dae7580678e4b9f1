"""Instances against the description: single schemas directly, requests through openapi-core, both by jsonschema-rs.

What comes out is `Problem`: the place, the broken keyword with its bound, and one sentence a client can act on, never
the whole body. A validator is compiled when it is first asked, and openapi-core is imported for `refusals` alone: who
judges answers pays for neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from openapi.description.description import REQUEST, describe
from openapi.schema.excerpt import errors_of
from openapi.schema.problem import Problem, problems_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.contract.contract import Contract
    from openapi.description.request_validation import Operations

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DEEPEST = 255  # levels that jsonschema-rs follows


class _MaxCharacters:
    """`x-maxCharacters`: the texts inside the value are together at most so many characters long."""

    def __init__(self, _parent: Mapping[str, Any], value: int, _path: list[Any]) -> None:
        self.limit = value

    def validate(self, instance: object) -> None:
        """Raises ValueError with the count when there are more."""
        found = _characters(instance)
        if found > self.limit:
            raise ValueError(f"holds {found} characters, more than the {self.limit} allowed")


def _characters(value: object) -> int:
    count, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            count += len(item)
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())
    return count


def compile_schema(document: Mapping[str, Any], pointer: str) -> jsonschema_rs.Validator:
    """A validator of the schema at `pointer` of an OpenAPI document, our own keywords included."""
    parts = {key: document[key] for key in ("components", "paths") if key in document}
    root = {"$schema": DIALECT, "$ref": pointer, **parts}
    return jsonschema_rs.validator_for(root, keywords={"x-maxCharacters": _MaxCharacters})


@dataclass(frozen=True, slots=True)
class BodyRequest:
    """A request as it came: `body` is the raw bytes, None where there was none."""

    path: str
    body: bytes | None
    method: str = "post"
    content_type: str = "application/json"


class Validator:
    """Holds requests and answers against one contract. Build it once; it is safe to share between threads."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.document = describe(contract)
        self._compiled: dict[str, jsonschema_rs.Validator] = {}

    def prepare(self) -> None:
        """Imports openapi-core and compiles what requests are held against, which the first request pays otherwise."""
        self.refusals(BodyRequest(self.contract.path, b"{}"))

    def refusals(self, request: BodyRequest) -> tuple[Problem, ...]:
        """What is wrong with a request, through openapi-core. Empty: it is valid. The body must be JSON already."""
        found: list[Problem] = []
        try:
            for reason, errors in self._operations.refusals(request):
                if errors:
                    found += problems_of(errors, self.document)
                else:
                    found.append(Problem("", reason, None, "the request does not fit the operation"))
        except ValueError as error:
            return _too_deep(error)
        return tuple(found)

    def problems(self, schema: str, instance: object) -> tuple[Problem, ...]:
        """How an instance breaks a named schema of the description, e.g. `ChatCompletionChunk`."""
        if schema not in self.document["components"]["schemas"]:
            raise KeyError(f"the description has no schema {schema!r}")
        try:
            return problems_of(errors_of(self._at(f"#/components/schemas/{schema}"), instance), self.document)
        except ValueError as error:
            return _too_deep(error)

    def request_problems(self, body: object) -> tuple[Problem, ...]:
        """How a request body breaks the description, without HTTP around it."""
        return self.problems(REQUEST, body)

    def _at(self, pointer: str) -> jsonschema_rs.Validator:
        if pointer not in self._compiled:
            self._compiled[pointer] = compile_schema(self.document, pointer)
        return self._compiled[pointer]

    @cached_property
    def _operations(self) -> Operations:
        from openapi.description.request_validation import Operations

        return Operations(self.document, self._at)


def _too_deep(error: ValueError) -> tuple[Problem, ...]:
    """What jsonschema-rs raises in place of an error where it follows no further."""
    if "Recursion limit" not in str(error):
        raise error
    return (Problem("", "depth", DEEPEST, f"the body nests deeper than {DEEPEST} levels"),)
