"""Token constraints of one request: biases of single tokens, and tokens that must not or must follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.engine.device import torch
from reference_server.engine.transfers import move, upload

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as Seq

    from reference_server.engine.params import SamplingParams
    from reference_server.engine.vocabulary import Vocabulary

Word = tuple[int, ...]
MAX_OPENING_POSITION = 4  # reasoning starts at the beginning, after white space at most


class Bias:
    """Constraints of a request on single tokens, applied to the logits before the penalties.

    The order is that of vLLM: allowed tokens, bad words and the tokens that must not end the answer yet, then biases.

    ends: token ids that end the answer; they are banned for the first min_tokens tokens.
    thinking: whether the prompt ends inside reasoning. Reasoning that has used up its budget is closed, whatever the
        other parameters are.

    Raises ValueError for token ids outside the vocabulary, if no token remains to choose from, and for a
    thinking_budget if the reasoning is not closed by a single token.
    """

    def __init__(
        self,
        params: SamplingParams,
        vocabulary: Vocabulary,
        vocabulary_size: int,
        ends: frozenset[int],
        *,
        thinking: bool = False,
    ) -> None:
        self._budget = params.thinking_budget if params.reasoning else None
        self._thinking = thinking
        self._opening, self._closing = map(vocabulary.tokenizer.token_to_id, vocabulary.reasoning_markers)
        if self._budget is not None and (self._opening is None or self._closing is None):
            raise ValueError("thinking_token_budget needs a model with single tokens that open and close reasoning")
        check_token_ids("logit_bias", (token for token, _ in params.logit_bias), vocabulary_size)
        self.added = dict(params.logit_bias)
        self._min_tokens = params.min_tokens
        self._ends = sorted(token for token in ends if 0 <= token < vocabulary_size)
        if params.end_bias:
            for token in set(self._ends) - params.stop_token_ids:
                self.added[token] = self.added.get(token, 0.0) + params.end_bias
        words = [word for text in params.bad_words for word in _word_token_ids(text, vocabulary)]
        self._words = [word for word in words if len(word) > 1]
        self._always_banned = sorted({word[0] for word in words if len(word) == 1})
        self.denied_mask: torch.Tensor | None = None
        if params.allowed_token_ids is not None:
            check_token_ids("allowed_token_ids", params.allowed_token_ids, vocabulary_size)
            self.denied_mask = torch.ones(vocabulary_size, dtype=torch.bool)
            self.denied_mask[torch.tensor(sorted(params.allowed_token_ids))] = False
            left = params.allowed_token_ids.difference(self._always_banned)
            if not left or (params.min_tokens and left <= ends):
                raise ValueError("allowed_token_ids leaves no token that can be generated: allow others")

    @classmethod
    def from_params(
        cls,
        params: SamplingParams,
        vocabulary: Vocabulary,
        vocabulary_size: int,
        ends: frozenset[int],
        *,
        thinking: bool = False,
    ) -> Bias | None:
        """Return the bias of a request, or None if its parameters concern no single tokens."""
        plain = not (params.logit_bias or params.end_bias or params.min_tokens or params.bad_words)
        unlimited = params.thinking_budget is None or not params.reasoning
        if plain and unlimited and params.allowed_token_ids is None:
            return None
        return cls(params, vocabulary, vocabulary_size, ends, thinking=thinking)

    def forced_token(self, generated: Seq[int]) -> int | None:
        """Return the only token that may come next: the end of reasoning whose budget is used up."""
        if self._budget is None:
            return None
        begin = 0
        if not self._thinking:
            if self._opening not in generated[:MAX_OPENING_POSITION]:
                return None
            begin = generated.index(self._opening) + 1
        used_up = len(generated) - begin == self._budget and self._closing not in generated[begin:]
        return self._closing if used_up else None

    def banned_tokens(self, generated: Seq[int]) -> list[int]:
        """Return the tokens that must not come next."""
        banned = list(self._always_banned)
        if len(generated) < self._min_tokens:
            banned += self._ends
        for word in self._words:
            before = len(word) - 1
            if len(generated) >= before and tuple(generated[-before:]) == word[:-1]:
                banned.append(word[-1])
        return banned


def apply_biases(logits: torch.Tensor, rows: Seq[tuple[int, Bias, Seq[int]]]) -> None:
    """Apply biases to some rows of logits [rows, vocabulary] in place; rows: (row, bias, tokens generated so far)."""
    row_indices: list[int] = []
    tokens: list[int] = []
    values: list[float] = []
    for row, bias, generated in rows:
        if (token := bias.forced_token(generated)) is not None:
            logits[row] = -torch.inf
            logits[row, token] = 0.0
            continue
        if bias.denied_mask is not None:
            logits[row].masked_fill_(move(bias.denied_mask, logits.device), -torch.inf)
        banned = bias.banned_tokens(generated)
        row_indices += [row] * (len(banned) + len(bias.added))
        tokens += [*banned, *bias.added]
        values += [*[-torch.inf] * len(banned), *bias.added.values()]
    if row_indices:
        added = upload(values, logits.device, logits.dtype)
        at, columns = upload([row_indices, tokens], logits.device)
        logits.index_put_((at, columns), added, accumulate=True)


def _word_token_ids(text: str, vocabulary: Vocabulary) -> list[Word]:
    """Return the tokens of a word at the start and, if there are as many, of the word after a space, as in vLLM."""
    bare = text.lstrip()
    first = vocabulary.encode(bare)
    spaced = vocabulary.encode(f" {bare}")
    if spaced and len(spaced) == len(first) and spaced[0] != first[0]:
        return [first, spaced]
    return [first] if first else []


def check_token_ids(name: str, tokens: Iterable[int], vocabulary_size: int) -> None:
    """Raise ValueError for a token id outside the vocabulary. name: of the parameter that contains it."""
    for token in tokens:
        if not 0 <= token < vocabulary_size:
            raise ValueError(
                f"{name} contains token {token}, which is outside the vocabulary of {vocabulary_size} tokens: remove it"
            )
