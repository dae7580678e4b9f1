"""Contract -> OpenAPI 3.2, and the mechanical 3.1 copy. Pure: the same contract gives the same bytes.

3.2 says `itemSchema` for what one event of a stream holds; 3.1 has no word for it, so its copy puts the same schema
under `schema`, which is how schemathesis and others read it there. `[DONE]` is not JSON, hence the `oneOf` on `data`.
"""

from __future__ import annotations

import copy
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from openapi.contract.parameter import ABSENT
from openapi.description import examples as example

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi.contract.contract import Contract
    from openapi.contract.parameter import Parameter
    from openapi.description.examples import Example
    from openapi.schema.json_schema import Schema

OPENAPI = "3.2.0"
OPENAPI_DOWN = "3.1.1"
STREAM_TYPE = "text/event-stream"
REQUEST = "ChatCompletionRequest"
COMPONENTS = "#/components/schemas/"
LICENSE = {"name": "Apache-2.0", "identifier": "Apache-2.0"}  # of our words; facts have none

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
    if parameter.interpretation:
        notes["x-interpretation"] = parameter.interpretation
    shown = example.values(parameter)
    if shown:
        notes["examples"] = copy.deepcopy(shown)
    return {**notes, **schema}


def _or_null(schema: Schema) -> Schema:
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    allowed = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    if "type" in schema:
        kind = schema["type"]
        allowed["type"] = [*(kind if isinstance(kind, list) else [kind]), "null"]
    return {**schema, **allowed}


def request_schema(contract: Contract) -> Schema:
    """The schema of the request body. Rules across parameters are `dependentSchemas`, each marked with `x-rule`.

    Rules that no schema can say are listed in words under `x-rules`. `anyOf` tells the two ways of being answered
    apart and refuses nothing: a generator makes its cases for each branch, so that what needs a stream is reached.
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
    if "stream" in contract.parameters:
        schema["anyOf"] = _ways(contract.parameters["stream"].source)
    if rules:
        schema["dependentSchemas"] = {
            trigger: found[0] if len(found) == 1 else {"allOf": found} for trigger, found in rules.items()
        }
    unsaid = [rule for rule in contract.rules.values() if rule.schema is None]
    if unsaid:
        schema["x-rules"] = [{"id": rule.id, "summary": rule.summary, "x-source": rule.source} for rule in unsaid]
    return schema


def _ways(source: str) -> list[Schema]:
    """Answered at once, or as a stream. The first is what the second is not, so one of the two always holds."""
    return [
        {"title": "Answered at once", "properties": {"stream": {"not": {"const": True}, "x-source": source}}},
        {
            "title": "Answered as a stream",
            "required": ["stream"],
            "properties": {"stream": {"const": True, "x-source": source}},
        },
    ]


def event_schema(contract: Contract) -> Schema:
    """One event of the stream: the end mark, or a chunk as JSON text."""
    return {
        "description": "One event of the stream.",
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
        "examples": [event.value for event in example.events(contract)],
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
            "content": {"application/json": _media(REQUEST, example.requests(contract))},
        },
        "responses": {"200": _answers(contract), **_refusals(contract)},
    }
    models: dict[str, Any] = {
        "operationId": "listModels",
        "summary": "List the served models",
        "description": "Names what requests may ask for. Not every server has it.",
        "tags": ["models"],
        "responses": {
            "200": {
                "description": "The models that the server answers for.",
                "content": {"application/json": _media("ModelList", [example.models(contract)])},
            },
            str(contract.errors.kinds["not_found"].status): _refused(contract, ["not_found"]),
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
                f"{contract.document.version}, with every contradiction read as `x-interpretation` says."
            ),
            "license": LICENSE,
            "x-dialect": contract.name,
            "x-document": contract.document.id,
            "x-document-sha256": contract.document.sha256,
            "x-capabilities": sorted(contract.capabilities),
            "x-stream": {**asdict(contract.stream), "key_order": list(contract.stream.key_order)},
        },
        "servers": [{"url": "/", "description": "The server that sends this description."}],
        "security": [],
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
    chunk = document["components"]["schemas"].get("ChatCompletionChunk")
    if chunk is not None:
        chunk["examples"] = [each.value for each in example.chunks(contract)]
    if contract.auth == "bearer":
        scheme = {"type": "http", "scheme": "bearer", "description": "The API key, as a bearer token."}
        document["components"]["securitySchemes"] = {"bearer": scheme}
        operation["security"] = models["security"] = [{"bearer": []}]
        unauthorized = str(contract.errors.kinds["unauthorized"].status)
        models["responses"][unauthorized] = operation["responses"][unauthorized]
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


def _media(schema: str, examples: Iterable[Example]) -> dict[str, Any]:
    """A body of one named schema, with its examples."""
    return {
        "schema": {"$ref": f"{COMPONENTS}{schema}"},
        "examples": {each.name: {"summary": each.summary, "value": copy.deepcopy(each.value)} for each in examples},
    }


def _answers(contract: Contract) -> dict[str, Any]:
    return {
        "description": "The answer, plain or streamed.",
        "content": {
            "application/json": _media("ChatCompletion", [example.answer(contract)]),
            STREAM_TYPE: {"itemSchema": event_schema(contract)},
        },
    }


def _refusals(contract: Contract) -> dict[str, Any]:
    kinds: dict[int, list[str]] = {}
    for kind, row in contract.errors.kinds.items():
        if kind in ("unauthorized", "invalid_key") and contract.auth == "none":
            continue
        if kind in ("not_found", "method_not_allowed"):
            continue  # they belong to the server, not to this operation
        kinds.setdefault(row.status, []).append(kind)
    return {str(status): _refused(contract, found) for status, found in sorted(kinds.items())}


def _refused(contract: Contract, kinds: list[str]) -> dict[str, Any]:
    """One status with the kinds of refusal that have it, each as an example."""
    summaries = {kind: KIND_SUMMARY[kind] for kind in kinds}
    shown = [example.refusal(contract, kind, summary) for kind, summary in summaries.items()]
    return {
        "description": f"Refused: {'; '.join(dict.fromkeys(summaries.values()))}.",
        "content": {"application/json": _media("ErrorEnvelope", shown)},
    }
