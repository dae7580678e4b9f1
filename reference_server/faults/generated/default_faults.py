"""Generates faults from the defaults of a contract: the server's default of a parameter is another value."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.defaults import other_values
from openapi.description.validation import Validator
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import ServedRequest

GREETING: Final = [{"role": "user", "content": "Hello!"}]
BUG: Final = 121  # the row of bugs.yaml for what no schema shows
COMPANIONS: Final[dict[str, dict[str, Any]]] = {  # without which a value has no effect, or is refused
    "n": {"temperature": 1.0, "best_of": 3},
    "top_logprobs": {"logprobs": True},
    "tool_choice": {"tools": []},
    "include_stop_str_in_output": {"stop": "stop1"},
}


def default_faults_of(contract: Contract) -> Iterator[Fault]:
    """Yield a fault for each default of a served contract that answers show."""
    validator = Validator(contract)
    for parameter in contract.parameters.values():
        companions = {
            name: value
            for name, value in {**COMPANIONS.get(parameter.name, {}), **parameter.needs}.items()
            if name in contract.parameters
        }
        is_valid = partial(_is_valid, contract, validator, parameter.name)
        values = () if parameter.lacking else other_values(parameter, partial(is_valid, companions))
        if values:
            needed = {} if is_valid({}, values[-1]) else companions
            line = f"Without {parameter.name}, the server uses another value than the documented default."
            yield hooked_fault(
                f"default:{parameter.name}",
                line,
                parameter=parameter.name,
                bugs=(BUG,),
                request=_supplying({**needed, parameter.name: values[-1]}),
            )


def _is_valid(contract: Contract, validator: Validator, name: str, companions: Mapping[str, Any], value: Any) -> bool:
    """Return whether the contract allows a value of a parameter in a short request, with its companions."""
    body = {"model": contract.default_model, "messages": GREETING, "max_tokens": 20, **companions}
    return not validator.request_problems({**body, name: value})


def _supplying(values: Mapping[str, Any]) -> Callable[[ServedRequest], None]:
    """Return an edit that supplies values of parameters, unless the request already has the last of them."""
    *_, name = values

    def edit(request: ServedRequest) -> None:
        if name not in request.payload:
            request.payload.update({**values, **request.payload})

    return edit
