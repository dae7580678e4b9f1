"""Contract -> OpenAPI 3.2, and the mechanical 3.1 copy. Pure: the same contract gives the same bytes.

3.2 says `itemSchema` for what one event of a stream holds; 3.1 has no word for it, so its copy puts the same schema
under `schema`, which is how schemathesis and others read it there. `[DONE]` is not JSON, hence the `oneOf` on `data`.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from openapi.parameter import ABSENT

if TYPE_CHECKING:
    from openapi.contract import Contract
    from openapi.parameter import Parameter, Schema

OPENAPI = "3.2.0"
OPENAPI_DOWN = "3.1.1"
STREAM_TYPE = "text/event-stream"
REQUEST = "ChatCompletionRequest"
COMPONENTS = "#/components/schemas/"

KIND_SUMMARY = {
    "invalid_json": "the body is not JSON",
    "invalid_request": "a parameter breaks its description",
    "unknown_model": "no such model is served",
    "prompt_too_long": "the prompt does not fit",
    "unauthorized": "the API key is missing",
    "invalid_key": "the API key is wrong",
    "not_found": "no such path",
    "method_not_allowed": "the path takes another method",
    "too_large": "the body is too large",
    "unsupported_media_type": "the body is not application/json",
    "overloaded": "the server is full or is going down",
    "engine_failure": "the engine failed",
}


def parameter_schema(parameter: Parameter) -> Schema:
    """The schema of a parameter as a request may send it: null included where it is accepted."""
    schema = copy.deepcopy(parameter.schema)
    if parameter.null.expect == "accept":
        schema = _or_null(schema)
    notes: Schema = {"description": parameter.summary, "x-source": parameter.source}
    if parameter.default_note:
        notes["description"] += f" Default: {parameter.default_note}."
    if parameter.default is not ABSENT and not parameter.lacking:
        notes["default"] = parameter.default
    if parameter.capability:
        notes["x-capability"] = parameter.capability
    if parameter.reading:
        notes["x-reading"] = parameter.reading
    return {**notes, **schema}


def _or_null(schema: Schema) -> Schema:
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    kind = schema["type"]
    return {**schema, "type": [*(kind if isinstance(kind, list) else [kind]), "null"]}


def request_schema(contract: Contract) -> Schema:
    """The schema of the request body. Rules across parameters are `dependentSchemas`, each marked with `x-rule`.

    Rules that no schema can say are listed in words under `x-rules`.
    """
    rules: dict[str, list[Schema]] = {}
    for rule in contract.rules.values():
        if rule.trigger and rule.schema:
            marked = {
                **rule.schema,
                "x-rule": {"id": rule.id, "summary": rule.summary},
                "x-source": rule.source,
            }
            rules.setdefault(rule.trigger, []).append(marked)
    schema: Schema = {
        "description": "A request for a chat completion.",
        "type": "object",
        "required": [name for name, parameter in contract.parameters.items() if parameter.required],
        "properties": {name: parameter_schema(parameter) for name, parameter in contract.parameters.items()},
    }
    if rules:
        schema["dependentSchemas"] = {
            trigger: found[0] if len(found) == 1 else {"allOf": found} for trigger, found in rules.items()
        }
    unsaid = [rule for rule in contract.rules.values() if rule.schema is None]
    if unsaid:
        schema["x-rules"] = [{"id": rule.id, "summary": rule.summary, "x-source": rule.source} for rule in unsaid]
    return schema


def event_schema() -> Schema:
    """One event of the stream: the end mark, or a chunk as JSON text."""
    return {
        "type": "object",
        "required": ["data"],
        "properties": {
            "data": {
                "oneOf": [
                    {"const": "[DONE]"},
                    {
                        "type": "string",
                        "not": {"const": "[DONE]"},
                        "contentMediaType": "application/json",
                        "contentSchema": {"$ref": f"{COMPONENTS}ChatCompletionChunk"},
                    },
                ]
            }
        },
    }


def describe(contract: Contract) -> dict[str, Any]:
    """The contract as an OpenAPI 3.2 document."""
    operation: dict[str, Any] = {
        "operationId": "createChatCompletion",
        "summary": "Answer a conversation",
        "description": "Answers plainly, or as an event stream when `stream` is true.",
        "tags": ["chat"],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": f"{COMPONENTS}{REQUEST}"}}},
        },
        "responses": {"200": _answers(), **_refusals(contract)},
    }
    models: dict[str, Any] = {
        "operationId": "listModels",
        "summary": "List the served models",
        "tags": ["models"],
        "responses": {
            "200": {
                "description": "The models that the server answers for.",
                "content": {"application/json": {"schema": {"$ref": f"{COMPONENTS}ModelList"}}},
            }
        },
        "x-source": "openai-api#models",
    }
    document: dict[str, Any] = {
        "openapi": OPENAPI,
        "info": {
            "title": f"Chat completions: {contract.title}",
            "version": contract.document.version,
            "description": (
                f"What {contract.document.vendor} documents for {contract.document.product} "
                f"{contract.document.version}, with every contradiction read as `x-reading` says."
            ),
            "x-dialect": contract.name,
            "x-document": contract.document.id,
            "x-document-sha256": contract.document.sha256,
            "x-capabilities": sorted(contract.capabilities),
        },
        "servers": [{"url": "/"}],
        "tags": [
            {"name": "chat", "description": "Chat completions."},
            {"name": "models", "description": "What is served."},
        ],
        "paths": {contract.path: {"post": operation}, contract.models_path: {"get": models}},
        "components": {
            "schemas": {
                REQUEST: request_schema(contract),
                **copy.deepcopy(dict(contract.schemas)),
                "ErrorEnvelope": copy.deepcopy(contract.errors.schema),
            }
        },
    }
    if contract.unsupported:
        document["info"]["x-unsupported"] = list(contract.unsupported)
    if contract.auth == "bearer":
        document["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
        operation["security"] = models["security"] = [{"bearer": []}]
        models["responses"]["401"] = operation["responses"]["401"]
    return document


def describe_down(contract: Contract) -> dict[str, Any]:
    """The same document as OpenAPI 3.1: `itemSchema` becomes `schema`, nothing else changes."""
    document = describe(contract)
    document["openapi"] = OPENAPI_DOWN
    for path in document["paths"].values():
        for operation in path.values():
            for response in operation["responses"].values():
                for media in response.get("content", {}).values():
                    if "itemSchema" in media:
                        media["schema"] = media.pop("itemSchema")
    return document


def text(document: dict[str, Any]) -> str:
    """The bytes that are committed: two spaces, real characters, a last line end."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _answers() -> dict[str, Any]:
    return {
        "description": "The answer, plain or streamed.",
        "content": {
            "application/json": {"schema": {"$ref": f"{COMPONENTS}ChatCompletion"}},
            STREAM_TYPE: {"itemSchema": event_schema()},
        },
    }


def _refusals(contract: Contract) -> dict[str, Any]:
    kinds: dict[int, list[str]] = {}
    for kind, row in contract.errors.kinds.items():
        if kind in ("unauthorized", "invalid_key") and contract.auth == "none":
            continue
        if kind in ("not_found", "method_not_allowed"):
            continue  # they belong to the server, not to this operation
        kinds.setdefault(row.status, []).append(KIND_SUMMARY[kind])
    return {
        str(status): {
            "description": f"Refused: {'; '.join(dict.fromkeys(found))}.",
            "content": {"application/json": {"schema": {"$ref": f"{COMPONENTS}ErrorEnvelope"}}},
        }
        for status, found in sorted(kinds.items())
    }
