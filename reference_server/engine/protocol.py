"""What an engine is to its caller: submit a prompt, read deltas, cancel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from reference_server.engine.params import SamplingParams
    from reference_server.engine.tool_use import CallPiece

FinishReason = Literal["stop", "length", "repetition", "tool_calls"]


class EngineError(Exception):
    """The engine died, was closed, or could not go on with this request."""


class Unavailable(EngineError):
    """The engine cannot take this request now; later it may."""


class PromptTooLong(EngineError):
    """The prompt leaves no room for a single generated token."""

    def __init__(self, prompt_tokens: int, limit: int) -> None:
        super().__init__(f"the prompt has {prompt_tokens} tokens and at most {limit} fit: shorten it")
        self.prompt_tokens = prompt_tokens
        self.limit = limit


class ChatTemplateError(EngineError, ValueError):
    """The checkpoint's chat template cannot render these messages."""


class UnusableGrammar(ValueError):
    """No grammar can be made of what a request asks; the words say why, and of which part."""


class CheckpointError(Exception):
    """A checkpoint directory is missing, broken or not supported."""


class TokenLogprob(NamedTuple):  # made many times for every token, and cheaper than a dataclass
    """How likely the model found one token.

    text: what the token stands for; U+FFFD for bytes that are no whole characters.
    data: its bytes, also where they are only a part of a character; None for a token that leaves no trace in
        the text: one that ends the sequence, or a special one where those are left out.
    logprob: natural logarithm of the model's own probability, at most 0, possibly -inf.
    top: the most likely tokens at this place, the likeliest first; empty in the entries of `top` itself.
    token_id: -1 where nobody here can know.
    """

    text: str
    data: bytes | None
    logprob: float
    top: tuple[TokenLogprob, ...] = ()
    token_id: int = -1


@dataclass(frozen=True, slots=True)
class RankedLogprob:
    """How likely the model found one token at its place in the prompt; rank: 1 for the likeliest."""

    token_id: int
    text: str
    logprob: float
    rank: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model was given.

    text: as the template wrote it, control tokens included. logprobs: for each token itself and the likeliest ones at
    its place, None for the first one; None where nobody asked.
    """

    token_ids: tuple[int, ...]
    text: str
    logprobs: tuple[tuple[RankedLogprob, ...] | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """What one generated token added to one choice; an engine of ours has exactly one for each token of each choice.

    text: newly visible text; may be empty while text is held back for a possible stop text or for the rest
        of a character.
    finish_reason: set on the choice's last delta and on no other.
    batch_size: sequences in the forward pass that made the token.
    queue_wait_s: measured from the moment the token could be scheduled (submission, or the previous token)
        to the start of its forward pass.
    step_s: measured duration of that forward pass and its sampling; for the first token this is the prefill.
    index: of the choice, from 0.
    logprob: of the token, where the request asked for it.
    reasoning: what text is to the answer, to the thought before it, where the request wants them apart.
    cached_tokens: on a choice's first delta, how many tokens of the prompt needed not be computed, because
        another request had left them; on all others 0. None: nobody here can know.
    stop_reason: beside a finish reason, the stop text or the token id of stop_token_ids that ended the choice.
    prompt: on the first delta of a request that asked for it.
    calls: what it added to the calls of tools.
    predicted: whether the token came as the request's prediction had it; None where it has none.
    tokens: how many tokens it stands for: where another server generates, several may come together, or an end alone.

    Where nobody here can know, batch_size, queue_wait_s and step_s are None, and token_id is -1.
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


class Generation(Protocol):
    """One request in an engine: an asynchronous iterator of deltas, read by one task on the submitting loop.

    Deltas of a choice come in order, those of different choices in any; where the best of several are returned,
    all come at the end. Iteration ends when every choice had its delta with a finish reason, ends early after
    `cancel`, and raises EngineError when the engine cannot go on.

    prompt_tokens: known when the first delta with a finish reason comes, or before.
    """

    prompt_tokens: int

    def __aiter__(self) -> AsyncIterator[Delta]: ...

    async def __anext__(self) -> Delta: ...

    def cancel(self) -> None:
        """Stop within one step and free the slots; harmless when repeated or late. Call it on the loop."""


class Engine(Protocol):
    """A source of generations.

    alive: whether requests are taken; where not, every submit raises EngineError.
    dead: whether that is for good.
    parsed_arguments: whether `encode_chat` takes the arguments of earlier calls as objects, not as JSON text.
    lacking: capabilities, by their names in contracts, that its model has not got.
    """

    parsed_arguments: bool = True
    lacking: frozenset[str] = frozenset()

    @property
    def alive(self) -> bool: ...

    @property
    def dead(self) -> bool:
        return not self.alive

    def encode_chat(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """The prompt, up to where the assistant begins, as `submit` of the same engine takes it: token ids, where
        the engine is ours. Raises ChatTemplateError."""

    def prepare(self, prompt: Any, params: SamplingParams) -> None:
        """Work out ahead, in a thread of the request's own, what may take long; raises UnusableGrammar."""
        del prompt, params  # an engine may have nothing to work out

    def submit(self, prompt: Any, params: SamplingParams) -> Generation:
        """Queue a request, from the event loop's thread; raises PromptTooLong, ValueError or EngineError."""

    def close(self) -> None:
        """Stop the engine; what is in flight fails with EngineError. Harmless when repeated."""
