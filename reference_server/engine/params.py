"""Sampling parameters of a request, validated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_server.engine.repetition import Repetition
    from reference_server.engine.tool_use import ToolUse

SEED_LIMIT = 2**64
MAX_LOGPROBS = 20
MAX_SEQUENCES = 128


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How the sequences of one request are sampled and when they end.

    max_tokens: at least 1; None means as many as the server allows.
    temperature: 0 (greedy) or any positive finite number.
    top_p: in (0, 1]: keep only the smallest set of most likely tokens whose total probability reaches it.
    top_k: number of most likely tokens to keep; if not positive, or not smaller than the vocabulary, all are kept.
    min_p: 0 to 1: keep only tokens whose probability is at least this share of the most likely token's. Applied after
        the temperature and before top_k, as in vLLM.
    logit_bias: (token id, number) pairs, added to the logits before the penalties.
    allowed_token_ids: the only tokens that may be generated, at least one; None: all.
    end_bias: added to the logits of the model's own end-of-sequence tokens, if they end the sequence.
    bad_words: non-empty strings whose last token is never chosen after their other tokens. As in vLLM, a word is
        tokenized alone and, if that gives the same number of tokens, also after a space.
    min_tokens: number of tokens before an end token or a stop string may end the sequence.
    presence_penalty, frequency_penalty: subtracted from the logit of every token that was generated before: once, and
        once per occurrence. The prompt does not count.
    repetition_penalty: positive; divides positive logits and multiplies the others, for every token in the prompt or
        generated before.
    seed: 0 to 2**64 - 1; equal seeds give equal tokens whatever else is in the batch. None: a random seed.
    stop: non-empty strings that end the sequence; only visible text is searched.
    stop_token_ids: tokens that end the sequence; ids outside the vocabulary never match.
    include_stop_str_in_output: whether the matched stop string remains at the end of the text.
    skip_special_tokens: whether special tokens are left out of the text.
    ignore_eos: whether the model's own end-of-sequence tokens are treated as ordinary tokens.
    logprobs: 0 to 20; return with each token its log-probability and those of this number of most likely tokens. None:
        no log-probabilities. They are the model's own, before penalties, temperature and filters, like vLLM's default
        `raw_logprobs`: they do not depend on the parameters, and filtered alternatives keep a finite number.
    logprob_token_ids: tokens to list in addition to the most likely ones, if log-probabilities are returned.
    prompt_logprobs: 0 to 20; return for each token of the prompt except the first its log-probability and those of this
        number of most likely tokens. None: no prompt log-probabilities.
    returns_prompt: whether the first delta contains the prompt; prompt_logprobs implies it.
    truncate_prompt_tokens: truncate a longer prompt to this number of tokens, at least 1; -1 truncates to what leaves
        one position for a generated token. None: refuse a prompt that is too long.
    keeps_beginning: whether truncation keeps the beginning of the prompt instead of its end.
    priority: waiting requests with a smaller number run first; equal numbers run in order of arrival.
    repetition: end the answer when its last tokens are one pattern repeated; None: never.
    spaces_between_special_tokens: whether a special token after another one keeps the space that the tokenizer puts in
        front of it.
    thinking_budget: if reasoning is separated from the answer, close it after this number of tokens, at least 0; None:
        never.
    reasoning: whether the reasoning is returned separately from the answer. Stop strings end either.
    n: 1 to 128 answers are returned. Each has its own stream of random numbers, derived from the seed and its index;
        the first stream is that of a request for one answer.
    best_of: at least n; generate this number of sequences and return the n with the greatest total log-probability (of
        all tokens, as for logprobs), best first. None: n.
    beam_search: whether to search with best_of (or n) beams instead of sampling, and return the best n answers. Ignores
        temperature, top_p, top_k, min_p and seed.
    length_penalty: beam search only: the score of a finished answer is its log-probability divided by its length to the
        power of this number.
    beam_groups: beam search only: number of groups of equal size that the beams are divided into.
    diversity_penalty: beam search only: subtracted from the log-probability of a beam for each beam of an earlier group
        that continues with the same token in the same step.
    cache_salt: a prompt reuses only computations of prompts with the same salt; None counts as a salt of its own.
    predicted: predicted output: tokens that match it are counted. None: no prediction.
    tools: tools that the answers may call; text is then returned separately from the calls.
    grammar: rules of `content`, which the text of the answers must match, in llguidance's variant of Lark. Reasoning
        and tool calls are not part of it.
    response_format, structured_outputs: the source of the grammar as JSON text, for a remote engine.

    Raises ValueError for a value out of range.
    """

    max_tokens: int | None = None
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    allowed_token_ids: frozenset[int] | None = None
    end_bias: float = 0.0
    bad_words: tuple[str, ...] = ()
    min_tokens: int = 0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    stop_token_ids: frozenset[int] = frozenset()
    include_stop_str_in_output: bool = False
    skip_special_tokens: bool = True
    ignore_eos: bool = False
    logprobs: int | None = None
    logprob_token_ids: tuple[int, ...] = ()
    prompt_logprobs: int | None = None
    returns_prompt: bool = False
    truncate_prompt_tokens: int | None = None
    keeps_beginning: bool = False
    priority: int = 0
    repetition: Repetition | None = None
    spaces_between_special_tokens: bool = True
    thinking_budget: int | None = None
    reasoning: bool = False
    n: int = 1
    best_of: int | None = None
    beam_search: bool = False
    length_penalty: float = 1.0
    beam_groups: int = 1
    diversity_penalty: float = 0.0
    cache_salt: str | None = None
    predicted: str | None = None
    tools: ToolUse | None = None
    grammar: str | None = None
    response_format: str | None = None
    structured_outputs: str | None = None

    def __post_init__(self) -> None:
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError(f"invalid max_tokens: expected at least 1, got {self.max_tokens}")
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"invalid temperature: expected 0 or a positive finite number, got {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"invalid top_p: expected above 0 and at most 1, got {self.top_p}")
        if not 0 <= self.min_p <= 1:
            raise ValueError(f"invalid min_p: expected 0 to 1, got {self.min_p}")
        if not all(math.isfinite(value) for _, value in self.logit_bias):
            raise ValueError("logit_bias contains a number that is not finite: remove it")
        if self.allowed_token_ids is not None and not self.allowed_token_ids:
            raise ValueError("invalid allowed_token_ids: expected at least one token")
        if not all(word.strip() for word in self.bad_words):
            raise ValueError("bad_words contains an empty string: remove it")
        if self.min_tokens < 0 or (self.max_tokens is not None and self.min_tokens > self.max_tokens):
            raise ValueError(f"invalid min_tokens: expected 0 to max_tokens ({self.max_tokens}), got {self.min_tokens}")
        if not (math.isfinite(self.repetition_penalty) and self.repetition_penalty > 0):
            raise ValueError(
                f"invalid repetition_penalty: expected a positive finite number, got {self.repetition_penalty}"
            )
        for name in ("presence_penalty", "frequency_penalty", "length_penalty", "diversity_penalty", "end_bias"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"invalid {name}: expected a finite number, got {getattr(self, name)}")
        if self.seed is not None and not 0 <= self.seed < SEED_LIMIT:
            raise ValueError(f"invalid seed: expected 0 to 2**64 - 1, got {self.seed}")
        for name in ("logprobs", "prompt_logprobs"):
            count = getattr(self, name)
            if count is not None and not 0 <= count <= MAX_LOGPROBS:
                raise ValueError(f"invalid {name}: expected 0 to {MAX_LOGPROBS}, got {count}")
        if self.truncate_prompt_tokens is not None and not (
            self.truncate_prompt_tokens == -1 or self.truncate_prompt_tokens >= 1
        ):
            raise ValueError(
                f"invalid truncate_prompt_tokens: expected -1 or at least 1, got {self.truncate_prompt_tokens}"
            )
        if self.thinking_budget is not None and self.thinking_budget < 0:
            raise ValueError(f"invalid thinking_budget: expected at least 0, got {self.thinking_budget}")
        if not 1 <= self.n <= MAX_SEQUENCES:
            raise ValueError(f"invalid n: expected 1 to {MAX_SEQUENCES}, got {self.n}")
        if self.best_of is not None and not self.n <= self.best_of <= MAX_SEQUENCES:
            raise ValueError(f"invalid best_of: expected n ({self.n}) to {MAX_SEQUENCES}, got {self.best_of}")
        if self.beam_groups < 1 or self.width % self.beam_groups:
            raise ValueError(
                f"invalid beam_groups: expected a divisor of the number of beams ({self.width}), got {self.beam_groups}"
            )
        if "" in self.stop:
            raise ValueError("stop contains an empty string: remove it")

    @property
    def penalised(self) -> bool:
        """Whether any penalty changes a logit."""
        return (self.presence_penalty, self.frequency_penalty, self.repetition_penalty) != (0.0, 0.0, 1.0)

    @property
    def includes_prompt(self) -> bool:
        """Whether the first delta contains the prompt."""
        return self.returns_prompt or self.prompt_logprobs is not None

    @property
    def width(self) -> int:
        """Number of sequences to generate, or of beams."""
        return self.n if self.best_of is None else self.best_of

    @property
    def ranked(self) -> bool:
        """Whether only the best of the sampled sequences are returned."""
        return self.width > self.n and not self.beam_search

    @property
    def known_at_end(self) -> bool:
        """Whether no answer is known until all sequences have finished."""
        return self.beam_search or self.ranked

    def truncate_prompt(self, prompt: list[int], limit: int) -> list[int]:
        """Return the prompt, truncated if the request asks for it. limit: longest prompt that can be continued."""
        most = limit if self.truncate_prompt_tokens == -1 else self.truncate_prompt_tokens
        if most is None or len(prompt) <= most:
            return prompt
        return prompt[:most] if self.keeps_beginning else prompt[-most:]
