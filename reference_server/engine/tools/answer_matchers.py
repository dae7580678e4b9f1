"""The matchers of answers: what the tools and the output format of a request allow an answer to be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.engine.protocol import UnusableGrammar
from reference_server.engine.tools.answer_grammar import build_answer_grammar
from reference_server.engine.tools.lark_grammar import LarkBuilder
from reference_server.engine.tools.tool_format import ANY_OBJECT, json_terminal

if TYPE_CHECKING:
    from reference_server.engine.params import SamplingParams
    from reference_server.engine.tool_use import Tool
    from reference_server.engine.tools.grammar import GrammarCompiler, Matcher
    from reference_server.engine.tools.tool_format import ToolFormat
    from reference_server.engine.vocabulary import Vocabulary


class AnswerMatchers:
    """Makes the matcher of each request from the grammar of its answer."""

    def __init__(self, compiler: GrammarCompiler, vocabulary: Vocabulary, tool_format: ToolFormat | None) -> None:
        self._compiler = compiler
        self._vocabulary = vocabulary
        self._tool_format = tool_format
        self._lark = LarkBuilder(vocabulary.control_ids)

    def create(self, params: SamplingParams, *, thinking: bool) -> Matcher | None:
        """Return a matcher at the start of the grammar of a request; compiled grammars are cached."""
        if params.tools is not None:
            tools = tuple(self._make_compilable(tool) for tool in params.tools.tools)
            params = replace(params, tools=replace(params.tools, tools=tools))
        grammar = build_answer_grammar(
            params,
            tool_format=self._tool_format,
            lark=self._lark,
            reasoning_markers=self._vocabulary.reasoning_markers,
            thinking=thinking,
        )
        try:
            return None if grammar is None else self._compiler.compile(grammar, ignore_end=params.ignore_eos)
        except UnusableGrammar as error:
            raise UnusableGrammar(f"the requested output format cannot be enforced: {error}") from error

    def _make_compilable(self, tool: Tool) -> Tool:
        """Return the tool, or one that accepts any object if its schema cannot be compiled to a grammar.

        Raises UnusableGrammar instead if the tool is strict.
        """
        try:
            self._compiler.compile(f"start: {json_terminal(tool.schema)}")
        except UnusableGrammar as error:
            if tool.strict:
                raise UnusableGrammar(f"tools: the parameters of {tool.name} cannot be enforced: {error}") from error
            return replace(tool, schema=ANY_OBJECT, parameters=None)
        return tool
