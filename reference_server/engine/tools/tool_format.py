"""Formats of tool calls, by model family, as data.

The format of a checkpoint is detected from its chat template.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from reference_server.engine.protocol import UnusableGrammar
from reference_server.engine.tools.lark_grammar import alternatives, quote_terminal

if TYPE_CHECKING:
    from reference_server.engine.tool_use import Tool, ToolUse
    from reference_server.engine.tools.lark_grammar import LarkBuilder

# Spaces in fixed places only: otherwise a model that finds spaces likely could continue with them forever.
SPACING = '"x-guidance": {"whitespace_flexible": false, "item_separator": ", ", "key_separator": ": "}'


ANY_OBJECT = '{"type": "object"}'


@dataclass(frozen=True, slots=True)
class ToolFormat:
    """A format of tool calls; parts that are control tokens of the vocabulary are written as such.

    template_markers: texts that all occur in the chat templates of this format.
    opening, closing: around all calls of an answer.
    between: between two calls.
    before_name, before_arguments, after_arguments: around the two parts of a call.
    name: as a JSON string ("quoted"), or unquoted at the end of a line ("plain").
    arguments: an object as JSON text ("json"), or name=value as in a Python call ("keywords").
    marked: whether calls begin with a marker that no other text contains; if not, an answer is either text or calls.
    history: how the templates take the arguments of earlier calls: "parsed", or as "text".
    """

    template_markers: tuple[str, ...]
    before_name: str
    before_arguments: str
    after_arguments: str
    opening: str = ""
    closing: str = ""
    between: str = ""
    name: Literal["quoted", "plain"] = "plain"
    arguments: Literal["json", "keywords"] = "json"
    marked: bool = True
    history: Literal["parsed", "text"] = "parsed"

    @property
    def marker(self) -> str:
        """The text that calls begin with, if they are marked."""
        return (self.opening or self.before_name).partition("\n")[0]

    @property
    def fixed_text(self) -> str:
        """All text around names and arguments."""
        parts = (self.opening, self.before_name, self.before_arguments, self.after_arguments, self.closing)
        return "".join(parts)

    def rules(self, use: ToolUse, lark: LarkBuilder, text_rules: str | None) -> list[str]:
        """Return the rule `answer` and the rules it needs: calls only if one is required, otherwise text and calls.

        text_rules: rules of `content`, if not any text is allowed; then an answer is either text or calls.
        """
        content = (
            lark.any_text_rule("content", (self.marker,) if self.marked else ()) if text_rules is None else [text_rules]
        )
        if not use.tools:
            return ["answer: content", *content]
        rules = self._call_rules(use, lark)
        if use.required:
            return [f"answer: {self._calls(use, lark, 'call', self.opening)}", *rules]
        if text_rules is not None or not self.marked:
            calls = self._calls(use, lark, "call", self.opening)
            text = "content" if self.marked else '"\\n" content'
            return [f"answer: {calls} | {text}", *rules, *content]
        calls = self._calls(use, lark, "marked_call", self.opening.removeprefix(self.marker))
        before = lark.text_until_rule("before", self.marker)
        return [f"answer: content | before {calls}", *rules, *self._marked_rules(use, lark), *before, *content]

    def _calls(self, use: ToolUse, lark: LarkBuilder, first: str, opening: str) -> str:
        more = f"({lark.join(lark.exact_text(self.between), 'call')})*" if use.parallel else ""
        return lark.join(lark.exact_text(opening), first, more, lark.exact_text(self.closing))

    def _call_rules(self, use: ToolUse, lark: LarkBuilder) -> list[str]:
        rules = [f"call: {alternatives(f'call_{index}' for index in range(len(use.tools)))}"]
        for index, tool in enumerate(use.tools):
            rules.append(f"call_{index}: {self._call(tool, index, lark, self.before_name)}")
            rules += self._argument_rules(f"arguments_{index}", tool)
        return rules

    def _marked_rules(self, use: ToolUse, lark: LarkBuilder) -> list[str]:
        """Return the rules of a call whose marker has already been written, if the marker is part of it."""
        before_name = self.before_name if self.opening else self.before_name.removeprefix(self.marker)
        calls = [self._call(tool, index, lark, before_name) for index, tool in enumerate(use.tools)]
        return [f"marked_call: {alternatives(calls)}"]

    def _call(self, tool: Tool, index: int, lark: LarkBuilder, before_name: str) -> str:
        name = tool.quoted_name if self.name == "quoted" else tool.name
        before = lark.exact_text(before_name + name + self.before_arguments)
        return f"{before} arguments_{index} {lark.exact_text(self.after_arguments)}"

    def _argument_rules(self, rule: str, tool: Tool) -> list[str]:
        if self.arguments == "keywords":
            return keyword_argument_rules(rule, tool)
        return [f"{rule}: {json_terminal(tool.schema)}"]


def json_terminal(schema: str) -> str:
    """Return an expression for a schema, an object as JSON text; spaces are where Python's json module writes them."""
    inner = schema.strip()[1:].lstrip()
    return f"%json {{{SPACING}{'' if inner.startswith('}') else ', '}{inner}"


def keyword_argument_rules(rule: str, tool: Tool) -> list[str]:
    """Return rules for name=value arguments in the order of the schema, with values as JSON, almost as in Python."""
    if tool.parameters is None or not all(parameter.name.isidentifier() for parameter in tool.parameters):
        raise UnusableGrammar(
            f"tools: {tool.name!r} needs arguments other than name=value, which the model cannot write"
        )
    rules = []
    count = len(tool.parameters)
    for index, parameter in enumerate(tool.parameters):
        argument = f"{rule}_{index}"
        first, later = f"{rule}_first_{index + 1}", f"{rule}_later_{index + 1}"
        rules.append(f"{argument}: {quote_terminal(parameter.name + '=')} {json_terminal(parameter.schema)}")
        skip = "" if parameter.required else f" | {first}"
        rules.append(f"{rule}_first_{index}: {argument} {later}{skip}")
        rules.append(f'{rule}_later_{index}: ", " {argument} {later}{"" if parameter.required else f" | {later}"}')
    ends = [f'{rule}_first_{count}: ""', f'{rule}_later_{count}: ""']
    return [f"{rule}: {rule}_first_0", *rules, *ends]


HERMES = ToolFormat(
    template_markers=("<tool_call>",),
    before_name='<tool_call>\n{"name": ',
    name="quoted",
    before_arguments=', "arguments": ',
    after_arguments="}\n</tool_call>",
    between="\n",
)
"""Hermes 2 and 3, Qwen2.5, Qwen3."""

DEEPSEEK_R1 = ToolFormat(
    template_markers=("<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>"),
    opening="<｜tool▁calls▁begin｜>",
    before_name="<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
    before_arguments="\n```json\n",
    after_arguments="\n```<｜tool▁call▁end｜>",
    between="\n",
    closing="<｜tool▁calls▁end｜>",
    history="text",
)

CHATGLM3 = ToolFormat(
    template_markers=("[gMASK]sop", "<|assistant|>"),
    before_name="",
    before_arguments="\n ```python\ntool_call(",
    after_arguments=")\n```",
    between="<|assistant|>",
    arguments="keywords",
    marked=False,
)
"""ChatGLM3: the name of the tool replaces the first line of an answer, which is empty otherwise."""

FORMATS = (DEEPSEEK_R1, HERMES, CHATGLM3)


def detect_format(template: str) -> ToolFormat | None:
    """Return the first format whose markers occur in a chat template."""
    return next(
        (tool_format for tool_format in FORMATS if all(marker in template for marker in tool_format.template_markers)),
        None,
    )
