"""Vocabulary: the bytes of tokens add up to the text, in both byte encodings of vocabularies."""

from __future__ import annotations

import random

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from reference_server.engine.vocabulary import Vocabulary

TEXTS = [
    "你好，世界",
    "a😀b👨‍👩‍👧‍👦🇨🇳",
    "\U0010ffff\u0800\u07ff\u0080\x7f",
    "line\n\ttab  two spaces ",
    "<think>|<|end|>",
]


def _byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=290, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.add_special_tokens([AddedToken("<|end|>", special=True)])
    tokenizer.add_tokens([AddedToken("<think>"), AddedToken("\u0120x")])
    return tokenizer


def _byte_fallback() -> Tokenizer:
    """Return a tokenizer like SentencePiece: U+2581 for a space, <0x..> for bytes, no space before the first word."""
    words = [
        "<unk>",
        "\u2581",
        "\u2581hello",
        "\u2581world",
        "lo",
        "\u2581\u2581",
        *[f"<0x{n:02X}>" for n in range(256)],
    ]
    tokenizer = Tokenizer(
        models.BPE({word: index for index, word in enumerate(words)}, [], unk_token="<unk>", byte_fallback=True)
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken("<s>", special=True)])
    return tokenizer


BYTE_LEVEL = _byte_level()
BYTE_FALLBACK = _byte_fallback()


def _joined(tokenizer: Tokenizer, ids: list[int]) -> bytes:
    vocabulary = Vocabulary(tokenizer)
    return b"".join(vocabulary.token_bytes(token_id, first=at == 0) for at, token_id in enumerate(ids))


@pytest.mark.parametrize("text", TEXTS)
def test_the_bytes_of_the_tokens_are_the_bytes_of_the_text(text: str) -> None:
    assert text.encode() == _joined(BYTE_LEVEL, BYTE_LEVEL.encode(text).ids)


@pytest.mark.parametrize("tokenizer", [BYTE_LEVEL, BYTE_FALLBACK], ids=["byte level", "byte fallback"])
def test_the_bytes_of_random_tokens_are_those_of_the_decoded_text(tokenizer: Tokenizer) -> None:
    generator = random.Random(4)
    characters = set(map(ord, "hello world"))
    vocabulary = Vocabulary(tokenizer)
    # Only whole characters are compared: tokenizers decode incomplete ones to U+FFFD in different ways.
    whole = [i for i in range(tokenizer.get_vocab_size()) if set(vocabulary.token_bytes(i, first=False)) <= characters]
    assert len(whole) > 5
    for _ in range(200):
        ids = [generator.choice(whole) for _ in range(generator.randrange(1, 12))]
        assert tokenizer.decode(ids, skip_special_tokens=False).encode() == _joined(tokenizer, ids)


def test_every_byte_of_a_split_character_is_kept() -> None:
    emoji = [BYTE_FALLBACK.token_to_id(f"<0x{byte:02X}>") or 0 for byte in "😀".encode()]
    hello = BYTE_FALLBACK.token_to_id("\u2581hello") or 0
    vocabulary = Vocabulary(BYTE_FALLBACK)
    assert [vocabulary.token_bytes(token_id, first=False) for token_id in emoji] == [b"\xf0", b"\x9f", b"\x98", b"\x80"]
    assert "hello😀 hello".encode() == _joined(BYTE_FALLBACK, [hello, *emoji, hello])
    symbols = [BYTE_LEVEL.token_to_id(symbol) or 0 for symbol in "ðŁĺĢ"]
    assert "😀".encode() == _joined(BYTE_LEVEL, symbols)
    assert [len(Vocabulary(BYTE_LEVEL).token_bytes(token_id, first=False)) for token_id in symbols] == [1] * 4


def test_a_word_loses_its_space_only_at_the_beginning() -> None:
    vocabulary = Vocabulary(BYTE_FALLBACK)
    hello = BYTE_FALLBACK.token_to_id("\u2581hello") or 0
    assert (vocabulary.token_bytes(hello, first=True), vocabulary.token_bytes(hello, first=False)) == (
        b"hello",
        b" hello",
    )


def test_added_tokens_are_their_own_text_and_unknown_ids_have_no_text() -> None:
    vocabulary = Vocabulary(BYTE_LEVEL)
    ids = {text: BYTE_LEVEL.token_to_id(text) or 0 for text in ("<|end|>", "<think>", "\u0120x")}
    assert [text.encode() for text in ids] == [
        vocabulary.token_bytes(identifier, first=False) for identifier in ids.values()
    ]
    assert vocabulary.special == {ids["<|end|>"]}
    assert vocabulary.token_bytes(10**6, first=True) == b""
    assert Vocabulary(Tokenizer(models.BPE())).token_bytes(0, first=False) == b""
