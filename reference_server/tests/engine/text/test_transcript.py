"""Transcript: the contribution of each token to an answer, without an engine."""

from __future__ import annotations

from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from reference_server.engine import SamplingParams
from reference_server.engine.sampling.scores import TokenScore
from reference_server.engine.text.transcript import AnswerSpec, Transcript
from reference_server.engine.vocabulary import Vocabulary


def _sentencepiece() -> Vocabulary:
    """Return a vocabulary with U+2581 for a space, which the first word drops."""
    words = {"<unk>": 0, "\u2581hello": 1, "\u2581world": 2}
    tokenizer = Tokenizer(models.BPE(words, [], unk_token="<unk>"))
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens([AddedToken("<s>", special=True), AddedToken("</s>", special=True)])
    return Vocabulary(tokenizer)


def _bytes(*, special: bool) -> Vocabulary:
    """Return a vocabulary with a token for each byte and tokens for the reasoning markers."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({symbol: at for at, symbol in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    add = tokenizer.add_special_tokens if special else tokenizer.add_tokens
    add([AddedToken(marker, special=special, normalized=False) for marker in ("<think>", "</think>")])
    return Vocabulary(tokenizer)


VOCABULARY = _sentencepiece()
HELLO, WORLD, START, END = 1, 2, 3, 4


@pytest.mark.parametrize(
    ("skip", "tokens", "data"),
    [
        (True, [HELLO, WORLD, HELLO], [b"hello", b" world", b" hello"]),
        (True, [START, HELLO, WORLD], [None, b"hello", b" world"]),
        (False, [START, HELLO, WORLD], [b"<s>", b" hello", b" world"]),
        (True, [HELLO, START, END], [b"hello", None, None]),
    ],
)
def test_the_bytes_of_tokens_are_the_bytes_of_the_text(skip: bool, tokens: list[int], data: list[bytes | None]) -> None:
    params = SamplingParams(skip_special_tokens=skip, logprobs=1)
    transcript = Transcript(AnswerSpec(VOCABULARY, params, 10, frozenset({END})))
    text, actual = "", []
    for token in tokens:
        logprob = transcript.create_logprob(token, TokenScore(-1.0, ((token, -1.0),)))
        assert logprob.top[0].data == logprob.data
        actual.append(logprob.data)
        text += transcript.add(token).text
    assert data == actual
    assert b"".join(piece or b"" for piece in data).decode() == text


def _read(vocabulary: Vocabulary, tokens: list[int], **options: Any) -> tuple[str, str, str | None]:
    """Return (reasoning, answer, finish reason) of tokens, up to the token that ends the answer."""
    limit = options.pop("limit", 1000)
    thinking = options.pop("thinking", False)
    params = SamplingParams(reasoning=True, **options)
    transcript = Transcript(AnswerSpec(vocabulary, params, limit, frozenset({END_BYTE}), thinking))
    reasoning = answer = ""
    for token in tokens:
        added = transcript.fork().add(token)
        assert added == transcript.add(token)
        reasoning, answer = reasoning + added.reasoning, answer + added.text
        if added.finish_reason is not None:
            return reasoning, answer, added.finish_reason
    return reasoning, answer, None


PLAIN, SPECIAL = _bytes(special=False), _bytes(special=True)
END_BYTE = PLAIN.tokenizer.encode("\0").ids[0]
THINKING = "<think>\n思考 a.b\n\n</think>\n\n回答 a.b\n"


def _ids(vocabulary: Vocabulary, text: str) -> list[int]:
    return vocabulary.tokenizer.encode(text).ids


@pytest.mark.parametrize("vocabulary", [PLAIN, SPECIAL], ids=["plain", "special"])
@pytest.mark.parametrize("by_character", [False, True])
@pytest.mark.parametrize("skip", [False, True])
def test_reasoning_is_separated_for_every_kind_of_marker(
    vocabulary: Vocabulary, by_character: bool, skip: bool
) -> None:
    pieces = THINKING if by_character else [THINKING]
    tokens = [token for piece in pieces for token in _ids(vocabulary, piece)]
    assert ("思考 a.b", "回答 a.b\n", None) == _read(vocabulary, tokens, skip_special_tokens=skip)


def test_reasoning_opened_by_the_prompt_needs_no_opening_marker() -> None:
    tokens = _ids(PLAIN, "hm\n</think>\nyes")
    assert _read(PLAIN, tokens, thinking=True) == ("hm", "yes", None)
    assert _read(PLAIN, tokens, thinking=False) == ("", "hm\n</think>\nyes", None)


@pytest.mark.parametrize(
    ("stop", "include", "expected"),
    [
        ("回答", False, ("思考 a.b", "", "stop")),
        ("回答", True, ("思考 a.b", "回答", "stop")),
        ("a.b", False, ("思考 ", "", "stop")),
        ("a.b", True, ("思考 a.b", "", "stop")),
        ("b\n", False, ("思考 a.b", "回答 a.", "stop")),
        ("b\n\n回", False, ("思考 a.b", "回答 a.b\n", None)),
        (".b!", False, ("思考 a.b", "回答 a.b\n", None)),
        ("</think>", False, ("思考 a.b", "回答 a.b\n", None)),
    ],
)
def test_a_stop_string_ends_reasoning_or_answer_but_never_spans_both(
    stop: str, include: bool, expected: tuple[str, str, str | None]
) -> None:
    tokens = _ids(PLAIN, THINKING + "!")
    reasoning, answer, reason = _read(PLAIN, tokens, stop=(stop,), include_stop_str_in_output=include)
    assert expected == (reasoning, answer.removesuffix("!"), reason)


@pytest.mark.parametrize("ending", ["limit", "end"])
@pytest.mark.parametrize(
    ("text", "stop", "expected"),
    [
        ("<think>\nso\n</thi", (), ("so\n</thi", "")),
        ("<think>\nso\n\n", (), ("so", "")),
        ("<think>so", ("over",), ("so", "")),
        ("<think>so", ("o?",), ("so", "")),
        ("<think>so</think>\n\nno", ("o?",), ("so", "no")),
        ("<thi", (), ("", "<thi")),
        (" \n", ("\n\n",), ("", " \n")),
    ],
)
def test_held_back_text_is_released_at_the_end(
    ending: str, text: str, stop: tuple[str, ...], expected: tuple[str, str]
) -> None:
    tokens = _ids(PLAIN, text)
    if ending == "limit":
        assert (*expected, "length") == _read(PLAIN, tokens, stop=stop, limit=len(tokens))
    else:
        assert (*expected, "stop") == _read(PLAIN, [*tokens, END_BYTE], stop=stop)


def test_a_stop_string_in_held_back_text_is_found() -> None:
    tokens = _ids(PLAIN, "<think>so\n</th")
    assert _read(PLAIN, tokens, stop=("/t",), limit=len(tokens)) == ("so\n<", "", "stop")


def test_the_reasoning_markers_are_those_of_the_tokenizer() -> None:
    other = Tokenizer(models.BPE())
    other.add_special_tokens(["[THINK]", "[/THINK]", "</think>"])
    assert Vocabulary(other).reasoning_markers == ("[THINK]", "[/THINK]")
    assert VOCABULARY.reasoning_markers == ("<think>", "</think>")


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [("Hi<think>", True), ("Hi<think>\n", True), ("Hi<think>\n\n</think>\n\n", False), ("<think> well", False)],
)
def test_a_prompt_ends_in_reasoning_if_nothing_follows_the_opening_marker(prompt: str, expected: bool) -> None:
    for vocabulary in (PLAIN, SPECIAL):
        assert expected == vocabulary.ends_in_reasoning(_ids(vocabulary, prompt))
        assert expected == vocabulary.ends_in_reasoning(
            [token for character in prompt for token in _ids(vocabulary, character)]
        )
