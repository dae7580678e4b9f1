"""Requests held against the operations of a description, through openapi-core with jsonschema-rs behind it.

openapi-core finds the operation and the media type. Its own schema backend costs milliseconds and stops at the first
fault, so compiled validators stand in for it. Importing openapi-core takes ten times as long as reading a dialect:
only who is sent requests imports this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from jsonschema_path import SchemaPath
from openapi_core.templating.paths.finders import APICallPathFinder
from openapi_core.validation.request.validators import V32RequestBodyValidator
from openapi_core.validation.schemas.exceptions import InvalidSchemaValue
from openapi_core.validation.schemas.factories import DialectSchemaValidatorsFactory
from openapi_core.validation.schemas.validators import SchemaValidator
from openapi_schema_validator import OAS32_BASE_DIALECT_ID, OAS32Validator

from openapi.schema.excerpt import errors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import jsonschema_rs
    from openapi_core.templating.paths.datatypes import PathOperationServer

    from openapi.description.validation import BodyRequest

    Compile = Callable[[str], jsonschema_rs.Validator]
    Refusal = tuple[str, tuple[jsonschema_rs.ValidationError, ...]]


MOST_NODES: Final = 4096
"""How many places of a description jsonschema_path remembers once it has resolved them. On the way to the schema of a
body lie a few dozen; with fewer than that each request would resolve them anew."""


class Operations:
    """The bodies that the operations of one description take, as openapi-core knows them. Threads may share it.

    A request is judged by its body alone. Keys are asked for before the body is read
    (`reference_server/http/admission.py`), and no description has parameters in paths,
    queries or headers, which a test holds.
    """

    def __init__(self, document: Mapping[str, Any], compile_pointer: Compile) -> None:
        """`compile_pointer` gives the validator of the schema at a pointer into the document."""
        self._bodies = V32RequestBodyValidator(
            SchemaPath.from_dict(document, resolved_cache_maxsize=MOST_NODES),
            schema_validators_factory=_RustFactory(compile_pointer),
            path_finder_cls=_Finder,
        )
        # One request of each kind fills what openapi-core and we remember, so that threads only read it afterwards.
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                for content_type in operation.get("requestBody", {}).get("content", {}):
                    tuple(self._bodies.iter_errors(cast("Any", _Read(path, b"{}", method, content_type))))

    def refusals(self, request: BodyRequest) -> Iterator[Refusal]:
        """Each reason to refuse a request: its class, and the broken keywords where the body is the reason.

        Raises ValueError where the body nests deeper than the validator follows.
        """
        for reason in self._bodies.iter_errors(cast("Any", _Read.of(request))):
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

    @classmethod
    def of(cls, request: BodyRequest) -> _Read:
        return cls(request.path, request.body, request.method, request.content_type)


class _Finder(APICallPathFinder):
    """openapi-core's finder, which tries every path of the description for each request; this one remembers its finds.

    What is not found raises and is not remembered, so nobody can fill the memory with made-up paths.
    """

    def __init__(self, spec: SchemaPath, base_url: str | None = None) -> None:
        super().__init__(spec, base_url)
        self._found: dict[tuple[str, str], PathOperationServer] = {}

    def find(self, method: str, name: str) -> PathOperationServer:
        key = method, name
        if key not in self._found:
            self._found[key] = super().find(method, name)
        return self._found[key]


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
