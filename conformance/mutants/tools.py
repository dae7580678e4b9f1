"""Tools that are called against the client's will."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.mutants.editing import edit_deltas, edit_message
from conformance.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("tools.none-calls-nothing")
def tool_is_called_all_the_same(exchange: Exchange) -> Exchange:
    """With the tool_choice "none" a tool is called all the same."""
    function = {"name": "get_weather", "arguments": "{}"}
    calls: list[dict[str, Any]] = [{"index": 0, "id": "call-1", "type": "function", "function": function}]
    edit = edit_deltas if exchange.is_stream else edit_message
    return edit(exchange, lambda said: said.update(tool_calls=calls))
