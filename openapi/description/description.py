"""Write a contract as an OpenAPI 3.2 document, and as a 3.1 copy. The same contract gives the same bytes.

OpenAPI 3.2 describes one event of a stream with `itemSchema`. Version 3.1 has no such keyword, so its copy puts the
same schema under `schema`, as schemathesis and other tools expect. `data` of an event is a `oneOf`, because `[DONE]` is
not JSON.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from openapi.contract.tree.delta import copy_tree
from openapi.description.examples import KIND_SUMMARY, make_examples
from openapi.description.request_schema import request_schema
from openapi.schema.json_schema import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi.contract.contract import Contract
    from openapi.description.examples import Example, Examples
    from openapi.schema.json_schema import Schema

OPENAPI = "3.2.0"
OPENAPI_31 = "3.1.1"
STREAM_TYPE = "text/event-stream"
REQUEST = "ChatCompletionRequest"
SETTLED = "`x-interpretation` names how a contradiction in the document is settled."
LICENSE = {"name": "Apache-2.0", "identifier": "Apache-2.0"}  # of our wording; facts are not subject to a license


def describe(contract: Contract) -> dict[str, Any]:
    """Write the contract as an OpenAPI 3.2 document."""
    examples = make_examples(contract)
    operation: dict[str, Any] = {
        "operationId": "createChatCompletion",
        "summary": "Create a chat completion",
        "description": "Returns the whole answer, or an event stream if `stream` is true.",
        "tags": ["chat"],
        "requestBody": {
            "required": True,
            "content": {"application/json": _media(REQUEST, examples.requests)},
        },
        "responses": {"200": _answers(examples), **_refusals(contract, examples)},
    }
    models: dict[str, Any] = {
        "operationId": "listModels",
        "summary": "List the available models",
        "description": "Lists the models that requests can name. Not every server supports it.",
        "tags": ["models"],
        "responses": {
            "200": {
                "description": "The available models.",
                "content": {"application/json": _media("ModelList", [examples.models])},
            },
            str(contract.errors.kinds["not_found"].status): _refusal(["not_found"], examples),
        },
        "x-source": "openai-api#models",
    }
    document: dict[str, Any] = {
        "openapi": OPENAPI,
        "info": {
            "title": f"Chat completions: {contract.title}",
            "version": contract.document.version,
            "description": f"{_describe_origin(contract)} {SETTLED}",
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
            {"name": "models", "description": "The available models."},
        ],
        "paths": {contract.path: {"post": operation}, contract.models_path: {"get": models}},
        "components": {
            "schemas": {
                REQUEST: request_schema(contract, examples.parameters),
                **copy_tree(dict(contract.schemas)),
                "ErrorEnvelope": copy_tree(contract.errors.schema),
            }
        },
    }
    if contract.unsupported:
        document["info"]["x-unsupported"] = list(contract.unsupported)
    chunk = document["components"]["schemas"].get("ChatCompletionChunk")
    if chunk is not None:
        chunk["examples"] = [example.value for example in examples.chunks]
    if contract.auth == "bearer":
        scheme = {"type": "http", "scheme": "bearer", "description": "The API key, as a bearer token."}
        document["components"]["securitySchemes"] = {"bearer": scheme}
        operation["security"] = models["security"] = [{"bearer": []}]
        unauthorized = str(contract.errors.kinds["unauthorized"].status)
        models["responses"][unauthorized] = operation["responses"][unauthorized]
    return document


def describe_oas31(contract: Contract) -> dict[str, Any]:
    """Write the contract as an OpenAPI 3.1 document, which differs only in `schema` in place of `itemSchema`."""
    document = describe(contract)
    document["openapi"] = OPENAPI_31
    for path in document["paths"].values():
        for operation in path.values():
            for response in operation["responses"].values():
                for media in response.get("content", {}).values():
                    if "itemSchema" in media:
                        media["schema"] = media.pop("itemSchema")
    return document


def to_json(document: dict[str, Any]) -> str:
    """Serialize a document as it is committed: indented by two spaces, without escapes, with a final newline."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _describe_origin(contract: Contract) -> str:
    """Return which document the description follows."""
    document = contract.document
    if document.kind == "none":
        return f"The interface of {contract.title}, as its dialect file states it."
    return f"The interface that {document.vendor} documents for {document.product} {document.version}."


def _media(schema: str, examples: Iterable[Example]) -> dict[str, Any]:
    """Describe a body by the name of its schema and its examples."""
    return {
        "schema": {"$ref": f"{REFERENCE}{schema}"},
        "examples": {
            example.name: {"summary": example.summary, "value": copy_tree(example.value)} for example in examples
        },
    }


def _answers(examples: Examples) -> dict[str, Any]:
    return {
        "description": "The answer, plain or streamed.",
        "content": {
            "application/json": _media("ChatCompletion", [examples.answer]),
            STREAM_TYPE: {"itemSchema": _event_schema(examples)},
        },
    }


def _event_schema(examples: Examples) -> Schema:
    """Describe one event of the stream: `[DONE]`, or a chunk as a JSON string."""
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
                        "contentSchema": {"$ref": f"{REFERENCE}ChatCompletionChunk"},
                    },
                ]
            }
        },
        "examples": [event.value for event in examples.events],
    }


def _refusals(contract: Contract, examples: Examples) -> dict[str, Any]:
    kinds: dict[int, list[str]] = {}
    for kind, row in contract.errors.kinds.items():
        if kind in ("unauthorized", "invalid_key") and contract.auth == "none":
            continue
        if kind in ("not_found", "method_not_allowed"):
            continue  # errors of the server, not of this operation
        kinds.setdefault(row.status, []).append(kind)
    return {str(status): _refusal(of_status, examples) for status, of_status in sorted(kinds.items())}


def _refusal(kinds: list[str], examples: Examples) -> dict[str, Any]:
    """Describe one error status by the kinds of errors that have it, each with an example."""
    summaries = dict.fromkeys(KIND_SUMMARY[kind] for kind in kinds)
    return {
        "description": f"Error: {'; '.join(summaries)}.",
        "content": {"application/json": _media("ErrorEnvelope", [examples.refusals[kind] for kind in kinds])},
    }
