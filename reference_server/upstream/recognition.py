"""Recognition of an upstream: its kind, and its name for its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.contract import load, names
from reference_server.upstream.answer_fields import is_count
from reference_server.upstream.client.connection import UpstreamFailure, UpstreamTimeout
from reference_server.upstream.client.probe_client import ProbeClient
from reference_server.upstream.kind import FILES, kind_from_contract, load_kind, recognition_marks

if TYPE_CHECKING:
    from reference_server.upstream.client.server import UpstreamServer
    from reference_server.upstream.kind import UpstreamKind

AUTO: Final = "auto"
SELF_DESCRIBING: Final = "chatproof"
MODELS: Final = "/v1/models"
DESCRIPTION: Final = "/openapi.json"
BY_OWNER: Final = {"mindie server": "mindie-2.3"}
"""Dialects by the owner that the vendor's server gives for its models."""


class UnknownUpstreamError(Exception):
    """The kind of an upstream or the name of its model is unknown; the message is one line for the operator."""


@dataclass(frozen=True, slots=True)
class RecognisedUpstream:
    """The kind of an upstream, its name for its model, and the size of its context in tokens if it lists that."""

    kind: UpstreamKind
    model: str
    context: int | None = None


async def recognise(server: UpstreamServer, kind_name: str, model: str | None) -> RecognisedUpstream:
    """Ask a server for its kind and its model, as far as the operator has not named them.

    kind_name: name of a kind, `chatproof` for a server that describes itself, or `auto`.
    model: name of the model; None: the first model that the server lists.
    Raises UnknownUpstreamError, and UpstreamFailure if the server cannot be asked.
    """
    kind = load_kind(kind_name) if kind_name not in (AUTO, SELF_DESCRIBING) else None
    async with ProbeClient(server) as client:
        description = await _get_description(client) if kind is None else {}
        if kind is None:
            kind = _kind_from_description(description)
        listed = await client.get_json(kind.models_path if kind is not None else MODELS)
    rows = listed.get("data")
    first = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
    if kind is None and kind_name == AUTO:
        kind = _kind_from_marks(str(first.get("owned_by", "")).lower(), description)
    if kind is None:
        raise UnknownUpstreamError(
            f"cannot recognise the upstream {server.address}: name its kind with --upstream-kind"
        )
    name = model or first.get("id")
    if not isinstance(name, str) or not name:
        raise UnknownUpstreamError(f"the upstream {server.address} lists no model: name one with --upstream-model")
    row = next((row for row in rows if isinstance(row, dict) and row.get("id") == name), {}) if rows else {}
    return RecognisedUpstream(kind, name, _read_context(row))


async def _get_description(client: ProbeClient) -> dict[str, Any]:
    """Return the upstream's description, or an empty dict if it takes too long: vLLM needs seconds to make its own."""
    try:
        return await client.get_json(DESCRIPTION)
    except UpstreamTimeout:
        return {}


def _read_context(row: dict[str, Any]) -> int | None:
    """Return the size of a model's context in tokens, as vLLM, SGLang and llama.cpp list it."""
    meta = row.get("meta")
    values = (row.get("max_model_len"), meta.get("n_ctx") if isinstance(meta, dict) else None)
    return next((value for value in values if is_count(value) and value), None)


def _kind_from_description(description: dict[str, Any]) -> UpstreamKind | None:
    """Return the kind of a server whose description names its dialect and capabilities, as that of chatproof does."""
    info = description.get("info")
    dialect = info.get("x-dialect") if isinstance(info, dict) else None
    if not isinstance(info, dict) or dialect not in names():
        return None
    contract = load(dialect)
    declared = info.get("x-capabilities")
    available = set(declared) if isinstance(declared, list) else set(contract.capabilities)
    return kind_from_contract(contract.without(set(contract.capabilities) - available))


def _kind_from_marks(owner: str, description: dict[str, Any]) -> UpstreamKind | None:
    if owner in BY_OWNER:
        return load_kind(BY_OWNER[owner])
    paths = description.get("paths")
    for name in FILES:
        marks = recognition_marks(name)
        if marks.get("owned_by") == owner or (isinstance(paths, dict) and marks.get("path") in paths):
            return load_kind(name)
    return None


__all__ = ["AUTO", "SELF_DESCRIBING", "RecognisedUpstream", "UnknownUpstreamError", "UpstreamFailure", "recognise"]
