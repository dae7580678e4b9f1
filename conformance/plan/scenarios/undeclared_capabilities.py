"""Generated scenarios for capabilities that the server does not declare: it must refuse them, not ignore them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.scenario import Scenario, Step, Subject
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.plan.capabilities import DeclaredCapabilities
    from openapi.contract.contract import Contract

GREETING = [{"role": "user", "content": "Hello!"}]
WANTED: dict[str, Any] = {  # a request for the capability that no server could take for its neutral value
    "n": {"n": 2, "temperature": 0.7},
    "best_of": {"best_of": 2, "temperature": 0.7},
    "beam_search": {"use_beam_search": True},
    "logprobs": {"logprobs": True},
}


def generate(contract: Contract, declaration: DeclaredCapabilities) -> Iterator[Scenario]:
    """One request per capability of the dialect that is not declared, where one can be made.

    What is known to be lacking should be refused; where nobody knows, what happens is only recorded.
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
