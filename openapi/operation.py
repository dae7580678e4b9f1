"""Requests held against the operations of a description, through openapi-core with jsonschema-rs behind it.

openapi-core finds the operation and the media type. Its own schema backend costs milliseconds and stops at the first
fault, so compiled validators stand in for it. Importing openapi-core takes ten times as long as reading a dialect:
only who is sent requests imports this module.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from openapi_core import Config, OpenAPI
from openapi_core.datatypes import RequestParameters
from openapi_core.validation.schemas.exceptions import InvalidSchemaValue
from openapi_core.validation.schemas.factories import DialectSchemaValidatorsFactory
from openapi_core.validation.schemas.validators import SchemaValidator
from openapi_schema_validator import OAS32_BASE_DIALECT_ID, OAS32Validator

from openapi.excerpt import errors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import jsonschema_rs

    from openapi.validation import BodyRequest

    Compile = Callable[[str], jsonschema_rs.Validator]
    Refusal = tuple[str, tuple[jsonschema_rs.ValidationError, ...]]


class Operations:
    """The operations of one description, as openapi-core knows them. Safe to share between threads."""

    def __init__(self, document: Mapping[str, Any], compile_pointer: Compile) -> None:
        """`compile_pointer` gives the validator of the schema at a pointer into the document."""
        # Keys are asked for before a body is read (`reference_server/admission.py`), so not here once more.
        unlocked = {key: value for key, value in document.items() if key != "security"}
        unlocked["paths"] = _without_security(document["paths"])
        # Descriptions are checked by the tests that commit them: once more in every start would cost 50 ms.
        config = Config(spec_validator_cls=None, schema_validators_factory=_RustFactory(compile_pointer))
        self._openapi = OpenAPI.from_dict(unlocked, config=config)

    def refusals(self, request: BodyRequest) -> Iterator[Refusal]:
        """Each reason to refuse a request: its class, and the broken keywords where the body is the reason.

        Raises ValueError where the body nests deeper than the validator follows.
        """
        for reason in self._openapi.iter_request_errors(cast("Any", _Read.of(request))):
            cause = reason.__cause__
            errors = cause.schema_errors if isinstance(cause, InvalidSchemaValue) else ()
            yield type(reason).__name__, cast("tuple[jsonschema_rs.ValidationError, ...]", tuple(errors))


@dataclass(frozen=True, slots=True)
class _Read:
    """A request in the form that openapi-core reads."""

    path: str
    body: bytes | None
    method: str
    content_type: str
    host_url: str = "http://localhost"
    parameters: RequestParameters = field(default_factory=RequestParameters)

    @classmethod
    def of(cls, request: BodyRequest) -> _Read:
        return cls(request.path, request.body, request.method, request.content_type)


class _RustValidator(SchemaValidator):
    """openapi-core's view of one schema, checked by jsonschema-rs."""

    rust: jsonschema_rs.Validator

    def validate(self, value: Any) -> None:
        errors = tuple(errors_of(self.rust, value))
        if errors:
            raise InvalidSchemaValue("<body>", "object", schema_errors=cast("Iterable[Any]", errors))


class _RustFactory(DialectSchemaValidatorsFactory):
    """Gives openapi-core a compiled validator per schema, once."""

    def __init__(self, compile_pointer: Compile) -> None:
        super().__init__(OAS32Validator, OAS32_BASE_DIALECT_ID)
        self.compile_pointer = compile_pointer
        self.made: dict[str, _RustValidator] = {}

    def create(self, spec: Any, schema: Any, *args: Any, **kwargs: Any) -> SchemaValidator:
        pointer = "#/" + "/".join(str(part).replace("~", "~0").replace("/", "~1") for part in schema.parts)
        if pointer not in self.made:
            slow = super().create(spec, schema, *args, **kwargs)
            fast = _RustValidator(slow.schema, slow.validator)
            fast.rust = self.compile_pointer(pointer)
            self.made[pointer] = fast
        return self.made[pointer]


def _without_security(paths: Mapping[str, Any]) -> dict[str, Any]:
    return {
        path: {
            method: {key: value for key, value in operation.items() if key != "security"}
            for method, operation in operations.items()
        }
        for path, operations in paths.items()
    }
