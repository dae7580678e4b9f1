"""Trains the tokenizer: byte-level BPE with 4,096 tokens, trained on the dialogues.

A space belongs to the preceding word or punctuation mark, so a text has the same tokens at the start of an answer as in
the middle of a question, and repeating a text means repeating its tokens. Each digit is one token. There is no
normalisation, so any Unicode text is preserved.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from reference_server.tiny.dialogues import BALANCED, draw
from reference_server.tiny.rendering import CHAT_TEMPLATE, prompt_text
from reference_server.tiny.turn import END_OF_TEXT, END_OF_TURN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VOCABULARY_SIZE = 4096
MAX_TOKENS = 4096
SPECIAL_TOKENS = (END_OF_TEXT, "<|im_start|>", END_OF_TURN)
ADDED_TOKENS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
CORPUS_SEED = 1000
CORPUS_SAMPLES = 6000
NON_ASCII_KEPT = 0.1
"""Share of the non-ASCII samples in the training corpus: small, so that characters are split across tokens."""

_PIECES = (
    r"\p{L}[\p{L}\p{M}]* ?"  # a word and the space after it
    r"|\p{N}"  # one digit
    r"|(?: ?[!-/:-@\[-`{-~])+ ?"  # ASCII punctuation with surrounding spaces, which keeps JSON short
    r"|\s*[\r\n]+"  # line ends
    r"|[^\S\r\n]"  # one space
    r"|[^\s\p{L}\p{N}!-/:-@\[-`{-~]"  # one symbol, emoji or mark
)


def train_tokenizer(corpus: Iterator[str]) -> PreTrainedTokenizerFast:
    """Train a tokenizer of exactly `VOCABULARY_SIZE` tokens on `corpus`.

    Raises ValueError if the corpus is too small for that many merges.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    merged_size = VOCABULARY_SIZE - len(SPECIAL_TOKENS) - len(ADDED_TOKENS)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(
        corpus, trainers.BpeTrainer(vocab_size=merged_size, initial_alphabet=alphabet, show_progress=False)
    )
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in ADDED_TOKENS])
    if tokenizer.get_vocab_size() != VOCABULARY_SIZE:
        raise ValueError(
            f"the corpus gave {tokenizer.get_vocab_size()} tokens instead of {VOCABULARY_SIZE}: give a larger one"
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END_OF_TURN,
        pad_token=END_OF_TEXT,
        model_max_length=MAX_TOKENS,
        clean_up_tokenization_spaces=False,
        chat_template=CHAT_TEMPLATE.read_text(encoding="utf-8"),
    )


def corpus(seed: int = CORPUS_SEED, samples: int = CORPUS_SAMPLES) -> Iterator[str]:
    """Yield the training corpus of the tokenizer: rendered samples of the balanced mix."""
    rng = Random(seed)
    for _ in range(samples):
        sample = draw(rng, BALANCED)
        text = prompt_text(sample) + sample.answer()
        if text.isascii() or rng.random() < NON_ASCII_KEPT:
            yield text


def save_tokenizer(tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write tokenizer.json, tokenizer_config.json and chat_template.jinja to `folder`."""
    tokenizer.save_pretrained(folder)
