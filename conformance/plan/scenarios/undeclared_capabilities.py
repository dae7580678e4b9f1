"""Generate scenarios for undeclared capabilities, which a server must refuse and must not ignore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.scenario import Scenario, Step, Subject
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.plan.capabilities import DeclaredCapabilities
    from openapi.contract.contract import Contract

GREETING = [{"role": "user", "content": "Hello!"}]
WANTED: dict[str, Any] = {  # values that request the capability, and are not neutral
    "n": {"n": 2, "temperature": 0.7},
    "best_of": {"best_of": 2, "temperature": 0.7},
    "beam_search": {"use_beam_search": True},
    "logprobs": {"logprobs": True},
}


def generate(contract: Contract, declaration: DeclaredCapabilities) -> Iterator[Scenario]:
    """Yield one request for each capability of the dialect that is not declared, as far as there is one in `WANTED`.

    A server should refuse a capability that it denies. If the status is unknown, the answer is only recorded.
    """
    for name in contract.capabilities:
        body = WANTED.get(name)
        if name in declaration.declared or body is None or not set(body) <= set(contract.parameters):
            continue
        subject = Subject(
            requirement=f"parameters.lacking-refused.{name}",
            check="parameters.lacking-refused",
            parameter=next(iter(body)),
            keyword=Keyword.SHOULD if name in declaration.denied else Keyword.MAY,
            source=contract.capabilities[name].source,
            summary=f"{name} is not declared: a request for it is refused, never silently ignored",
            value=body,
            expect="reject",
            interpretation="unsupported-parameters",
        )
        step = Step(body={"messages": GREETING, "max_tokens": 2, **body}, expect="either")
        yield Scenario(f"{name}-lacking", subject.summary, (step,), subject=subject)
