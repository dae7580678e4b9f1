"""Detokenizer: complete characters, however the text is split into tokens."""

from __future__ import annotations

import random

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from reference_server.engine.detokenizer import Detokenizer
from reference_server.engine.vocabulary import Vocabulary

TEXTS = [
    "你好，世界",
    "a😀b👨‍👩‍👧‍👦🇨🇳",
    "é ü \u0301 \U0001f9d1\u200d\U0001f4bb",
    "\U0010ffff\u0800\u07ff\u0080\x7f",
    "line\n\ttab  two spaces ",
]


def _byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.add_special_tokens([AddedToken("<|end|>", special=True)])
    tokenizer.add_tokens([AddedToken("<think>")])
    return tokenizer


def _byte_fallback() -> Tokenizer:
    """Return a tokenizer like SentencePiece: U+2581 for a space, <0x..> for bytes, no space before the first word."""
    words = ["<unk>", "\u2581", "\u2581hello", "\u2581world", "lo", *[f"<0x{byte:02X}>" for byte in range(256)]]
    tokenizer = Tokenizer(
        models.BPE({word: index for index, word in enumerate(words)}, [], unk_token="<unk>", byte_fallback=True)
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return tokenizer


BYTE_LEVEL = _byte_level()
BYTE_FALLBACK = _byte_fallback()


def _id(tokenizer: Tokenizer, token: str) -> int:
    token_id = tokenizer.token_to_id(token)
    assert token_id is not None
    return token_id


def _byte_ids(data: bytes) -> list[int]:
    """Return one byte-level token for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    symbols = {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}
    return [_id(BYTE_LEVEL, symbols[byte]) for byte in data]


def _pieces(tokenizer: Tokenizer, ids: list[int], skip: bool = True) -> list[str]:
    detokenizer = Detokenizer(tokenizer, skip)
    return [detokenizer.push(token_id) for token_id in ids]


@pytest.mark.parametrize("text", TEXTS)
def test_text_split_into_bytes_is_released_in_whole_characters(text: str) -> None:
    pieces = _pieces(BYTE_LEVEL, _byte_ids(text.encode()))
    # Each character is released with the token of its last byte.
    expected = [piece for character in text for piece in [""] * (len(character.encode()) - 1) + [character]]
    assert expected == pieces


@pytest.mark.parametrize("tokenizer", [BYTE_LEVEL, BYTE_FALLBACK])
def test_context_free_texts_do_not_change_the_result(tokenizer: Tokenizer) -> None:
    generator = random.Random(5)
    context_free_text = Vocabulary(tokenizer).context_free_text
    context_free = [
        token_id for token_id in range(tokenizer.get_vocab_size()) if context_free_text(token_id) is not None
    ]
    assert (tokenizer is BYTE_LEVEL) == bool(context_free)
    for _ in range(300):
        ids = [generator.randrange(tokenizer.get_vocab_size()) for _ in range(30)]
        ids = [
            generator.choice(context_free) if context_free and generator.random() < 0.4 else identifier
            for identifier in ids
        ]
        for skip in (True, False):
            detokenizer = Detokenizer(tokenizer, skip, context_free_text)
            assert _pieces(tokenizer, ids, skip) == [detokenizer.push(token_id) for token_id in ids]


@pytest.mark.parametrize("text", TEXTS)
def test_every_split_of_a_text_gives_the_text(text: str) -> None:
    data = text.encode()
    for cut in range(len(data) + 1):
        before, after = data[:cut].decode(errors="ignore"), data[cut:]
        ids = BYTE_LEVEL.encode(before).ids + _byte_ids(data[len(before.encode()) : cut] + after)
        assert text == "".join(_pieces(BYTE_LEVEL, ids))


def test_sentencepiece_fallback_bytes_are_released_in_whole_characters() -> None:
    hello, world = _id(BYTE_FALLBACK, "\u2581hello"), _id(BYTE_FALLBACK, "\u2581world")
    emoji = [_id(BYTE_FALLBACK, f"<0x{byte:02X}>") for byte in "😀".encode()]
    expected = ["hello", " world", "", "", "", "😀", " hello", "", "", "", "😀"]
    assert expected == _pieces(BYTE_FALLBACK, [hello, world, *emoji, hello, *emoji])


def test_random_tokens_give_the_decoded_text_except_an_incomplete_end() -> None:
    generator = random.Random(3)
    size = BYTE_LEVEL.get_vocab_size()
    for _ in range(200):
        ids = [generator.randrange(size) for _ in range(generator.randrange(1, 60))]
        whole = BYTE_LEVEL.decode(ids, skip_special_tokens=True)
        text = "".join(_pieces(BYTE_LEVEL, ids))
        assert whole.startswith(text)
        assert whole[len(text) :] in {"", "\ufffd", "\ufffd\ufffd", "\ufffd\ufffd\ufffd"}


def test_invalid_bytes_do_not_delay_the_following_text() -> None:
    ids = _byte_ids(b"\x80" * 100 + b"ok")
    pieces = _pieces(BYTE_LEVEL, ids)
    assert "".join(pieces) == "\ufffd" * 100 + "ok"
    assert max(map(len, pieces)) <= 4


def test_the_window_stays_short() -> None:
    detokenizer = Detokenizer(BYTE_LEVEL, True)
    longest = 0
    for ids in (_byte_ids(b"\x80" * 50), [_id(BYTE_LEVEL, "<|end|>")] * 50, _byte_ids(b"plain" * 10)):
        for token_id in ids:
            detokenizer.push(token_id)
            longest = max(longest, len(detokenizer._window))
    assert longest <= 17


def test_an_unknown_token_has_no_text() -> None:
    assert _pieces(BYTE_LEVEL, [*_byte_ids(b"a"), 10**6, *_byte_ids(b"b")]) == ["a", "", "b"]


def test_special_tokens_are_shown_only_on_request() -> None:
    ids = [*_byte_ids(b"a"), *(_id(BYTE_LEVEL, token) for token in ("<|end|>", "<think>")), *_byte_ids(b"b")]
    assert _pieces(BYTE_LEVEL, ids, skip=True) == ["a", "", "<think>", "b"]
    assert _pieces(BYTE_LEVEL, ids, skip=False) == ["a", "<|end|>", "<think>", "b"]
