"""Engine output in the dialect's own form: a whole answer, or the chunks of a stream. Pure.

The contract's AnswerForm and StreamForm say what a dialect writes; nothing here knows a dialect by name.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openapi.contract import AnswerForm, Contract
    from reference_server.engine import Delta, SamplingParams, TokenLogprob

Json = dict[str, Any]
ROLE: Final = "assistant"
MILLISECONDS_PER_S: Final = 1_000
MICROSECONDS_PER_S: Final = 1_000_000
LEAST_LOGPROB: Final = -9999.0
REASONING_MEMBERS: Final = ("reasoning", "reasoning_content")


@dataclass(frozen=True, slots=True)
class Heading:
    """What all parts of one answer share. id: None where the dialect has none; created: Unix time in seconds."""

    id: str | None
    created: int
    model: str

    def members(self, kind: str) -> Json:
        """The heading of an answer or a chunk; `kind` is its `object`."""
        named = {} if self.id is None else {"id": self.id}
        return {**named, "object": kind, "created": self.created, "model": self.model}


def completion(contract: Contract, heading: Heading, prompt_tokens: int, deltas: Sequence[Delta]) -> Json:
    """The whole answer; `deltas` holds every choice up to the one that has a finish reason, in whatever order.

    What is measured of steps is that of the first choice.
    """
    choices = by_choice(deltas)
    answer: Json = {
        **heading.members("chat.completion"),
        "choices": [_choice(contract, index, said) for index, said in choices.items()],
        "usage": usage(contract.answer, prompt_tokens, list(chain.from_iterable(choices.values()))),
    }
    if contract.answer.timings:
        steps = [_milliseconds(delta.step_s) for delta in choices[0] if delta.step_s is not None]
        answer |= {"prefill_time": steps[0], "decode_time_arr": steps[1:]} if steps else {}
    return answer


def by_choice(deltas: Iterable[Delta]) -> dict[int, list[Delta]]:
    """Index -> the deltas of that choice, from the first choice to the last."""
    found: defaultdict[int, list[Delta]] = defaultdict(list)
    for delta in deltas:
        found[delta.index].append(delta)
    return dict(sorted(found.items()))


def _choice(contract: Contract, index: int, deltas: Sequence[Delta]) -> Json:
    text, reasoning = _said(deltas)
    thought = {reasoning_member(contract): reasoning} if reasoning else {}
    told = {"logprobs": logprobs(contract, deltas)} if deltas[0].logprob is not None else {}
    return {
        "index": index,
        "message": {"role": ROLE, "content": text, **thought, **contract.answer.message, **thought},
        **contract.answer.choice,
        **told,
        "finish_reason": deltas[-1].finish_reason,
    }


def _said(deltas: Sequence[Delta]) -> tuple[str, str]:
    """(text, reasoning) of the deltas."""
    return "".join(delta.text for delta in deltas), "".join(delta.reasoning for delta in deltas)


def reasoning_member(contract: Contract) -> str:
    """What the dialect calls a thought that stands beside the answer."""
    known = contract.schemas["Answer"]["properties"]
    return next((name for name in REASONING_MEMBERS if name in known), REASONING_MEMBERS[-1])


def logprobs(contract: Contract, deltas: Iterable[Delta]) -> Json:
    """One entry for each token; members of the dialect's object that this server has nothing for are null."""
    members = contract.schemas.get("Logprobs", {}).get("properties", {})
    told = [delta.logprob for delta in deltas if delta.logprob is not None]
    content = [{**_token(each), "top_logprobs": [_token(alternative) for alternative in each.top]} for each in told]
    return {**dict.fromkeys(members), "content": content}


def _token(each: TokenLogprob) -> Json:
    """JSON has no infinity: OpenAI's API writes -9999.0 for what is very unlikely."""
    data = None if each.data is None else list(each.data)
    return {"token": each.text, "logprob": max(each.logprob, LEAST_LOGPROB), "bytes": data}


def usage(form: AnswerForm, prompt_tokens: int, deltas: Sequence[Delta]) -> Json:
    """Tokens counted, with what was measured for each generated token where the form has it."""
    counts: Json = {"prompt_tokens": prompt_tokens}
    if form.cached_tokens:
        counts["prompt_tokens_details"] = {"cached_tokens": max(delta.cached_tokens for delta in deltas)}
    completion_tokens = sum(delta.tokens for delta in deltas)
    counts |= {"completion_tokens": completion_tokens, "total_tokens": prompt_tokens + completion_tokens}
    if form.token_arrays:  # of tokens whose step nobody here has measured there is nothing to say
        sizes = [delta.batch_size for delta in deltas if delta.batch_size is not None]
        waits = [round(delta.queue_wait_s * MICROSECONDS_PER_S) for delta in deltas if delta.queue_wait_s is not None]
        counts |= {"batch_size": sizes} if sizes else {}
        counts |= {"queue_wait_time": waits} if waits else {}
    return counts


def _milliseconds(seconds: float) -> float:
    return round(seconds * MILLISECONDS_PER_S, 3)


class Counted(Protocol):
    """Whose prompt is counted at the latest when an answer to it ends."""

    prompt_tokens: int


class ChunkWriter:
    """The chunks of one stream, in order: `opening`, then `add` for each delta, then `closing`.

    One chunk stands for each generated token. The last one of a choice holds no text, as in the documents' examples,
    so the text of a last token that has one (the limit cut the answer, or a stop text stays in it) comes in a chunk
    before. Answers that are known only when they are whole come in one chunk each, and a last one.
    In full-text mode every chunk holds the whole text so far, the last one included, which names it `full_text` too.

    include_usage: the request asked for the usage that some dialects send only then, once for all choices; the others
    send every choice's own with its last chunk.
    """

    def __init__(
        self,
        contract: Contract,
        heading: Heading,
        counted: Counted,
        params: SamplingParams,
        *,
        full_text: bool,
        include_usage: bool,
    ) -> None:
        self._contract = contract
        self._form = contract.stream
        self._heading = heading.members("chat.completion.chunk")
        self._counted = counted
        self._whole = params.known_at_end
        self._tells_logprobs = params.logprobs is not None
        self._full_text = full_text
        self._asked_for_usage = include_usage and self._form.usage == "on-request"
        self._choices = [_Choice() for _ in range(params.n)]

    def opening(self) -> Iterator[Json]:
        """The chunk that some dialects send of each choice before its first token."""
        if self._form.opening_chunk:
            for index in range(len(self._choices)):
                yield self._chunk(index, [], None)

    def add(self, delta: Delta) -> Iterator[Json]:
        """The chunks of one delta; two for a last one with text."""
        choice = self._choices[delta.index]
        choice.add(delta)
        finished = delta.finish_reason is not None
        if self._whole and not finished:
            return
        new = choice.deltas if self._whole else [delta]
        if not finished or (any(_said(new)) and not self._full_text):
            yield self._chunk(delta.index, new, None)
            new = []
        if finished:
            extra: Json = {}
            if self._full_text:
                extra["full_text"] = choice.text
            if self._form.usage == "with-finish":
                extra["usage"] = usage(self._contract.answer, self._counted.prompt_tokens, choice.deltas)
            yield self._chunk(delta.index, new, delta.finish_reason, extra)

    def closing(self) -> Iterator[Json]:
        """The chunk of usage alone, after the last token, where the request asked for it."""
        if self._asked_for_usage:
            deltas = [delta for choice in self._choices for delta in choice.deltas]
            counts = usage(self._contract.answer, self._counted.prompt_tokens, deltas)
            yield self._ordered({**self._heading, "choices": [], "usage": counts})

    def _chunk(
        self, index: int, new: Sequence[Delta], finish_reason: str | None, extra: Mapping[str, Any] | None = None
    ) -> Json:
        choice = self._choices[index]
        text, reasoning = (choice.text, choice.reasoning) if self._full_text else _said(new)
        delta: Json = {"content": text}
        if reasoning:
            delta[reasoning_member(self._contract)] = reasoning
        if self._form.role == "every-delta" or (self._form.role == "first-delta" and not choice.opened):
            delta = {"role": ROLE, **delta}
        choice.opened = True
        told: Json = {}
        if self._tells_logprobs:
            told["logprobs"] = logprobs(self._contract, new) if new else None
        chunk = {
            **self._heading,
            **({"usage": None} if self._asked_for_usage else {}),
            **(extra or {}),
            "choices": [{"index": index, "delta": delta, **told, "finish_reason": finish_reason}],
        }
        return self._ordered(chunk)

    def _ordered(self, chunk: Json) -> Json:
        return {key: chunk[key] for key in self._form.key_order if key in chunk}


@dataclass(slots=True)
class _Choice:
    """What has come of one choice. opened: whether anything of it was sent."""

    deltas: list[Delta] = field(default_factory=list)
    text: str = ""
    reasoning: str = ""
    opened: bool = False

    def add(self, delta: Delta) -> None:
        self.deltas.append(delta)
        self.text += delta.text
        self.reasoning += delta.reasoning
