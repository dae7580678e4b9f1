"""Read the chat-completions interface that an OpenAPI description states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi.contract.parameter import ABSENT
from openapi.contract.tree.yaml_file import ContractError
from openapi.importing.chat_operation import find_chat_operation, find_models_path
from openapi.importing.interface import StatedInterface, StatedParameter
from openapi.importing.schemas.described_facts import DEFAULT_NOTE
from openapi.importing.schemas.references import follow
from openapi.importing.schemas.schema_reading import COMBINED, SchemaReader
from openapi.importing.todo import Todo
from openapi.schema.json_schema import dereference
from openapi.schema.null_values import split_null

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.importing.chat_operation import ChatOperation
    from openapi.schema.json_schema import Schema

STREAM_TYPE: Final = "text/event-stream"
VERSIONS: Final = ("3.0", "3.1", "3.2")


def is_description(document: Any) -> bool:
    """Return whether a parsed file is an OpenAPI description, of a supported version or not."""
    return isinstance(document, dict) and ("openapi" in document or "swagger" in document)


def read_interface(document: Mapping[str, Any], name: str, path: str | None = None) -> StatedInterface:
    """Read the chat operation of a description, the one at `path` or the one with the shortest path.

    Raises ContractError, in one line, for another version, without a chat operation, and for invalid references.
    """
    version = str(document.get("openapi", document.get("swagger", "")))
    if not version.startswith(VERSIONS):
        raise ContractError(f"{name}: OpenAPI {version} is not supported: expected {', '.join(VERSIONS)}")
    chat = find_chat_operation(document, name, path)
    reader = SchemaReader(document)
    info = document.get("info") if isinstance(document.get("info"), dict) else {}
    interface = StatedInterface(
        str((info or {}).get("title") or name), str((info or {}).get("version") or "undated"), path=chat.path
    )
    if chat.others:
        interface.todos.append(
            Todo("endpoint", chat.pointer, f"other chat operations: {', '.join(chat.others)}", quoted=False)
        )
    interface.models_path = find_models_path(document, chat)
    _read_auth(document, chat, interface)
    unsupported = (info or {}).get("x-unsupported")
    interface.unsupported = [str(item) for item in unsupported] if isinstance(unsupported, list) else []
    _read_request(document, chat, reader, interface, name)
    _read_answers(document, chat, reader, interface)
    interface.schemas = reader.schemas
    interface.todos += reader.todos
    interface.prose += reader.prose
    return interface


def _read_request(
    document: Mapping[str, Any], chat: ChatOperation, reader: SchemaReader, interface: StatedInterface, name: str
) -> None:
    pointer = f"{chat.pointer}/requestBody"
    body, place = follow(document, chat.operation.get("requestBody"), pointer)
    media = _media(document, body, place)
    node = next((item for kind, item in media.items() if "json" in kind), None)
    if node is None or not isinstance(node[0], dict) or "schema" not in node[0]:
        raise ContractError(f"{name}: {chat.pointer}: no schema of the request: expected a requestBody in JSON")
    schema = reader.read(node[0]["schema"], f"{node[1]}/schema", "")
    request = _Request(reader)
    request.add(schema, f"{node[1]}/schema")
    interface.parameters = request.parameters


class _Request:
    """Collects the parameters of a request body, which may be described by several alternatives."""

    def __init__(self, reader: SchemaReader) -> None:
        self.parameters: dict[str, StatedParameter] = {}
        self._reader = reader

    def add(self, schema: Schema, pointer: str) -> None:
        schema = dereference(schema, self._reader.schemas)
        alternatives = [
            dereference(branch, self._reader.schemas) for key in ("anyOf", "oneOf") for branch in schema.get(key, ())
        ]
        fields: dict[str, list[Schema]] = {name: [field] for name, field in schema.get("properties", {}).items()}
        required = set(schema.get("required", ()))
        if not fields:
            objects = [branch for branch in alternatives if "properties" in branch]
            for branch in objects:
                for name, field in branch["properties"].items():
                    fields.setdefault(name, []).append(field)
            required |= set.intersection(*(set(branch.get("required", ())) for branch in objects)) if objects else set()
        elif alternatives and not _accepts_anything(alternatives):
            self._reader.add_todo("request", pointer, "which parameters may be combined (anyOf, oneOf)")
        for key in (*COMBINED, "not", "patternProperties", "propertyNames"):
            if key in schema:
                self._reader.add_todo("request", f"{pointer}/{key}", "which parameters may be combined: add rules")
        if schema.get("additionalProperties") is False:
            self._reader.add_todo("request", pointer, "unknown parameters are not allowed (additionalProperties)")
        for name, forms in fields.items():
            self.parameters[name] = self._parameter(name, forms, name in required, pointer)

    def _parameter(self, name: str, forms: list[Schema], required: bool, pointer: str) -> StatedParameter:
        schema = _join(forms)
        schema, nullable = split_null(schema)
        if "$ref" in schema:
            target, inner = split_null(self._reader.schemas[schema["$ref"].rpartition("/")[2]])
            if inner:
                schema, nullable = {**target, **{k: v for k, v in schema.items() if k != "$ref"}}, True
        if "oneOf" in schema and not {"anyOf", "properties"} & set(schema):  # null is added to anyOf
            schema = {"anyOf" if key == "oneOf" else key: value for key, value in schema.items()}
        default, note = schema.pop("default", ABSENT), schema.pop(DEFAULT_NOTE, None)
        note = None if default is not ABSENT else note
        return StatedParameter(name, schema, required, nullable, default, note, place=f"{pointer}/properties/{name}")


def _join(forms: list[Schema]) -> Schema:
    """Return a schema of the values that one of the forms accepts."""
    distinct = [form for at, form in enumerate(forms) if form not in forms[:at]]
    if len(distinct) == 1:
        return distinct[0]
    plain = [{key: value for key, value in form.items() if key != "default"} for form in distinct]
    defaults = [form["default"] for form in distinct if "default" in form]
    shared = {"default": defaults[0]} if len({repr(value) for value in defaults}) == 1 else {}
    values = [form.get("enum", [form["const"]] if "const" in form else None) for form in plain]
    if None not in values:
        joined = [value for some in values for value in some or ()]
        if all(isinstance(value, bool) for value in joined) and len(set(joined)) == 2:
            return {"type": "boolean", **shared}
        return {"enum": list(dict.fromkeys(joined)), **shared}
    boolean = [form for form in plain if form.get("type") == "boolean"]
    if len(boolean) == len(plain):
        return {"type": "boolean", **shared}
    return {"anyOf": plain, **shared}


def _accepts_anything(alternatives: list[Schema]) -> bool:
    """Return whether one of two alternatives is valid for any object, because they negate each other."""
    if len(alternatives) != 2:
        return False
    for one, other in (alternatives, alternatives[::-1]):
        fields = one.get("properties", {})
        if len(fields) == 1 and "required" not in one:
            ((name, field),) = fields.items()
            if field == {"not": other.get("properties", {}).get(name)} and other.get("required") == [name]:
                return True
    return False


def _media(document: Mapping[str, Any], holder: Any, pointer: str) -> dict[str, tuple[Any, str]]:
    """Return the content of a body by media type, each with its JSON pointer."""
    content = holder.get("content") if isinstance(holder, dict) else None
    found: dict[str, tuple[Any, str]] = {}
    for kind, item in content.items() if isinstance(content, dict) else ():
        step = str(kind).replace("/", "~1")
        found[str(kind).lower()] = follow(document, item, f"{pointer}/content/{step}")
    return found


def _read_auth(document: Mapping[str, Any], chat: ChatOperation, interface: StatedInterface) -> None:
    demanded = chat.operation.get("security", document.get("security"))
    components = document.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, dict) else None
    if not demanded:
        interface.auth = "none"
        if demanded is None:
            interface.todos.append(
                Todo("auth", chat.pointer, "no security is stated: does the server need a key?", quoted=False)
            )
        return
    names = [name for item in demanded if isinstance(item, dict) for name in item] if isinstance(demanded, list) else []
    kinds = []
    for name in names:
        scheme, _ = follow(document, (schemes or {}).get(name), f"#/components/securitySchemes/{name}")
        kinds.append(scheme if isinstance(scheme, dict) else {})
    if any(_is_bearer(kind) for kind in kinds):
        interface.auth = "bearer"
    else:
        words = ", ".join(f"{kind.get('type')} {kind.get('name', kind.get('scheme', ''))}".strip() for kind in kinds)
        interface.todos.append(Todo("auth", f"{chat.pointer}/security", f"not a bearer key: {words or names}"))


def _is_bearer(scheme: Mapping[str, Any]) -> bool:
    if scheme.get("type") == "http":
        return str(scheme.get("scheme", "")).lower() == "bearer"
    return scheme.get("type") == "apiKey" and str(scheme.get("name", "")).lower() == "authorization"


def _read_answers(
    document: Mapping[str, Any], chat: ChatOperation, reader: SchemaReader, interface: StatedInterface
) -> None:
    responses = chat.operation.get("responses")
    for status, node in responses.items() if isinstance(responses, dict) else ():
        response, place = follow(document, node, f"{chat.pointer}/responses/{status}")
        media = _media(document, response, place)
        if not str(status).startswith("2"):
            interface.errors[str(status)] = None
            continue
        for kind, (item, pointer) in media.items():
            if not isinstance(item, dict):
                continue
            if kind == STREAM_TYPE:
                key = "itemSchema" if "itemSchema" in item else "schema"
                if key in item:
                    interface.chunk = _chunk(reader, item[key], f"{pointer}/{key}")
            elif "json" in kind and "schema" in item:
                interface.answer = reader.read(item["schema"], f"{pointer}/schema", "response")


def _chunk(reader: SchemaReader, node: Any, pointer: str) -> Schema | None:
    """Return the schema of the object in one event of a stream, which may be the field `data` of an event."""
    for inner in _content_schemas(node):
        return reader.read(inner, pointer, "stream")
    if not isinstance(node, dict):
        return None
    schema = reader.read(node, pointer, "stream")
    whole = dereference(schema, reader.schemas)
    data = whole.get("properties", {}).get("data")
    if data is not None and "choices" not in whole["properties"]:
        schema, whole = data, dereference(data, reader.schemas)
    if "properties" in whole:
        return schema
    reader.add_todo("stream", pointer, "the schema of an event is not an object with fields")
    return None


def _content_schemas(node: Any) -> list[Any]:
    """Return the schemas of JSON documents inside strings."""
    if isinstance(node, list):
        return [schema for item in node for schema in _content_schemas(item)]
    if not isinstance(node, dict):
        return []
    own = [node["contentSchema"]] if "contentSchema" in node else []
    return own + [schema for key, item in node.items() if key != "contentSchema" for schema in _content_schemas(item)]
