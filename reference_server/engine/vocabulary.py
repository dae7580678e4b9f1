"""Text and exact bytes of each token id."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokenizers.decoders import ByteLevel

from reference_server.engine.detokenizer import REPLACEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokenizers import Tokenizer

FALLBACK_BYTE = re.compile("<0x[0-9A-F]{2}>")
# Byte-level vocabularies write bytes that are not printable Latin-1 characters as characters from U+0100 on.
PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
UNPRINTABLE = tuple(byte for byte in range(256) if byte not in PRINTABLE)
BYTE_OF = {chr(byte): byte for byte in PRINTABLE} | {chr(0x100 + at): byte for at, byte in enumerate(UNPRINTABLE)}
SPACE_BYTE = chr(0x120)
# Opening and closing markers of the reasoning; each pair is a pair of tokens in some model families.
REASONING_MARKERS = (("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("<seed:think>", "</seed:think>"))
MAX_OPENING_TOKENS = 16  # tokens, including the white space after the marker


class Vocabulary:
    """Lookups of single tokens in a checkpoint's tokenizer.

    special: ids of the special tokens, which can be left out of the text.
    control_ids: id of every token that was added to the model's own vocabulary, by its text.
    reasoning_markers: texts that open and close the reasoning; <think> and </think> unless the tokenizer has another
        pair as tokens.
    longest_token: number of characters of the longest token; it bounds the number of tokens of a string from below.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        added = tokenizer.get_added_tokens_decoder()
        self.longest_token = max(map(len, tokenizer.get_vocab()), default=1)
        self.special = frozenset(token_id for token_id, token in added.items() if token.special)
        self._added = {token_id: token.content.encode() for token_id, token in added.items()}
        self.control_ids = {token.content: token_id for token_id, token in added.items()}
        contents = self.control_ids.keys()
        available = (pair for pair in REASONING_MARKERS if contents >= set(pair))
        self.reasoning_markers = next(available, REASONING_MARKERS[0])
        decoder = tokenizer.decoder
        self._byte_level = decoder is not None and decoder.decode([SPACE_BYTE]) == " "
        # Results of `decode_token` and `context_free_text`: at most one entry per token.
        self._decoded: tuple[dict[int, tuple[str, bytes]], dict[int, tuple[str, bytes]]] = ({}, {})
        self._context_free_texts: dict[int, str | None] = {}
        self._joined = isinstance(decoder, ByteLevel)
        self._preceding_token = None if self._byte_level else next(self._find_word_tokens(), None)

    def token_bytes(self, token_id: int, *, first: bool) -> bytes:
        """Return the bytes of a token, including bytes that are only part of a character.

        first: whether no text precedes the token; some tokenizers then drop the space of a word.

        The result is empty for an id that the tokenizer does not know. The bytes of all tokens of a string,
        concatenated, are the string in UTF-8.
        """
        return self.decode_token(token_id, first=first)[1]

    def decode_token(self, token_id: int, *, first: bool) -> tuple[str, bytes]:
        """Return (text, bytes) of a token, with U+FFFD for bytes that are not whole characters.

        first: see `token_bytes`.
        """
        cached = self._decoded[first].get(token_id)
        if cached is None:
            data = self._find_bytes(token_id, first)
            cached = self._decoded[first][token_id] = data.decode(errors="replace"), data
        return cached

    def context_free_text(self, token_id: int) -> str | None:
        """Return the text of a token that consists of whole characters and adds the same text in every context.

        Return None for any other token.
        """
        try:
            return self._context_free_texts[token_id]
        except KeyError:
            text, data = self.decode_token(token_id, first=False)
            plain = self._joined and token_id not in self._added and data == text.encode() and text
            self._context_free_texts[token_id] = text if plain and REPLACEMENT not in text else None
            return self._context_free_texts[token_id]

    def _find_bytes(self, token_id: int, first: bool) -> bytes:
        if token_id in self._added:
            return self._added[token_id]
        piece = self.tokenizer.id_to_token(token_id)
        if piece is None:
            return b""
        if self._byte_level and all(character in BYTE_OF for character in piece):
            return bytes(BYTE_OF[character] for character in piece)
        alone = self._decode([token_id])
        if FALLBACK_BYTE.fullmatch(piece) and alone == REPLACEMENT:
            return bytes([int(piece[3:5], 16)])
        if first or self._preceding_token is None:
            return alone.encode()
        return self._decode([self._preceding_token, token_id])[len(self._decode([self._preceding_token])) :].encode()

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the token ids of text that the model could generate."""
        return tuple(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def token_text(self, token_id: int) -> str:
        """Return the text of a token after other text, with U+FFFD for bytes that are not whole characters."""
        return self.decode_token(token_id, first=False)[0]

    def ends_in_reasoning(self, prompt: list[int]) -> bool:
        """Return whether a prompt ends right after the opening marker of the reasoning, as with some chat templates."""
        return self._decode(prompt[-MAX_OPENING_TOKENS:]).rstrip().endswith(self.reasoning_markers[0])

    def _find_word_tokens(self) -> Iterator[int]:
        """Yield ordinary tokens whose text does not depend on the next token."""
        for token_id in range(self.tokenizer.get_vocab_size()):
            if token_id not in self._added:
                once, twice = self._decode([token_id]), self._decode([token_id, token_id])
                if once.isalpha() and twice.startswith(once):
                    yield token_id

    def _decode(self, ids: list[int]) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=False)
