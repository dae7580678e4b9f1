"""The interface between an engine and its caller: submit a prompt, read deltas, cancel."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from reference_server.engine.media import MediaNeeds
    from reference_server.engine.params import SamplingParams
    from reference_server.engine.tool_use import CallPiece

DEFAULT_SLOTS = 20
"""Number of sequences that run at once, unless the operator or the memory sets another."""
PREFILL_TOKENS = 256
DEVICE_PREFILL_TOKENS = 2048
"""The same on an accelerator, where launching the operators of a pass takes as long as computing hundreds of tokens."""
WARM_UP_S = 120.0

FinishReason = Literal["stop", "length", "repetition", "tool_calls"]


class EngineError(Exception):
    """The engine died, was closed, or cannot continue this request."""


class Unavailable(EngineError):
    """The engine cannot take this request now, but may be able to later."""


class Unsatisfiable(EngineError):
    """The request's own constraints allow no (further) token, or are too complex; the message names the constraint."""


class PromptTooLong(EngineError):
    """The prompt leaves no position for a generated token.

    counted: whether prompt_tokens is the number of tokens, and not only the least number that the text can have.
    media_tokens: how many of them stand for media.
    """

    def __init__(self, prompt_tokens: int, limit: int, *, counted: bool = True, media_tokens: int = 0) -> None:
        number = f"{prompt_tokens} tokens" if counted else f"at least {prompt_tokens} tokens"
        if media_tokens:
            number += f" ({prompt_tokens - media_tokens} of text and {media_tokens} of media)"
        super().__init__(f"the prompt has {number}, but at most {limit} fit: shorten it")
        self.prompt_tokens = prompt_tokens
        self.limit = limit


class ChatTemplateError(EngineError, ValueError):
    """The checkpoint's chat template cannot render these messages."""


class UnusableGrammar(ValueError):
    """The requested output format cannot be compiled to a grammar; the message names the part and the reason."""


class CheckpointError(Exception):
    """A checkpoint directory is missing, broken or not supported."""


class TokenLogprob(NamedTuple):  # created several times per token, and cheaper than a dataclass
    """The log-probability of one token.

    text: text of the token, with U+FFFD for bytes that are not whole characters.
    data: bytes of the token, including bytes that are only part of a character; None for a token that adds no text: one
        that ends the sequence, or a special token if special tokens are left out.
    logprob: natural logarithm of the model's own probability, at most 0, possibly -inf.
    top: the most likely tokens at this position, most likely first; empty in the entries of `top` itself.
    token_id: -1 if unknown.
    """

    text: str
    data: bytes | None
    logprob: float
    top: tuple[TokenLogprob, ...] = ()
    token_id: int = -1


@dataclass(frozen=True, slots=True)
class RankedLogprob:
    """The log-probability of one token at its position in the prompt; rank 1 is the most likely token."""

    token_id: int
    text: str
    logprob: float
    rank: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """The prompt that the model received.

    text: as rendered by the chat template, including control tokens.
    logprobs: for each position, the prompt's token and the most likely tokens; None for the first position. None if not
        requested.
    """

    token_ids: tuple[int, ...]
    text: str
    logprobs: tuple[tuple[RankedLogprob, ...] | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """The contribution of one generated token to one choice; the local engine creates one delta per token and choice.

    text: new visible text; may be empty while text is held back because a stop string may have begun or a character is
        incomplete.
    token_id: -1 if unknown.
    finish_reason: set on the last delta of the choice only.
    batch_size: number of sequences in the forward pass that produced the token; None if unknown.
    queue_wait_s: seconds from when the token could be scheduled (submission, or the previous token) to the start of its
        forward pass; None if unknown.
    step_s: duration of that forward pass and its sampling, in seconds; for the first token, of the prefill. None if
        unknown.
    index: index of the choice, from 0.
    logprob: of the token, if requested.
    reasoning: new visible reasoning, if the request separates reasoning from the answer.
    tokens: number of tokens in this delta; a remote engine may combine several tokens, or send a finish reason without
        a token.
    cached_tokens: on the first delta of a choice, the number of prompt tokens whose computation was reused from another
        request; 0 on all others. None if unknown.
    stop_reason: with a finish reason, the stop string or the token id of stop_token_ids that ended the choice.
    prompt: on the first delta of a request, if requested.
    calls: additions to tool calls.
    predicted: whether the token matches the predicted output of the request; None if the request has none.
    """

    text: str
    token_id: int
    finish_reason: FinishReason | None
    batch_size: int | None
    queue_wait_s: float | None
    step_s: float | None
    index: int = 0
    logprob: TokenLogprob | None = None
    reasoning: str = ""
    tokens: int = 1
    cached_tokens: int | None = 0
    stop_reason: str | int | None = None
    prompt: Prompt | None = None
    calls: tuple[CallPiece, ...] = ()
    predicted: bool | None = None


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """What an engine does at one moment.

    running, waiting: number of sequences that have a slot, and that wait for one.
    cache_usage: share of the key-value cache that running sequences fill, 0 to 1.
    """

    running: int
    waiting: int
    cache_usage: float


class Generation(Protocol):
    """One request in an engine: an asynchronous iterator of deltas, read by one task on the submitting event loop.

    The deltas of one choice arrive in order; those of different choices may interleave. If only the best of several
    choices are returned, all deltas arrive at the end. Iteration ends when each choice has had a delta with a finish
    reason, or after `cancel`; it raises EngineError if the engine cannot continue.

    prompt_tokens: final by the time the first delta with a finish reason arrives; None if a remote engine does not
        report it.
    """

    prompt_tokens: int | None

    def __aiter__(self) -> AsyncIterator[Delta]: ...

    async def __anext__(self) -> Delta: ...

    def cancel(self) -> None:
        """Stop within one step and free the slots. Call it on the event loop; repeated or late calls have no effect."""


class Engine(Protocol):
    """A source of generations.

    alive: whether requests are accepted; if not, every submit raises EngineError.
    dead: whether the engine will never accept requests again.
    parsed_arguments: whether `encode_chat` takes the arguments of earlier tool calls as objects instead of JSON
        strings.
    lacking: capabilities that the model does not have, by their names in contracts.
    sampling_defaults: the model's own values of sampling parameters, by their names in SamplingParams, for requests and
        contracts that leave them open.
    slots: number of sequences that run at once; a remote engine, which does not know it, has the default.
    media: what the model takes of media; None if it reads text only.
    """

    parsed_arguments: bool = True
    slots: int = DEFAULT_SLOTS
    lacking: frozenset[str] = frozenset()
    media: MediaNeeds | None = None
    sampling_defaults: Mapping[str, float] = MappingProxyType({})

    @property
    def alive(self) -> bool: ...

    @property
    def current_load(self) -> EngineLoad | None:
        """What the engine does now, from any thread; None for an engine that cannot tell."""
        return None

    @property
    def dead(self) -> bool:
        return not self.alive

    def encode_chat(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the prompt up to the start of the assistant's turn, as `submit` of the same engine takes it.

        Content is a string or a list of parts; the part of a medium has it decoded under `media`.

        A local engine returns token ids. Raises ChatTemplateError.
        """

    def check_size(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, params: SamplingParams
    ) -> None:
        """Raise PromptTooLong if the text alone shows it, before a template or a tokenizer works on it."""
        del messages, tools, params  # most engines cannot tell

    def prepare(self, prompt: Any, params: SamplingParams) -> None:
        """Do slow preparation ahead of `submit`, in a thread; raise PromptTooLong or UnusableGrammar."""
        del prompt, params  # most engines need no preparation

    def submit(self, prompt: Any, params: SamplingParams) -> Generation:
        """Queue a request. Call it on the event loop; raise PromptTooLong, ValueError or EngineError."""

    def release_memory(self) -> None:
        """Return freed memory to the operating system, after a large request; may take some milliseconds."""
        del self  # most engines keep none

    def close(self) -> None:
        """Stop the engine; requests in flight fail with EngineError. Repeated calls have no effect."""
