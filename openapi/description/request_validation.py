"""Validate requests against the operations of a description, with openapi-core and jsonschema-rs.

openapi-core finds the operation and the media type. Its own schema validator takes milliseconds and stops at the first
error, so it is replaced with compiled validators. Importing openapi-core takes ten times as long as loading a dialect,
so this module is imported only by processes that receive requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from jsonschema_path import SchemaPath
from openapi_core.templating.paths.finders import APICallPathFinder
from openapi_core.validation.request.validators import V32RequestBodyValidator
from openapi_core.validation.schemas.exceptions import InvalidSchemaValue
from openapi_core.validation.schemas.factories import DialectSchemaValidatorsFactory
from openapi_core.validation.schemas.validators import SchemaValidator
from openapi_schema_validator import OAS32_BASE_DIALECT_ID, OAS32Validator

from openapi.description.body_request import BodyRequest
from openapi.schema.excerpt import find_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import jsonschema_rs
    from openapi_core.templating.paths.datatypes import PathOperationServer

    Compile = Callable[[str], jsonschema_rs.Validator]
    Refusal = tuple[str, tuple[jsonschema_rs.ValidationError, ...]]


MAX_CACHED_NODES: Final = 4096
"""Nodes of a description that jsonschema_path caches. The path to the schema of a body has a few dozen; with a smaller
cache each request would resolve them again."""


class Operations:
    """The operations of one description, as openapi-core knows them. Threads may share an instance.

    A request is validated by its body alone: keys are checked before the body is read
    (`reference_server/http/admission.py`), and a test asserts that no description has parameters in paths, queries or
    headers.
    """

    def __init__(self, document: Mapping[str, Any], compile_pointer: Compile) -> None:
        """`compile_pointer` returns the validator of the schema at a JSON pointer into the document."""
        self._bodies = V32RequestBodyValidator(
            SchemaPath.from_dict(document, resolved_cache_maxsize=MAX_CACHED_NODES),
            schema_validators_factory=_RustFactory(compile_pointer),
            path_finder_cls=_CachingFinder,
        )
        # One request of each kind fills the caches of openapi-core and of this module, so that threads only read them.
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                for content_type in operation.get("requestBody", {}).get("content", {}):
                    tuple(self._bodies.iter_errors(cast("Any", BodyRequest(path, b"{}", method, content_type))))

    def refusals(self, request: BodyRequest) -> Iterator[Refusal]:
        """Yield each reason to refuse a request: its class name, and the schema errors if the body is invalid.

        Raises ValueError if the body nests deeper than the validator supports.
        """
        for reason in self._bodies.iter_errors(cast("Any", request)):
            cause = reason.__cause__
            errors = cause.schema_errors if isinstance(cause, InvalidSchemaValue) else ()
            yield type(reason).__name__, cast("tuple[jsonschema_rs.ValidationError, ...]", tuple(errors))


class _CachingFinder(APICallPathFinder):
    """Finds operations like openapi-core, which tries every path for each request, but caches the results.

    An unknown path raises and is not cached, so invented paths cannot fill the memory.
    """

    def __init__(self, spec: SchemaPath, base_url: str | None = None) -> None:
        super().__init__(spec, base_url)
        self._cache: dict[tuple[str, str], PathOperationServer] = {}

    def find(self, method: str, name: str) -> PathOperationServer:
        key = method, name
        if key not in self._cache:
            self._cache[key] = super().find(method, name)
        return self._cache[key]


class _RustValidator(SchemaValidator):
    """Adapts a jsonschema-rs validator to openapi-core."""

    rust: jsonschema_rs.Validator

    def validate(self, value: Any) -> None:
        errors = tuple(find_errors(self.rust, value))
        if errors:
            raise InvalidSchemaValue("<body>", "object", schema_errors=cast("Iterable[Any]", errors))


class _RustFactory(DialectSchemaValidatorsFactory):
    """Creates one compiled validator per schema."""

    def __init__(self, compile_pointer: Compile) -> None:
        super().__init__(OAS32Validator, OAS32_BASE_DIALECT_ID)
        self._compile_pointer = compile_pointer
        self._validators: dict[str, _RustValidator] = {}

    def create(self, spec: Any, schema: Any, *args: Any, **kwargs: Any) -> SchemaValidator:
        pointer = "#/" + "/".join(str(part).replace("~", "~0").replace("/", "~1") for part in schema.parts)
        if pointer not in self._validators:
            slow = super().create(spec, schema, *args, **kwargs)
            fast = _RustValidator(slow.schema, slow.validator)
            fast.rust = self._compile_pointer(pointer)
            self._validators[pointer] = fast
        return self._validators[pointer]
