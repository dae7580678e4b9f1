"""Generate scenarios for capabilities that a server lacks: it must refuse them and must not ignore them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.scenario import Scenario, Step, Subject
from openapi.contract.capability import request_for
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.plan.capabilities import DeclaredCapabilities
    from openapi.contract.contract import Contract

GREETING = [{"role": "user", "content": "Hello!"}]


def generate(contract: Contract, declaration: DeclaredCapabilities) -> Iterator[Scenario]:
    """Yield one request for each capability that the server denies and that has a parameter of its own."""
    for name in contract.capabilities:
        body = request_for(name, contract.parameters)
        if name not in declaration.denied or body is None:
            continue
        subject = Subject(
            requirement=f"parameters.lacking-refused.{name}",
            check="parameters.lacking-refused",
            parameter=list(body)[-1],
            keyword=Keyword.SHOULD,
            source=contract.capabilities[name].source,
            summary=f"{name} is not declared: a request for it is refused, never silently ignored",
            value=body,
            expect="reject",
            interpretation="unsupported-parameters",
        )
        step = Step(body={"messages": GREETING, "max_tokens": 2, **body}, expect="either")
        yield Scenario(f"{name}-lacking", subject.summary, (step,), subject=subject)
