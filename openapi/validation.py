"""Instances against the description: requests through openapi-core, single schemas directly, both by jsonschema-rs.

openapi-core finds the operation and the media type; its own schema backend costs milliseconds and stops at the first
fault, so jsonschema-rs stands in for it. What comes out is `Problem`: the place, the broken keyword with its bound,
and one sentence a client can act on, never the whole body.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import jsonschema_rs
from openapi_core import Config, OpenAPI
from openapi_core.datatypes import RequestParameters
from openapi_core.validation.schemas.exceptions import InvalidSchemaValue
from openapi_core.validation.schemas.factories import DialectSchemaValidatorsFactory
from openapi_core.validation.schemas.validators import SchemaValidator
from openapi_schema_validator import OAS32_BASE_DIALECT_ID, OAS32Validator

from openapi.description import REQUEST, describe
from openapi.excerpt import errors_of
from openapi.problem import Problem, problems_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from openapi.contract import Contract

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


class _RustValidator(SchemaValidator):
    """openapi-core's view of one schema, checked by jsonschema-rs."""

    rust: jsonschema_rs.Validator

    def validate(self, value: Any) -> None:
        errors = tuple(errors_of(self.rust, value))
        if errors:
            raise InvalidSchemaValue("<body>", "object", schema_errors=cast("Iterable[Any]", errors))


class _RustFactory(DialectSchemaValidatorsFactory):
    """Gives openapi-core a compiled validator per schema, once."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(OAS32Validator, OAS32_BASE_DIALECT_ID)
        self.document = document
        self.compiled: dict[str, _RustValidator] = {}

    def create(self, spec: Any, schema: Any, *args: Any, **kwargs: Any) -> SchemaValidator:
        pointer = "#/" + "/".join(str(part).replace("~", "~0").replace("/", "~1") for part in schema.parts)
        if pointer not in self.compiled:
            slow = super().create(spec, schema, *args, **kwargs)
            fast = _RustValidator(slow.schema, slow.validator)
            fast.rust = compile_schema(self.document, pointer)
            self.compiled[pointer] = fast
        return self.compiled[pointer]


def compile_schema(document: Mapping[str, Any], pointer: str) -> jsonschema_rs.Validator:
    """A validator of the schema at `pointer` of an OpenAPI document, our own keywords included."""
    parts = {key: document[key] for key in ("components", "paths") if key in document}
    root = {"$schema": DIALECT, "$ref": pointer, **parts}
    return jsonschema_rs.validator_for(root, keywords={"x-maxCharacters": _MaxCharacters})


def _without_security(paths: Mapping[str, Any]) -> dict[str, Any]:
    return {
        path: {
            method: {key: value for key, value in operation.items() if key != "security"}
            for method, operation in operations.items()
        }
        for path, operations in paths.items()
    }


class Validator:
    """Holds requests and answers against one contract. Build it once; it is safe to share between threads."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.document = describe(contract)
        # Keys are asked for before a body is read (`reference_server/admission.py`), so not here once more.
        open_document = {**self.document, "paths": _without_security(self.document["paths"])}
        self._openapi = OpenAPI.from_dict(
            open_document, config=Config(schema_validators_factory=_RustFactory(self.document))
        )
        self._schemas: dict[str, jsonschema_rs.Validator] = {}

    def refusals(self, request: BodyRequest) -> tuple[Problem, ...]:
        """What is wrong with a request, through openapi-core. Empty: it is valid. The body must be JSON already."""
        found: list[Problem] = []
        try:
            refused = tuple(self._openapi.iter_request_errors(cast("Any", request)))
        except ValueError as error:
            return _too_deep(error)
        for reason in refused:
            cause = reason.__cause__
            if isinstance(cause, InvalidSchemaValue):
                found += problems_of(
                    cast("Iterable[jsonschema_rs.ValidationError]", cause.schema_errors), self.document
                )
            else:
                found.append(Problem("", type(reason).__name__, None, "the request does not fit the operation"))
        return tuple(found)

    def problems(self, schema: str, instance: object) -> tuple[Problem, ...]:
        """How an instance breaks a named schema of the description, e.g. `ChatCompletionChunk`."""
        if schema not in self._schemas:
            if schema not in self.document["components"]["schemas"]:
                raise KeyError(f"the description has no schema {schema!r}")
            self._schemas[schema] = compile_schema(self.document, f"#/components/schemas/{schema}")
        try:
            return problems_of(errors_of(self._schemas[schema], instance), self.document)
        except ValueError as error:
            return _too_deep(error)

    def request_problems(self, body: object) -> tuple[Problem, ...]:
        """How a request body breaks the description, without HTTP around it."""
        return self.problems(REQUEST, body)


def _too_deep(error: ValueError) -> tuple[Problem, ...]:
    """What jsonschema-rs raises in place of an error where it follows no further."""
    if "Recursion limit" not in str(error):
        raise error
    return (Problem("", "depth", DEEPEST, f"the body nests deeper than {DEEPEST} levels"),)


@dataclass(frozen=True, slots=True)
class BodyRequest:
    """A request as openapi-core reads it, made from the raw body."""

    path: str
    body: bytes | None
    method: str = "post"
    content_type: str = "application/json"
    host_url: str = "http://localhost"
    parameters: RequestParameters = field(default_factory=RequestParameters)
