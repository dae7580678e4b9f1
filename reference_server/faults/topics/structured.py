"""A form of the answer that is asked for and not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.seams import Refused, at_seams

if TYPE_CHECKING:
    from openapi.contract import Contract
    from reference_server.faults.seams import Told

STRUCTURED = ("structured_output",)


def _has_forms(contract: Contract) -> bool:
    return "response_format" in contract.parameters and "structured_output" in contract.capabilities


def _refuse_null(told: Told) -> None:
    if told.sent.get("response_format", "") is None:
        raise Refused("invalid_request", "response_format must not be null")


null_form_refused = at_seams(
    "null-form-refused",
    "`response_format: null` is refused.",
    request=_refuse_null,
    fits=_has_forms,
    declares=STRUCTURED,
    bugs=[110],
)
