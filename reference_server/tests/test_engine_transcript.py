"""Transcript: what each token adds to an answer, without an engine."""

from __future__ import annotations

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models

from reference_server.engine import SamplingParams
from reference_server.engine.scores import Score
from reference_server.engine.transcript import Ending, Transcript
from reference_server.engine.vocabulary import Vocabulary


def _sentencepiece() -> Vocabulary:
    """U+2581 stands for a space; the first word comes without."""
    words = {"<unk>": 0, "\u2581hello": 1, "\u2581world": 2}
    tokenizer = Tokenizer(models.BPE(words, [], unk_token="<unk>"))
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens([AddedToken("<s>", special=True), AddedToken("</s>", special=True)])
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
def test_the_bytes_of_every_token_are_those_it_adds_to_the_text(
    skip: bool, tokens: list[int], data: list[bytes | None]
) -> None:
    params = SamplingParams(skip_special_tokens=skip, logprobs=1)
    transcript = Transcript(VOCABULARY, params, Ending(10, frozenset({END})))
    text, found = "", []
    for token in tokens:
        named = transcript.logprob(token, Score(-1.0, ((token, -1.0),)))
        assert named.top[0].data == named.data
        found.append(named.data)
        text += transcript.add(token)[0]
    assert data == found
    assert b"".join(each or b"" for each in data).decode() == text
