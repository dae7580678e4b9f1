"""Faults in which valid numbers at the ends of ranges, or next to them, are refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import (
    has_parameters,
    hooked_fault,
)
from reference_server.faults.hooks import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import ServedRequest


EXPONENT: Final = re.compile(rb"[0-9][eE]-[0-9]")


def _refused(name: str, line: str, is_refused: Callable[[ServedRequest], bool], **options: Any) -> Fault:
    """Make a fault that refuses some valid requests."""

    def refuse(request: ServedRequest) -> None:
        if is_refused(request):
            raise Refusal("invalid_request", "the value is out of range")

    return hooked_fault(name, line, request=refuse, **options)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


small_min_p_refused = _refused(
    "small-min-p-refused",
    "A `min_p` above 0 and below 0.001 is refused.",
    lambda request: _is_number(request.payload.get("min_p")) and 0 < request.payload["min_p"] < 1e-3,
    applies_to=has_parameters("min_p"),
)

exponents_refused = _refused(
    "exponents-refused",
    "Numbers that are written with a negative exponent are refused.",
    lambda request: EXPONENT.search(request.body) is not None,
)

seeds_beyond_57_bits_refused = _refused(
    "seeds-beyond-57-bits-refused",
    "Seeds above 2**57 are refused, except for the greatest one.",
    lambda request: _is_number(request.payload.get("seed")) and 2**57 < request.payload["seed"] < 2**63 - 1,
    bugs=[162],
    applies_to=lambda contract: contract.parameters["seed"].schema.get("maximum", 0) > 2**57,
)

no_alternatives_refused = _refused(
    "no-alternatives-refused",
    "`top_logprobs: 0` is refused.",
    lambda request: request.payload.get("top_logprobs") == 0 and request.payload.get("top_logprobs") is not False,
    bugs=[163],
    applies_to=has_parameters("top_logprobs"),
)
