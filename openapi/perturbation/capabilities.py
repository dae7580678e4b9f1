"""Perturbations of capabilities: the server lacks one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi.contract.capability import request_for
from openapi.perturbation.perturbation import Perturbation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract


def perturb_capabilities(contract: Contract) -> Iterator[Perturbation]:
    """Yield the lack of each capability. A server that ignores its own declaration is reported if one request shows."""
    for name in contract.capabilities:
        if name != "auth":  # the key decides about it
            yield Perturbation(
                fact=f"capabilities/{name}",
                before="declared",
                after="denied",
                line=f"{name}: not supported",
                shown_by=(f"parameters.lacking-refused.{name}",) if request_for(name, contract.parameters) else (),
                lacks=name,
            )
