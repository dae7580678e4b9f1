"""SamplingParams: everything a request may ask of the sampler, already checked."""

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
    top_p: in (0, 1]: only the smallest set of most likely tokens whose probability reaches it is kept.
    top_k: how many of the most likely tokens are kept; not positive, or the vocabulary's size and more: all.
    min_p: 0 to 1: only tokens at least so probable, compared with the most likely one, are kept. After the
        temperature and before top_k, as in vLLM.
    logit_bias: (token id, number) pairs, added to the logits before the penalties.
    allowed_token_ids: the only tokens that may be generated, at least one; None: all.
    end_bias: added to the logits of the model's own end-of-sequence tokens, where they end the sequence.
    bad_words: texts whose last token is never chosen after the others; none is empty. As in vLLM, their tokens are
        those of the word alone and, where those are as many, of the word after a space.
    min_tokens: so many tokens come before one of them may end the sequence; stop texts count after them too.
    presence_penalty, frequency_penalty: subtracted from the logit of every token already generated, once,
        respectively once for each time it was generated. The prompt does not count.
    repetition_penalty: positive; divides positive logits and multiplies the others, for every token that
        stands in the prompt or was generated.
    seed: 0 to 2**64 - 1; equal seeds give equal tokens whatever else is in the batch. None draws one.
    stop: texts that end the sequence; none is empty. Only text that is shown counts.
    stop_token_ids: tokens that end the sequence; ids outside the vocabulary never match.
    include_stop_str_in_output: whether the stop text that matched stays at the end of the text.
    skip_special_tokens: whether special tokens are left out of the text.
    ignore_eos: whether the model's own end-of-sequence tokens are tokens like any other.
    logprobs: 0 to 20; each token comes with its log-probability and those of so many most likely tokens.
        None: without. They are the model's own, before penalties, temperature and narrowing, as vLLM's
        default `raw_logprobs` has them: so they do not change with the parameters, and the alternatives that
        narrowing removes keep a finite number.
    logprob_token_ids: beside the most likely tokens these are listed too, where there are log-probabilities.
    prompt_logprobs: 0 to 20; each token of the prompt comes with its log-probability and those of so many most
        likely tokens, but for the first, before which there is nothing. None: without.
    returns_prompt: whether the first delta holds the prompt; it does so with prompt_logprobs too.
    truncate_prompt_tokens: a longer prompt is cut to so many tokens, at least 1, or where it is -1 to as many as leave
        room for one more. None: it is refused.
    keeps_beginning: whether a cut prompt keeps its beginning, not its end.
    priority: who waits goes before all that have a greater one, and after those that have the same and came before.
    repetition: the answer ends where its last tokens are one pattern, several times in a row; None: nowhere.
    spaces_between_special_tokens: whether a special token that follows another one keeps the space that the
        tokenizer puts before it.
    thinking_budget: where the answer's reasoning is told apart, a thought is closed after so many tokens, at least 0;
        None: never.
    reasoning: whether what the model thinks before it answers comes as reasoning, apart from the text. Stop texts
        end either.
    n: 1 to 128 answers are returned. Each has a stream of random numbers of its own, which the seed and its
        place decide; the first one's is that of a request for a single answer.
    best_of: at least n; so many are generated, and the n of them with the greatest log-probability (that of
        all tokens together, as for logprobs) are returned, the best first. None: n.
    beam_search: whether to search with best_of (else n) beams instead of sampling, and return the best n answers.
        Temperature, top_p, top_k, min_p and seed have no part in it.
    length_penalty: of a search: a finished answer's score is its log-probability divided by its length to the
        power of this.
    beam_groups: of a search: divides its beams into groups of equal size.
    diversity_penalty: of a search: subtracted from a beam's log-probability for each beam of an earlier group
        that goes on with the same token in the same step.

    cache_salt: a prompt takes over of others only what was computed under the same one; None is one of them.
    predicted: what the answer is likely to be: tokens that come as it says are counted. None: nothing is.
    tools: which tools the answers may call; what they say then comes apart from the calls.
    grammar: the rules of `spoken`, which the text of the answers must fit, in llguidance's variant of Lark. Thoughts
        and calls are no part of it.
    response_format, structured_outputs: what the grammar was made of, as JSON text, for an engine elsewhere.

    Raises ValueError for a value out of its range.
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
            raise ValueError(f"max_tokens is {self.max_tokens}: it must be at least 1")
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature is {self.temperature}: it must be 0 or a positive finite number")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p is {self.top_p}: it must be above 0 and at most 1")
        if not 0 <= self.min_p <= 1:
            raise ValueError(f"min_p is {self.min_p}: it must be from 0 to 1")
        if not all(math.isfinite(value) for _, value in self.logit_bias):
            raise ValueError("logit_bias holds a number that is not finite: leave it out")
        if self.allowed_token_ids is not None and not self.allowed_token_ids:
            raise ValueError("allowed_token_ids is empty: it must name at least one token")
        if not all(word.strip() for word in self.bad_words):
            raise ValueError("bad_words holds an empty text: remove it")
        if self.min_tokens < 0 or (self.max_tokens is not None and self.min_tokens > self.max_tokens):
            raise ValueError(f"min_tokens is {self.min_tokens}: it must be from 0 to max_tokens, {self.max_tokens}")
        if not (math.isfinite(self.repetition_penalty) and self.repetition_penalty > 0):
            raise ValueError(f"repetition_penalty is {self.repetition_penalty}: it must be a positive finite number")
        for name in ("presence_penalty", "frequency_penalty", "length_penalty", "diversity_penalty", "end_bias"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"{name} is {getattr(self, name)}: it must be finite")
        if self.seed is not None and not 0 <= self.seed < SEED_LIMIT:
            raise ValueError(f"seed is {self.seed}: it must be from 0 to 2**64 - 1")
        for name in ("logprobs", "prompt_logprobs"):
            asked = getattr(self, name)
            if asked is not None and not 0 <= asked <= MAX_LOGPROBS:
                raise ValueError(f"{name} is {asked}: it must be from 0 to {MAX_LOGPROBS}")
        if self.truncate_prompt_tokens is not None and not (
            self.truncate_prompt_tokens == -1 or self.truncate_prompt_tokens >= 1
        ):
            raise ValueError(f"truncate_prompt_tokens is {self.truncate_prompt_tokens}: it must be -1 or at least 1")
        if self.thinking_budget is not None and self.thinking_budget < 0:
            raise ValueError(f"thinking_budget is {self.thinking_budget}: it must be at least 0")
        if not 1 <= self.n <= MAX_SEQUENCES:
            raise ValueError(f"n is {self.n}: it must be from 1 to {MAX_SEQUENCES}")
        if self.best_of is not None and not self.n <= self.best_of <= MAX_SEQUENCES:
            raise ValueError(f"best_of is {self.best_of}: it must be from n, {self.n}, to {MAX_SEQUENCES}")
        if self.beam_groups < 1 or self.width % self.beam_groups:
            raise ValueError(f"beam_groups is {self.beam_groups}: it must divide the number of beams, {self.width}")
        if "" in self.stop:
            raise ValueError("stop holds an empty text: remove it")

    @property
    def penalised(self) -> bool:
        """Whether any penalty changes a logit."""
        return (self.presence_penalty, self.frequency_penalty, self.repetition_penalty) != (0.0, 0.0, 1.0)

    @property
    def includes_prompt(self) -> bool:
        """Whether the first delta holds the prompt."""
        return self.returns_prompt or self.prompt_logprobs is not None

    @property
    def width(self) -> int:
        """How many sequences are generated, or how many beams searched with."""
        return self.n if self.best_of is None else self.best_of

    @property
    def ranked(self) -> bool:
        """Whether only the best of the sampled sequences are returned."""
        return self.width > self.n and not self.beam_search

    @property
    def known_at_end(self) -> bool:
        """Whether no answer is known before all are."""
        return self.beam_search or self.ranked

    def truncate_prompt(self, prompt: list[int], room: int) -> list[int]:
        """The prompt as it is generated from, cut where that is asked for; room: tokens that fit."""
        most = room if self.truncate_prompt_tokens == -1 else self.truncate_prompt_tokens
        if most is None or len(prompt) <= most:
            return prompt
        return prompt[:most] if self.keeps_beginning else prompt[-most:]
