"""Recognition: what kind of server an upstream is, and what it calls its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.contract.contract import load, names
from reference_server.upstream.connection import UpstreamFailure
from reference_server.upstream.kind import FILES, kind, kind_of, marks

if TYPE_CHECKING:
    from reference_server.upstream.kind import Kind
    from reference_server.upstream.server import UpstreamServer

AUTO: Final = "auto"
OURS: Final = "chatproof"
MODELS: Final = "/v1/models"
DESCRIPTION: Final = "/openapi.json"
MOST_BYTES: Final = 16 * 2**20
BY_OWNER: Final = {"mindie server": "mindie-2.3"}
"""Dialects by what their vendor's server calls the owner of its models."""


class UnknownUpstreamError(Exception):
    """An upstream that does not say what it is, or what its model is called: one line for the operator."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """What an upstream is. model: what it calls its own."""

    kind: Kind
    model: str


async def recognise(server: UpstreamServer, wanted: str, model: str | None) -> Recognised:
    """What a server says of itself, as far as the operator has not said it: `wanted` is a kind's name, `chatproof` for
    a server that describes itself, or `auto`. Raises UnknownUpstreamError, and UpstreamFailure if it cannot be asked.
    """
    found = kind(wanted) if wanted not in (AUTO, OURS) else None
    description = await _json(server, DESCRIPTION) if found is None else {}
    if found is None:
        found = _self_described(description)
    listed = await _json(server, found.models_path if found is not None else MODELS)
    rows = listed.get("data")
    first = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
    if found is None and wanted == AUTO:
        found = _marked(str(first.get("owned_by", "")).lower(), description)
    if found is None:
        raise UnknownUpstreamError(f"{server.origin} does not say what it is: name it with --upstream-kind")
    name = model or first.get("id")
    if not isinstance(name, str) or not name:
        raise UnknownUpstreamError(f"{server.origin} lists no model: name it with --upstream-model")
    return Recognised(found, name)


def _self_described(description: dict[str, Any]) -> Kind | None:
    """The kind of a server that names its dialect and its capabilities, as ours do."""
    info = description.get("info")
    dialect = info.get("x-dialect") if isinstance(info, dict) else None
    if not isinstance(info, dict) or dialect not in names():
        return None
    contract = load(dialect)
    told = info.get("x-capabilities")
    has = set(told) if isinstance(told, list) else set(contract.capabilities)
    return kind_of(contract.without(set(contract.capabilities) - has))


def _marked(owner: str, description: dict[str, Any]) -> Kind | None:
    if owner in BY_OWNER:
        return kind(BY_OWNER[owner])
    paths = description.get("paths")
    for name in FILES:
        mark = marks(name)
        if mark.get("owned_by") == owner or (isinstance(paths, dict) and mark.get("path") in paths):
            return kind(name)
    return None


async def _json(server: UpstreamServer, path: str) -> dict[str, Any]:
    """The object at a path; an empty one where there is none."""
    reply = await server.get(path)
    body = await reply.whole(MOST_BYTES)
    try:
        value = orjson.loads(body) if reply.status == 200 else {}
    except orjson.JSONDecodeError:
        value = {}
    return value if isinstance(value, dict) else {}


__all__ = ["AUTO", "OURS", "Recognised", "UnknownUpstreamError", "UpstreamFailure", "recognise"]
