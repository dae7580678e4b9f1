"""The grammar of an answer: reasoning, text and tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.engine.protocol import UnusableGrammar

if TYPE_CHECKING:
    from reference_server.engine.params import SamplingParams
    from reference_server.engine.tools.lark_grammar import LarkBuilder
    from reference_server.engine.tools.tool_format import ToolFormat


def build_answer_grammar(
    params: SamplingParams,
    *,
    tool_format: ToolFormat | None,
    lark: LarkBuilder,
    reasoning_markers: tuple[str, str],
    thinking: bool,
) -> str | None:
    """Return the grammar of a request's answers, in Lark; None if any text is allowed.

    tool_format: the format in which the model writes calls; None if unknown.
    thinking: whether the prompt ends inside reasoning.

    Raises UnusableGrammar.
    """
    if params.tools is None and params.grammar is None:
        return None
    if params.tools is None:
        rules = ["answer: content", params.grammar or ""]
    elif tool_format is None:
        raise UnusableGrammar("tools: the model's chat template has no format for tool calls")
    else:
        rules = tool_format.rules(params.tools, lark, params.grammar)
    if not params.reasoning:
        return "\n".join(["start: answer", *rules])
    opening, closing = reasoning_markers
    begun = "thought SPACE answer"
    start = begun if thinking else f"{lark.exact_text(opening)} {begun} | answer"
    return "\n".join([f"start: {start}", *rules, *lark.text_until_rule("thought", closing), r"SPACE: /\n{0,2}/"])
