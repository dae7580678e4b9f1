"""Tools: who calls them, and who must not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, check
from conformance.occasion import TOOLS_FORBIDDEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange


@check("tools.none-calls-nothing", on=TOOLS_FORBIDDEN)
def none_calls_no_tool(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With the tool_choice "none" the model calls no tool, although some are offered."""
    for index, choice in exchange.choices.items():
        if choice.tool_calls:
            names = ", ".join(call.name for call in choice.tool_calls)
            yield Finding(f"/choices/{index}/message/tool_calls", "no call", f"calls of {names}"[:120])
