"""Grammars of calls in every format, with their markers as tokens and as mere text, and what a grammar may cost."""

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
    """A vocabulary in which calls are written, with the markers of every format as tokens or with none."""

    def __init__(self, tokenizer: Tokenizer, end: str) -> None:
        self.tokenizer = tokenizer
        self.size = tokenizer.get_vocab_size()
        self.end: int = next(each for each in [tokenizer.token_to_id(end)] if each is not None)
        self.grammars = GrammarCompiler(tokenizer, self.size, [self.end])
        added = tokenizer.get_added_tokens_decoder()
        self.lark = LarkBuilder({token.content: token_id for token_id, token in added.items()})

    def grammar(self, form: ToolFormat, params: SamplingParams, *, thinking: bool = False) -> str:
        markers = ("<think>", "</think>")
        found = build_answer_grammar(
            params, tool_format=form, lark=self.lark, reasoning_markers=markers, thinking=thinking
        )
        assert found is not None
        return found

    def takes(self, grammar: str, text: str) -> bool:
        """Whether a whole answer is in the language of a grammar."""
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
    found: Language = request.getfixturevalue(request.param)
    return found


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
def test_a_grammar_takes_calls_of_its_form_and_no_others(language: Language, name: str) -> None:
    form, call = FORMATS[name], CALLS[name]
    plain = "\nIt is <warm> today." if name == "chatglm3" else "It is <warm> today.\n"
    for choice in ("auto", "required", {"type": "function", "function": {"name": "get_weather"}}):
        grammar = language.grammar(form, use(choice))
        assert language.takes(grammar, call)
        assert (choice == "auto") == language.takes(grammar, plain)
        assert not language.takes(grammar, call.replace("city", "town"))
        assert not language.takes(grammar, call.replace("get_weather", "rm"))
        assert not language.takes(grammar, call.replace("celsius", "kelvin"))
        assert not language.takes(grammar, call[:-4])
    assert form is CHATGLM3 or language.takes(language.grammar(form, use()), f"I look.\n{call}")
    assert language.takes(language.grammar(form, use("none")), plain)
    assert form is CHATGLM3 or not language.takes(language.grammar(form, use("none")), call)


CONTROLS = "".join(map(chr, [*range(0x01, 0x20), 0x7F, 0x85, 0x2028])) + '"\\/|'


@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_grammar_holds_names_of_any_characters(language: Language, name: str, choice: str) -> None:
    tools = [{"type": "function", "function": {"name": f"look{CONTROLS}up", "parameters": SCHEMA}}]
    language.grammars.compile(language.grammar(FORMATS[name], use(choice, tools)))


@pytest.mark.parametrize("character", CONTROLS)
def test_a_text_to_the_letter_is_taken_and_no_other(marked: Language, character: str) -> None:
    grammar = f"start: {marked.lark.exact_text(f'a{character}b')}"
    assert marked.takes(grammar, f"a{character}b")
    assert not marked.takes(grammar, "ab")


@pytest.mark.parametrize("name", ["hermes", "deepseek"])
def test_a_thought_may_or_must_come_first(language: Language, name: str) -> None:
    form, call = FORMATS[name], CALLS[name]
    thinks = SamplingParams(tools=use("required").tools, reasoning=True)
    may, must = language.grammar(form, thinks), language.grammar(form, thinks, thinking=True)
    assert language.takes(may, f"<think>\nHm, <x>.\n</think>\n\n{call}")
    assert language.takes(may, call)
    assert language.takes(must, f"Hm.\n</think>\n\n{call}")
    assert not language.takes(must, call)


def wander(language: Language, matcher: Matcher, rng: Random, most: int) -> list[int] | None:
    """Tokens of an answer that a grammar allows, chosen blindly; None where it is not over in time."""
    tokens: list[int] = []
    while len(tokens) < most:
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
def test_whatever_a_grammar_lets_through_is_a_call_that_fits(language: Language, name: str) -> None:
    rng = Random(11)
    form = FORMATS[name]
    params = use("required", parallel=False)
    assert params.tools is not None
    matcher = language.grammars.compile(language.grammar(form, params))
    validator = jsonschema_rs.validator_for({**SCHEMA, "additionalProperties": False})
    made = 0
    for _ in range(40):
        tokens = wander(language, matcher.fork(), rng, 600)
        if tokens is None:
            continue
        parser = CallParser(form, params.tools)
        said, pieces = parser.push(language.tokenizer.decode(tokens, skip_special_tokens=False))
        assert ("", 1, 1) == (said + parser.flush(cut=False), parser.started, parser.completed)
        arguments = json.loads("".join(piece.arguments for piece in pieces))
        if pieces[0].name == "get_weather":
            validator.validate(arguments)
        else:
            assert {} == arguments
        made += 1
    assert made > 10


BOMBS: dict[str, Any] = {
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


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_no_grammar_can_be_made_of_is_refused_in_a_line(marked: Language, bomb: str) -> None:
    with pytest.raises(UnusableGrammar) as caught:
        marked.grammars.compile(f"start: %json {json.dumps(BOMBS[bomb])}")
    assert 0 < len(str(caught.value)) < 200
    assert "\n" not in str(caught.value)
    for inside in ("start:", "lexer", "lexeme", "limit", "parser"):  # words of the library's own
        assert inside not in str(caught.value)


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|b)*a(a|b){200}$", "((a{1,100}){1,100}){1,100}"])
def test_an_expression_that_is_slow_elsewhere_is_no_trouble(marked: Language, pattern: str) -> None:
    matcher = marked.grammars.compile(f"start: %json {json.dumps({'type': 'string', 'pattern': pattern})}")
    wander(marked, matcher, Random(3), 50)


def test_a_place_that_nothing_can_follow_is_an_error_of_its_own(marked: Language) -> None:
    dead = '{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}'
    matcher = marked.grammars.compile(f'start: ("a" | "b") %json {dead}')
    matcher.consume(marked.tokenizer.encode("a").ids[0])
    logits = torch.zeros(1, marked.size)
    mask_forbidden(logits, {0: matcher})
    with pytest.raises(EngineError, match="no continuation"):
        _ = matcher.complete


def test_only_the_rows_that_have_a_grammar_are_changed(marked: Language) -> None:
    matcher = marked.grammars.compile('start: "yes" | "no"')
    logits = torch.zeros(3, marked.size)
    mask_forbidden(logits, {1: matcher})
    assert (0, 0) == (int(logits[0].count_nonzero()), int(logits[2].count_nonzero()))
    left = (logits[1] == 0).nonzero()[:, 0].tolist()
    assert {"y", "n"} == {marked.tokenizer.decode([token])[0] for token in left}
    assert numpy.isneginf(logits[1].numpy()).sum() == marked.size - len(left)


def test_a_grammar_is_compiled_once_and_its_copies_go_their_own_ways(marked: Language) -> None:
    one, two = (marked.grammars.compile('start: "a" "b"') for _ in range(2))
    (token,) = marked.tokenizer.encode("ab").ids[:1] if len(marked.tokenizer.encode("ab").ids) == 1 else (None,)
    first = marked.tokenizer.encode("a").ids[0] if token is None else token
    one.consume(first)
    with pytest.raises(EngineError):
        one.consume(marked.tokenizer.encode("z").ids[0])
    two.consume(first)


def test_a_model_whose_template_has_no_form_for_calls_says_so(engine: LocalEngine, tiny_engine: LocalEngine) -> None:
    assert (frozenset({"tools", "functions"}), frozenset()) == (engine.lacking, tiny_engine.lacking)
