"""Engine output in the dialect's own form: a whole answer, or the chunks of a stream. Pure, but for random characters.

The contract's AnswerForm and StreamForm say what a dialect writes; nothing here knows a dialect by name.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Protocol

from reference_server.called import FUNCTIONS, CallForm, CallWriter
from reference_server.telling import Telling, disguise

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from openapi.contract import Contract
    from reference_server.engine import Delta, RankedLogprob, SamplingParams, TokenLogprob

Json = dict[str, Any]
ROLE: Final = "assistant"
MILLISECONDS_PER_S: Final = 1_000
MICROSECONDS_PER_S: Final = 1_000_000
LEAST_LOGPROB: Final = -9999.0
PLAIN: Final = Telling()
REASONING_MEMBERS: Final = ("reasoning", "reasoning_content")


@dataclass(frozen=True, slots=True)
class Heading:
    """What all parts of one answer share. id: None where the dialect has none; created: Unix time in seconds.

    calls: how calls of tools are written.
    """

    id: str | None
    created: int
    model: str
    tier: str | None = None
    calls: CallForm = FUNCTIONS

    def members(self, kind: str) -> Json:
        """The heading of an answer or a chunk; `kind` is its `object`."""
        named = {} if self.id is None else {"id": self.id}
        processed = {} if self.tier is None else {"service_tier": self.tier}
        return {**named, "object": kind, "created": self.created, "model": self.model, **processed}


def completion(
    contract: Contract, heading: Heading, prompt_tokens: int, deltas: Sequence[Delta], telling: Telling = PLAIN
) -> Json:
    """The whole answer; `deltas` holds every choice up to the one that has a finish reason, in whatever order.

    What is measured of steps is that of the first choice.
    """
    choices = by_choice(deltas)
    answer: Json = {
        **heading.members("chat.completion"),
        "choices": [_choice(contract, index, said, telling, heading) for index, said in choices.items()],
        "usage": usage(contract, prompt_tokens, list(chain.from_iterable(choices.values()))),
        **_prompt(deltas, telling),
    }
    if contract.answer.timings:
        steps = [_milliseconds(delta.step_s) for delta in choices[0] if delta.step_s is not None]
        answer |= {"prefill_time": steps[0]} if steps else {}
        # Where another server generates, several tokens may have come together, and nobody measured each.
        answer |= {"decode_time_arr": steps[1:]} if len(steps) == sum(delta.tokens for delta in choices[0]) else {}
    return answer


def by_choice(deltas: Iterable[Delta]) -> dict[int, list[Delta]]:
    """Index -> the deltas of that choice, from the first choice to the last."""
    found: defaultdict[int, list[Delta]] = defaultdict(list)
    for delta in deltas:
        found[delta.index].append(delta)
    return dict(sorted(found.items()))


def _prompt(deltas: Iterable[Delta], telling: Telling) -> Json:
    """What is told of the prompt; of its log-probabilities, only in a plain answer."""
    prompt = next((delta.prompt for delta in deltas if delta.prompt is not None), None)
    if prompt is None:
        return {}
    told: Json = {"prompt_token_ids": list(prompt.token_ids)} if telling.token_ids else {}
    if telling.prompt_text:
        told["prompt_text"] = prompt.text
    if prompt.logprobs is not None:
        told["prompt_logprobs"] = [None if each is None else _likely(each) for each in prompt.logprobs]
    return told


def _likely(entries: Iterable[RankedLogprob]) -> Json:
    """As vLLM writes the log-probabilities of a prompt: by token id."""
    return {
        str(each.token_id): {
            "logprob": max(each.logprob, LEAST_LOGPROB),
            "rank": each.rank,
            "decoded_token": each.text,
        }
        for each in entries
    }


def _ids(deltas: Iterable[Delta], telling: Telling) -> Json:
    return {"token_ids": [delta.token_id for delta in deltas]} if telling.token_ids else {}


def _ended(members: Container[str], deltas: Sequence[Delta], model: str, telling: Telling) -> Json:
    """What is told with the finish reason; the weights' version is the model's name, for they never change here."""
    told: Json = {"stop_reason": deltas[-1].stop_reason} if "stop_reason" in members else {}
    if telling.weight_versions:
        told["weight_versions"] = [{"version": model, "start": 0, "end": len(deltas)}]
    return told


def _choice(contract: Contract, index: int, deltas: Sequence[Delta], telling: Telling, heading: Heading) -> Json:
    text, reasoning = _said(deltas)
    called = CallWriter(heading.calls, index).whole(deltas)
    text = telling.echo + text
    member = reasoning_member(contract)
    thought = {member: reasoning} if reasoning and member and telling.reasoning else {}
    told = {"logprobs": logprobs(contract, deltas, telling)} if deltas[0].logprob is not None else {}
    return {
        "index": index,
        "message": {
            "role": ROLE,
            "content": (text or contract.answer.silence) if called else text,
            **thought,
            **contract.answer.message,
            **thought,
            **called,
        },
        **contract.answer.choice,
        **told,
        **_ids(deltas, telling),
        **_ended(contract.answer.choice, deltas, heading.model, telling),
        "finish_reason": heading.calls.reason(deltas[-1].finish_reason),
    }


def _said(deltas: Sequence[Delta]) -> tuple[str, str]:
    """(text, reasoning) of the deltas."""
    return "".join(delta.text for delta in deltas), "".join(delta.reasoning for delta in deltas)


def reasoning_member(contract: Contract) -> str | None:
    """What the dialect calls a thought that stands beside the answer; None where it shows none."""
    known = contract.schemas["Answer"]["properties"]
    return next((name for name in REASONING_MEMBERS if name in known), None)


def logprobs(contract: Contract, deltas: Iterable[Delta], telling: Telling = PLAIN) -> Json:
    """One entry for each token; members of the dialect's object that this server has nothing for are null."""
    members = contract.schemas.get("Logprobs", {}).get("properties", {})
    told = [delta.logprob for delta in deltas if delta.logprob is not None]
    content = [
        {**one, "top_logprobs": _tokens(each.top, telling)}
        for each, one in zip(told, _tokens(told, telling), strict=True)
    ]
    return {**dict.fromkeys(members), "content": content}


def _tokens(tokens: Iterable[TokenLogprob], telling: Telling) -> list[Json]:
    """JSON has no infinity: OpenAI's API writes -9999.0 for what is very unlikely."""
    as_ids = telling.tokens_as_ids
    return [
        {
            "token": f"token_id:{token_id}" if as_ids else text,
            "logprob": logprob if logprob > LEAST_LOGPROB else LEAST_LOGPROB,
            "bytes": None if data is None else list(data),
        }
        for text, data, logprob, _, token_id in tokens
    ]


def usage(contract: Contract, prompt_tokens: int, deltas: Sequence[Delta]) -> Json:
    """Tokens counted, with what was measured for each generated token where the form has it."""
    form = contract.answer
    counts: Json = {"prompt_tokens": prompt_tokens}
    cached = [delta.cached_tokens for delta in deltas if delta.cached_tokens is not None]
    if form.cached_tokens and cached:
        counts["prompt_tokens_details"] = {"cached_tokens": max(cached)}
    completion_tokens = sum(delta.tokens for delta in deltas)
    counts |= {"completion_tokens": completion_tokens, "total_tokens": prompt_tokens + completion_tokens}
    details: Json = {}
    if "UsageCompletionDetails" in contract.schemas and any(delta.reasoning for delta in deltas):
        thoughts = sum(_thinking(said) for said in by_choice(deltas).values())
        details["reasoning_tokens"] = thoughts
    predicted = [delta.predicted for delta in deltas if delta.predicted is not None]
    if predicted:  # nothing is generated to be thrown away, so no rejected token is counted
        details |= {"accepted_prediction_tokens": sum(predicted), "rejected_prediction_tokens": 0}
    if details:
        counts["completion_tokens_details"] = details
    if form.token_arrays:  # of tokens whose step nobody here has measured there is nothing to say
        sizes = [delta.batch_size for delta in deltas if delta.batch_size is not None]
        waits = [round(delta.queue_wait_s * MICROSECONDS_PER_S) for delta in deltas if delta.queue_wait_s is not None]
        counts |= {"batch_size": sizes} if sizes else {}
        counts |= {"queue_wait_time": waits} if waits else {}
    return counts


def _thinking(deltas: Sequence[Delta]) -> int:
    """How many tokens of a choice came before its answer, where it has thought; the marks around a thought count."""
    if not any(delta.reasoning for delta in deltas):
        return 0
    answer = next((at for at, delta in enumerate(deltas) if delta.text), len(deltas))
    return sum(delta.tokens for delta in deltas[:answer])


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

    telling: what the request asked for, like the usage that some dialects send only then, once for all choices; the
    others send every choice's own with its last chunk.
    """

    def __init__(
        self,
        contract: Contract,
        heading: Heading,
        counted: Counted,
        params: SamplingParams,
        *,
        full_text: bool,
        telling: Telling,
    ) -> None:
        self._contract = contract
        self._form = contract.stream
        self._calls = heading.calls
        self._heading = heading.members("chat.completion.chunk")
        self._counted = counted
        self._whole = params.known_at_end
        self._tells_logprobs = params.logprobs is not None
        self._full_text = full_text
        self._model = heading.model
        self._telling = telling
        self._completion_tokens = 0
        self._asked_for_usage = telling.usage and self._form.usage == "on-request"
        self._members = contract.schemas["ChunkChoice"]["properties"]
        self._thought = reasoning_member(contract) if telling.reasoning else None
        self._choices = [_Choice(CallWriter(heading.calls, index)) for index in range(params.n)]

    def opening(self) -> Iterator[Json]:
        """The chunk that some dialects send of each choice before its first token."""
        if self._form.opening_chunk:
            for index in range(len(self._choices)):
                self._choices[index].text = self._telling.echo
                yield self._chunk(index, [], None, echo=self._telling.echo)

    def add(self, delta: Delta) -> Iterator[Json]:
        """The chunks of one delta; two for a last one with text."""
        choice = self._choices[delta.index]
        choice.add(delta)
        self._completion_tokens += delta.tokens
        finished = delta.finish_reason is not None
        if self._whole and not finished:
            return
        new = choice.deltas if self._whole else choice.unsent(self._telling.interval, finished=finished)
        if not new:
            return
        if not finished or (any(_said(new)) and not self._full_text) or any(each.calls for each in new):
            yield self._chunk(delta.index, new, None)
            new = []
        if finished:
            extra: Json = {}
            if self._full_text:
                extra["full_text"] = choice.text
            if self._form.usage == "with-finish":
                extra["usage"] = usage(self._contract, self._counted.prompt_tokens, choice.deltas)
            yield self._chunk(delta.index, new, self._calls.reason(delta.finish_reason), extra)

    def closing(self) -> Iterator[Json]:
        """The chunk of usage alone, after the last token, where the request asked for it."""
        if self._asked_for_usage:
            deltas = [delta for choice in self._choices for delta in choice.deltas]
            counts = usage(self._contract, self._counted.prompt_tokens, deltas)
            yield self._ordered({**self._heading, "choices": [], "usage": counts})

    def _chunk(
        self,
        index: int,
        new: Sequence[Delta],
        finish_reason: str | None,
        extra: Mapping[str, Any] | None = None,
        *,
        echo: str = "",
    ) -> Json:
        choice = self._choices[index]
        text, reasoning = (choice.text, choice.reasoning) if self._full_text else _said(new)
        text = echo or text
        called = choice.calls.added(new)
        silent = called and not text and self._contract.answer.silence is None
        delta: Json = {**({} if silent else {"content": text}), **called}
        if reasoning and self._thought:
            delta[self._thought] = reasoning
        if self._form.role == "every-delta" or (self._form.role == "first-delta" and not choice.opened):
            delta = {"role": ROLE, **delta}
        choice.opened = True
        told: Json = {}
        if self._tells_logprobs:
            told["logprobs"] = logprobs(self._contract, new, self._telling) if new else None
        told |= _ids(new, self._telling)
        if finish_reason is not None:
            told |= _ended(self._members, choice.deltas, self._model, self._telling)
        chunk = {
            **self._heading,
            **self._usage_so_far(),
            **_prompt(new, self._telling),
            **({"obfuscation": disguise(text)} if self._telling.obfuscation else {}),
            **(extra or {}),
            "choices": [{"index": index, "delta": delta, **told, "finish_reason": finish_reason}],
        }
        return self._ordered(chunk)

    def _usage_so_far(self) -> Json:
        if self._telling.every_usage:
            prompt, completion = self._counted.prompt_tokens, self._completion_tokens
            counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
            return {"usage": counts}
        return {"usage": None} if self._asked_for_usage else {}

    def _ordered(self, chunk: Json) -> Json:
        return {key: chunk[key] for key in self._form.key_order if key in chunk}


@dataclass(slots=True)
class _Choice:
    """What has come of one choice. opened: whether anything of it was sent. sent: how many deltas."""

    calls: CallWriter
    deltas: list[Delta] = field(default_factory=list)
    text: str = ""
    reasoning: str = ""
    opened: bool = False
    sent: int = 0

    def unsent(self, interval: int, *, finished: bool) -> list[Delta]:
        """The deltas that go out now: all that have not, once they are so many or the last is there."""
        new = self.deltas[self.sent :]
        if len(new) < interval and not finished:
            return []
        self.sent = len(self.deltas)
        return new

    def add(self, delta: Delta) -> None:
        self.deltas.append(delta)
        self.text += delta.text
        self.reasoning += delta.reasoning
