"""UpstreamEngine: an engine that asks another server, which has one."""

from __future__ import annotations

import json
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream import sse
from reference_server.engine import Engine, Generation
from reference_server.errors import ApiError
from reference_server.upstream.answer_reader import AnswerReader
from reference_server.upstream.choices import Ranked, Several
from reference_server.upstream.connection import Dropped, UpstreamFailure
from reference_server.upstream.error_translation import error_event, failure, refusal
from reference_server.upstream.request_translation import Conversation, asks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reference_server.engine import Delta, SamplingParams
    from reference_server.upstream.load_balancer import Balance
    from reference_server.upstream.kind import Kind
    from reference_server.upstream.server import Reply
    from reference_server.upstream.request_translation import Ask

DONE: Final = "[DONE]"
MOST_EVENTS: Final = 10_000_000
MOST_EVENT_BYTES: Final = 4 * 2**20
MOST_REFUSAL_BYTES: Final = 65_536
EVENT_STREAM: Final = b"text/event-stream"


class UpstreamEngine(Engine):
    """Answers of upstreams, as an engine gives them.

    model: what the upstreams call theirs; name: what clients call it. counts_each: whether the tokens of each choice
    have to be told apart.
    """

    def __init__(self, kind: Kind, balance: Balance, model: str, name: str, *, counts_each: bool) -> None:
        self.kind = kind
        self.balance = balance
        self.model = model
        self._name = name
        self._counts_each = counts_each
        self._closed = False

    @property
    def alive(self) -> bool:
        return not self._closed and self.balance.reachable

    @property
    def dead(self) -> bool:
        return self._closed

    parsed_arguments = False

    def encode_chat(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> Conversation:
        return Conversation(messages, tools, template_kwargs or {})

    def submit(self, prompt: Conversation, params: SamplingParams) -> Generation:
        wanted, ranked = asks(self.kind, prompt, params, counts_each=self._counts_each)
        parts = [UpstreamGeneration(self, ask) for ask in wanted]
        found = parts[0] if len(parts) == 1 else Several(parts)
        return Ranked(found, params.n, told=params.logprobs is not None) if ranked else found

    def close(self) -> None:
        self._closed = True

    def names(self) -> dict[str, str]:
        """Words of the upstream that no client should read, and what it reads instead."""
        hosts = {server.origin.authority: "..." for server in self.balance.servers}
        return {self.model: self._name, **hosts} if self.model != self._name else hosts


class UpstreamGeneration(Generation):
    """One request to an upstream. Nothing is read of its answer before its reader asks for more."""

    def __init__(self, engine: UpstreamEngine, ask: Ask) -> None:
        self.prompt_tokens = 0
        self._engine = engine
        self._ask = ask
        self._reader = AnswerReader(ask, time.perf_counter())
        self._decoder = sse.Decoder(max_events=MOST_EVENTS)
        self._reply: Reply | None = None
        self._ready: deque[Delta] = deque()
        self._since_event = 0
        self._ended = False  # nothing more will be read
        self._failure: ApiError | None = None
        self._cancelled = False

    def __aiter__(self) -> UpstreamGeneration:
        return self

    async def __anext__(self) -> Delta:
        while not self._ready:
            if self._cancelled or (self._ended and self._failure is None):
                raise StopAsyncIteration
            if self._failure is not None:
                raise self._failure
            try:
                await self._advance()
            except UpstreamFailure as error:
                self._failure = failure(error, begun=self._reply is not None)
            except ApiError as error:
                self._failure = error
            if self._failure is not None:
                self._leave()  # what came before it goes out first
            self.prompt_tokens = self._reader.prompt_tokens
        return self._ready.popleft()

    def cancel(self) -> None:
        self._cancelled = True
        self._leave()

    async def _advance(self) -> None:
        """Reads one piece of the answer."""
        if self._reply is None:
            await self._begin()
            return
        data = await self._reply.read()
        at = time.perf_counter()
        if not data:
            self._finish()
            return
        events = self._decoder.feed(data, at)
        self._since_event = 0 if events else self._since_event + len(data)
        if self._since_event > MOST_EVENT_BYTES:
            raise Dropped(f"one event has more than {MOST_EVENT_BYTES} bytes", begun=True)
        for event in events:
            if event.data == DONE:
                self._finish()
                return
            for delta in self._deltas(event.data, at):
                self._ready.append(delta)
            if self._reader.over and self._reader.cut and not self._ask.ends:
                self._finish()
                return

    async def _begin(self) -> None:
        engine = self._engine
        # not orjson: a dialect may allow integers that 64 bits do not hold
        body = json.dumps({"model": engine.model, **self._ask.members}, ensure_ascii=False).encode()
        reply = await engine.balance.post(engine.kind.path, body)
        if self._cancelled:
            reply.close()
        if reply.status != 200:
            answer = await reply.whole(MOST_REFUSAL_BYTES)
            self._ended = True
            raise refusal(engine.kind, reply.status, reply.headers, answer, engine.names())
        self._reply = reply
        if reply.media_type != EVENT_STREAM:
            whole = _object(await reply.whole())
            self._ready.extend(self._reader.whole(whole, time.perf_counter()))
            self._finish()

    def _deltas(self, data: str, at: float) -> Iterator[Delta]:
        chunk = _object(data)
        if "choices" not in chunk and ("error" in chunk or chunk.get("object") == "error" or "code" in chunk):
            raise error_event(chunk)
        yield from self._reader.chunk(chunk, at)

    def _finish(self) -> None:
        """Nothing more comes, or what may come says nothing new."""
        self._ended = True
        self._ready.extend(self._reader.end())
        self._leave()

    def _leave(self) -> None:
        self._ended = True
        if self._reply is not None:
            self._reply.close()


def _object(data: bytes | str) -> dict[str, Any]:
    """The JSON object; raises Dropped for anything else."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise Dropped("the upstream sent what is not JSON", begun=True) from None
    if not isinstance(value, dict):
        raise Dropped("the upstream sent JSON that is no object", begun=True)
    return value
