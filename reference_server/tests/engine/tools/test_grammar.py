"""Grammars of tool calls in every format, with markers as tokens and as plain text, and their cost."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import numpy
import pytest
from tokenizers import AddedToken, Tokenizer

from reference_server.engine import EngineError, SamplingParams, UnusableGrammar
from reference_server.engine.device import torch
from reference_server.engine.tools.answer_grammar import build_answer_grammar
from reference_server.engine.tools.grammar import GrammarCompiler, Matcher, mask_forbidden
from reference_server.engine.tools.lark_grammar import LarkBuilder
from reference_server.engine.tools.tool_format import CHATGLM3, DEEPSEEK_R1, HERMES, ToolFormat
from reference_server.engine.tools.tool_parser import CallParser
from reference_server.request.tool_choice import select_tools
from reference_server.tiny import CHECKPOINT

if TYPE_CHECKING:
    from pathlib import Path

    from reference_server.engine import LocalEngine

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 5},
        "days": {"type": "integer", "minimum": 1, "maximum": 99},
        "unit": {"enum": ["celsius", "fahren\"heit'"]},
        "exact": {"type": "boolean"},
    },
    "required": ["city", "unit"],
}
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "get_time"}},
]
MARKERS = (
    *("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>"),
    *("<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "<|assistant|>"),
)
FORMATS = {"hermes": HERMES, "deepseek": DEEPSEEK_R1, "chatglm3": CHATGLM3}


class Language:
    """A vocabulary for tool calls, with the markers of all formats as tokens or as plain text."""

    def __init__(self, tokenizer: Tokenizer, end: str) -> None:
        self.tokenizer = tokenizer
        self.size = tokenizer.get_vocab_size()
        self.end: int = next(token_id for token_id in [tokenizer.token_to_id(end)] if token_id is not None)
        self.grammars = GrammarCompiler(tokenizer, self.size, [self.end])
        added = tokenizer.get_added_tokens_decoder()
        self.lark = LarkBuilder({token.content: token_id for token_id, token in added.items()})

    def grammar(self, tool_format: ToolFormat, params: SamplingParams, *, thinking: bool = False) -> str:
        markers = ("<think>", "</think>")
        grammar_text = build_answer_grammar(
            params, tool_format=tool_format, lark=self.lark, reasoning_markers=markers, thinking=thinking
        )
        assert grammar_text is not None
        return grammar_text

    def accepts(self, grammar: str, text: str) -> bool:
        """Return whether a grammar accepts a whole answer."""
        matcher = self.grammars.compile(grammar)
        try:
            for token in self.tokenizer.encode(text, add_special_tokens=False).ids:
                matcher.consume(token)
            matcher.consume(self.end)
        except EngineError:
            return False
        return True


@pytest.fixture(scope="module")
def marked() -> Language:
    tokenizer = Tokenizer.from_file(str(CHECKPOINT / "tokenizer.json"))
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in MARKERS])
    return Language(tokenizer, "<|im_end|>")


@pytest.fixture(scope="module")
def unmarked(random_checkpoint: Path) -> Language:
    return Language(Tokenizer.from_file(str(random_checkpoint / "tokenizer.json")), "<|im_end|>")


@pytest.fixture(params=["marked", "unmarked"])
def language(request: pytest.FixtureRequest) -> Language:
    language: Language = request.getfixturevalue(request.param)
    return language


def use(choice: Any = "auto", tools: list[dict[str, Any]] | None = None, *, parallel: bool = True) -> SamplingParams:
    asked = {"tools": tools or TOOLS, "tool_choice": choice, "parallel_tool_calls": parallel}
    return SamplingParams(tools=select_tools(asked).use)


CALLS = {
    "hermes": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome", "unit": "celsius"}}\n</tool_call>',
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
    '{"city": "Rome", "unit": "celsius"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "chatglm3": 'get_weather\n ```python\ntool_call(city="Rome", unit="celsius")\n```',
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_grammar_accepts_only_calls_of_its_format(language: Language, name: str) -> None:
    tool_format, call = FORMATS[name], CALLS[name]
    plain = "\nIt is <warm> today." if name == "chatglm3" else "It is <warm> today.\n"
    for choice in ("auto", "required", {"type": "function", "function": {"name": "get_weather"}}):
        grammar = language.grammar(tool_format, use(choice))
        assert language.accepts(grammar, call)
        assert (choice == "auto") == language.accepts(grammar, plain)
        assert not language.accepts(grammar, call.replace("city", "town"))
        assert not language.accepts(grammar, call.replace("get_weather", "rm"))
        assert not language.accepts(grammar, call.replace("celsius", "kelvin"))
        assert not language.accepts(grammar, call[:-4])
    assert tool_format is CHATGLM3 or language.accepts(language.grammar(tool_format, use()), f"I look.\n{call}")
    assert language.accepts(language.grammar(tool_format, use("none")), plain)
    assert tool_format is CHATGLM3 or not language.accepts(language.grammar(tool_format, use("none")), call)


CONTROLS = "".join(map(chr, [*range(0x01, 0x20), 0x7F, 0x85, 0x2028])) + '"\\/|'


@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_grammar_supports_names_of_any_characters(language: Language, name: str, choice: str) -> None:
    tools = [{"type": "function", "function": {"name": f"look{CONTROLS}up", "parameters": SCHEMA}}]
    language.grammars.compile(language.grammar(FORMATS[name], use(choice, tools)))


@pytest.mark.parametrize("character", CONTROLS)
def test_only_the_exact_text_is_accepted(marked: Language, character: str) -> None:
    grammar = f"start: {marked.lark.exact_text(f'a{character}b')}"
    assert marked.accepts(grammar, f"a{character}b")
    assert not marked.accepts(grammar, "ab")


@pytest.mark.parametrize("name", ["hermes", "deepseek"])
def test_reasoning_is_optional_or_required(language: Language, name: str) -> None:
    tool_format, call = FORMATS[name], CALLS[name]
    thinks = SamplingParams(tools=use("required").tools, reasoning=True)
    may, must = language.grammar(tool_format, thinks), language.grammar(tool_format, thinks, thinking=True)
    assert language.accepts(may, f"<think>\nHm, <x>.\n</think>\n\n{call}")
    assert language.accepts(may, call)
    assert language.accepts(must, f"Hm.\n</think>\n\n{call}")
    assert not language.accepts(must, call)


def sample_randomly(language: Language, matcher: Matcher, rng: Random, limit: int) -> list[int] | None:
    """Return random tokens that a grammar allows; None if the answer is not complete within the limit."""
    tokens: list[int] = []
    while len(tokens) < limit:
        logits = torch.zeros(1, language.size)
        mask_forbidden(logits, {0: matcher})
        allowed = (logits[0] == 0).nonzero()[:, 0].tolist()
        token = language.end if language.end in allowed else rng.choice(allowed)
        if token == language.end:
            return tokens
        tokens.append(token)
        matcher.consume(token)
        if matcher.complete:
            return tokens
    return None


@pytest.mark.parametrize("name", FORMATS)
def test_every_output_of_a_grammar_is_a_valid_call(language: Language, name: str) -> None:
    rng = Random(11)
    tool_format = FORMATS[name]
    params = use("required", parallel=False)
    assert params.tools is not None
    matcher = language.grammars.compile(language.grammar(tool_format, params))
    validator = jsonschema_rs.validator_for({**SCHEMA, "additionalProperties": False})
    generated = 0
    for _ in range(40):
        tokens = sample_randomly(language, matcher.fork(), rng, 600)
        if tokens is None:
            continue
        parser = CallParser(tool_format, params.tools)
        content, pieces = parser.push(language.tokenizer.decode(tokens, skip_special_tokens=False))
        assert ("", 1, 1) == (content + parser.flush(cut=False), parser.started, parser.completed)
        arguments = json.loads("".join(piece.arguments for piece in pieces))
        if pieces[0].name == "get_weather":
            validator.validate(arguments)
        else:
            assert {} == arguments
        generated += 1
    assert generated > 10


UNUSABLE_SCHEMAS: dict[str, Any] = {
    "a hundred thousand choices": {"enum": [f"v{at}" for at in range(100_000)]},
    "choices of choices": {"anyOf": [{"anyOf": [{"const": f"{a}-{b}"} for b in range(300)]} for a in range(300)]},
    "three thousand properties": {"properties": {f"p{at}": {"type": "string"} for at in range(3_000)}},
    "a reference to itself": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
    "an object without an end": {
        "type": "object",
        "properties": {"a": {"$ref": "#"}},
        "required": ["a"],
        "additionalProperties": False,
        "x-guidance": {"whitespace_flexible": False},
    },
    "look-ahead": {"type": "string", "pattern": "(?=a)b"},
    "one of some that overlap": {
        "oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]
    },
}


@pytest.mark.parametrize("name", UNUSABLE_SCHEMAS)
def test_schemas_that_cannot_be_compiled_are_refused_in_one_line(marked: Language, name: str) -> None:
    with pytest.raises(UnusableGrammar) as caught:
        marked.grammars.compile(f"start: %json {json.dumps(UNUSABLE_SCHEMAS[name])}")
    assert 0 < len(str(caught.value)) < 200
    assert "\n" not in str(caught.value)
    for inside in ("start:", "lexer", "lexeme", "limit", "parser"):  # internal terms of the library
        assert inside not in str(caught.value)


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|b)*a(a|b){200}$", "((a{1,100}){1,100}){1,100}"])
def test_backtracking_patterns_are_fast(marked: Language, pattern: str) -> None:
    matcher = marked.grammars.compile(f"start: %json {json.dumps({'type': 'string', 'pattern': pattern})}")
    sample_randomly(marked, matcher, Random(3), 50)


def test_a_dead_end_is_an_error(marked: Language) -> None:
    dead = '{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}'
    matcher = marked.grammars.compile(f'start: ("a" | "b") %json {dead}')
    matcher.consume(marked.tokenizer.encode("a").ids[0])
    logits = torch.zeros(1, marked.size)
    mask_forbidden(logits, {0: matcher})
    with pytest.raises(EngineError, match="no continuation"):
        _ = matcher.complete


def test_only_rows_with_a_grammar_are_changed(marked: Language) -> None:
    matcher = marked.grammars.compile('start: "yes" | "no"')
    logits = torch.zeros(3, marked.size)
    mask_forbidden(logits, {1: matcher})
    assert (0, 0) == (int(logits[0].count_nonzero()), int(logits[2].count_nonzero()))
    left = (logits[1] == 0).nonzero()[:, 0].tolist()
    assert {"y", "n"} == {marked.tokenizer.decode([token])[0] for token in left}
    assert numpy.isneginf(logits[1].numpy()).sum() == marked.size - len(left)


def test_copies_of_a_compiled_grammar_are_independent(marked: Language) -> None:
    one, two = (marked.grammars.compile('start: "a" "b"') for _ in range(2))
    (token,) = marked.tokenizer.encode("ab").ids[:1] if len(marked.tokenizer.encode("ab").ids) == 1 else (None,)
    first = marked.tokenizer.encode("a").ids[0] if token is None else token
    one.consume(first)
    with pytest.raises(EngineError):
        one.consume(marked.tokenizer.encode("z").ids[0])
    two.consume(first)


def test_a_model_without_a_tool_format_lacks_tools(engine: LocalEngine, tiny_engine: LocalEngine) -> None:
    assert frozenset({"tools", "functions"}) == engine.lacking - tiny_engine.lacking
    assert frozenset({"media"}) == tiny_engine.lacking
