"""Generates faults from the defaults of a contract: the server's default of a parameter is another value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi.contract.defaults import other_values
from openapi.description.validation import Validator
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi.contract.contract import Contract, Parameter
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
        values = () if parameter.lacking else other_values(parameter, _valid_in(parameter, contract, validator))
        if values:
            line = f"Without {parameter.name}, the server uses another value than the documented default."
            yield hooked_fault(
                f"default:{parameter.name}",
                line,
                parameter=parameter.name,
                bugs=(BUG,),
                request=_supplying(parameter.name, values[-1]),
            )


def _valid_in(parameter: Parameter, contract: Contract, validator: Validator) -> Callable[[Any], bool]:
    """Return whether the contract allows a value of the parameter, with the parameters that it needs."""
    companions = {**COMPANIONS.get(parameter.name, {}), **parameter.needs}
    needed = {name: value for name, value in companions.items() if name in contract.parameters}

    def is_valid(value: Any) -> bool:
        body = {"model": contract.default_model, "messages": GREETING, "max_tokens": 20, **needed}
        return not validator.request_problems({**body, parameter.name: value})

    return is_valid


def _supplying(name: str, value: Any) -> Callable[[ServedRequest], None]:
    def edit(request: ServedRequest) -> None:
        request.payload.setdefault(name, value)

    return edit
