"""Blind faults of HTTP: models whose names have a slash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.hooks import CannedResponse
from reference_server.faults.http_gate import answer_matching

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Scope

    from openapi.contract.contract import Contract
    from reference_server.faults.http_gate import App

ENCODED: Final = b"%2F"


def _names_have_slashes(contract: Contract) -> bool:
    return bool(contract.models_path) and "/" in contract.default_model


@wrapping_fault("encoded-slashes-not-found", applies_to=_names_have_slashes)
def encoded_slashes_not_found(app: ASGIApp, contract: Contract) -> App:
    """A model is not found by its name if the slash in it is percent-encoded, as clients send it."""
    status, body = contract.errors.render("unknown_model", "the model does not exist")

    def is_encoded(scope: Scope) -> bool:
        path = scope.get("raw_path") or b""
        return scope["type"] == "http" and scope["path"].startswith(f"{contract.models_path}/") and ENCODED in path

    return answer_matching(app, is_encoded, CannedResponse(status, orjson.dumps(body)))
