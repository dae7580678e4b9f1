"""Lists of objects, such as messages and tools, at the limits of their size and just beyond them.

A list is made of elements that the contract must accept: the turns of a conversation, or the elements of a list that a
probe sends. Functions get names of their own, since a server may refuse two with one name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi.contract.contract import Expect, Parameter

LONGEST: Final = 256
"""The most elements of a list; longer ones cost more than they show."""
FITTING: Final = 64
"""The most elements of a list that has to be accepted: a longer one may not fit into the model's context."""


def list_sizes(parameter: Parameter) -> Iterator[tuple[str, Expect, Any]]:
    """Yield (keyword, expectation, list) at each limit of the size of a list of objects that no probe shows.

    A longer list that a probe sends may be refused for another reason.
    """
    schema = parameter.schema
    least, most = schema.get("minItems"), schema.get("maxItems")
    if schema.get("type") != "array" or (least is None and most is None):
        return
    make = _MAKERS.get(parameter.name) or _repeat_probe(parameter)
    lists = [probe for probe in parameter.probes if isinstance(probe.value, list)]
    shown = {(probe.expect, len(probe.value)) for probe in lists if probe.expect == "accept" or not probe.value}
    sizes: list[tuple[str, Expect, int]] = []
    if least:
        sizes += [("minItems", "accept", least), ("minItems", "reject", least - 1)]
    if most:
        sizes += [("maxItems", "accept", most), ("maxItems", "reject", most + 1)]
    for keyword, expect, size in sizes:
        longest = FITTING if expect == "accept" else LONGEST
        if size <= longest and (expect, size) not in shown and (make is not None or size == 0):
            yield keyword, expect, [] if make is None else make(size)


def make_conversation(size: int) -> list[Any]:
    """Return a conversation of `size` messages in which the user speaks last, as chat templates demand."""
    system = [] if size % 2 else [{"role": "system", "content": "Be brief."}]
    turns = [
        {"role": "user", "content": f"Say {number}."} if number % 2 else {"role": "assistant", "content": f"{number}"}
        for number in range(1, size - len(system) + 1)
    ]
    return [*system, *turns][:size]


def _make_functions(size: int) -> list[Any]:
    """Return functions without arguments, of which more than a hundred fit into a short context."""
    nothing = {"type": "object", "properties": {}, "required": []}
    return [{"name": f"lamp_{number}", "parameters": nothing} for number in range(size)]


def _make_tools(size: int) -> list[Any]:
    return [{"type": "function", "function": function} for function in _make_functions(size)]


_MAKERS: Final[dict[str, Callable[[int], list[Any]]]] = {
    "messages": make_conversation,
    "tools": _make_tools,
    "functions": _make_functions,
}


def _repeat_probe(parameter: Parameter) -> Callable[[int], list[Any]] | None:
    """Return how to make a list from the first element of a list of objects that a probe sends, if there is one."""
    sent = (probe.value for probe in parameter.probes if probe.expect == "accept" and isinstance(probe.value, list))
    first = next((value[0] for value in sent if value and isinstance(value[0], dict)), None)
    return None if first is None else lambda size: [first] * size
