"""An engine that forwards its requests to upstream servers."""

from __future__ import annotations

import json
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream import sse
from openapi.stream.anomaly import AnomalyKind
from reference_server.engine import Engine, Generation, PromptTooLong
from reference_server.errors import ApiError
from reference_server.upstream.answer_reader import AnswerReader
from reference_server.upstream.choices import CombinedGeneration, RankedGeneration
from reference_server.upstream.client.connection import BrokenAnswer, UpstreamFailure
from reference_server.upstream.error_translation import (
    is_too_long,
    read_message,
    translate_error_event,
    translate_failure,
    translate_refusal,
)
from reference_server.upstream.foreign_text import ForeignText
from reference_server.upstream.prompt_count import PromptCounter, PromptTokens, least_tokens
from reference_server.upstream.request_translation import Conversation, translate_request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reference_server.engine import Delta, SamplingParams
    from reference_server.upstream.client.load_balancer import LoadBalancer
    from reference_server.upstream.client.server import UpstreamReply
    from reference_server.upstream.kind import UpstreamKind
    from reference_server.upstream.request_translation import UpstreamRequest

DONE: Final = "[DONE]"
REPLACEMENT: Final = "\ufffd"
"""What the decoder of event streams puts in place of bytes that are not UTF-8."""
REFUSED: Final = frozenset({400, 413, 422})
MAX_EVENTS: Final = 10_000_000
MAX_EVENT_BYTES: Final = 4 * 2**20
MAX_REFUSAL_BYTES: Final = 65_536
EVENT_STREAM: Final = b"text/event-stream"


class UpstreamEngine(Engine):
    """An engine whose answers come from upstreams.

    model: the upstreams' name for their model.
    name: the clients' name for it.
    counts_each: whether the tokens of each choice must be counted separately.
    neutral: values of engine parameters that are accepted even if the upstream lacks the parameter.
    context: size of the upstreams' context in tokens, if it is known.
    """

    def __init__(
        self,
        kind: UpstreamKind,
        load_balancer: LoadBalancer,
        model: str,
        name: str,
        *,
        counts_each: bool,
        neutral: Mapping[str, Sequence[Any]],
        context: int | None = None,
    ) -> None:
        self.kind = kind
        self.load_balancer = load_balancer
        self.model = model
        keys = {server.key for server in load_balancer.servers if server.key is not None}
        hidden = [name for server in load_balancer.servers for name in server.address.names]
        self.foreign = ForeignText(keys, {model: name, **dict.fromkeys(hidden, "...")})
        self._counts_each = counts_each
        self._neutral = neutral
        self._context = context
        self._counter = PromptCounter(kind, load_balancer)
        self._closed = False

    @property
    def alive(self) -> bool:
        return not self._closed and self.load_balancer.reachable

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

    def check_size(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, params: SamplingParams
    ) -> None:
        del tools  # the messages alone say enough
        if self._context is not None and params.truncate_prompt_tokens is None:
            least = least_tokens(messages)
            if least >= self._context:
                raise PromptTooLong(least, self._context - 1, counted=False)

    def submit(self, prompt: Conversation, params: SamplingParams) -> Generation:
        requests, ranked = translate_request(
            self.kind, prompt, params, counts_each=self._counts_each, neutral=self._neutral
        )
        count = PromptTokens(self._counter)
        parts = [UpstreamGeneration(self, request, count) for request in requests]
        generation = parts[0] if len(parts) == 1 else CombinedGeneration(parts)
        if not ranked:
            return generation
        return RankedGeneration(generation, params.n, with_logprobs=params.logprobs is not None)

    def close(self) -> None:
        self._closed = True

    def limit_name(self, body: Mapping[str, Any]) -> str | None:
        """Return the name under which a body limits the number of tokens; None if it does not.

        A limit that the context does not reach anyway is not sent, because several servers refuse it.
        """
        name = self.kind.handling["max_tokens"].passed
        return name if name in body else None

    def beyond_context(self, limit: int) -> bool:
        """Whether no answer reaches this number of tokens, because the context is not larger."""
        return self._context is not None and limit >= self._context


class UpstreamGeneration(Generation):
    """One request to an upstream, whose answer is read only on demand. count: of the tokens of its prompt."""

    def __init__(self, engine: UpstreamEngine, request: UpstreamRequest, count: PromptTokens) -> None:
        self.prompt_tokens: int | None = None
        self._engine = engine
        self._count = count
        self._request = request
        self._reader = AnswerReader(request, time.perf_counter())
        self._decoder = sse.Decoder(max_events=MAX_EVENTS)
        self._reply: UpstreamReply | None = None
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
                self._failure = translate_failure(error, self._engine.foreign, begun=self._reply is not None)
            except ApiError as error:
                self._failure = error
            if self._failure is not None:
                self._close()  # deltas from before the failure are delivered first
            self.prompt_tokens = self._reader.prompt_tokens
        return self._ready.popleft()

    def cancel(self) -> None:
        self._cancelled = True
        self._count.cancel()
        self._close()

    async def _advance(self) -> None:
        """Send the request, or read one piece of the answer."""
        if self._reply is None:
            await self._begin()
            return
        data = await self._reply.read()
        at = time.perf_counter()
        if not data:
            await self._finish()
            return
        events = self._decoder.feed(data, at)
        self._since_event = 0 if events else self._since_event + len(data)
        if self._since_event > MAX_EVENT_BYTES:
            raise BrokenAnswer(f"an event is larger than {MAX_EVENT_BYTES} bytes", begun=True)
        for event in events:
            if event.data == DONE:
                await self._finish()
                return
            if REPLACEMENT in event.data and self._decoder.anomaly_counts[AnomalyKind.INVALID_UTF8]:
                raise BrokenAnswer("the upstream sent bytes that are not UTF-8", begun=True)
            for delta in self._read_chunk(event.data, at):
                self._ready.append(delta)
            if self._reader.finished and self._reader.cut and not self._request.stops_upstream:
                await self._finish()
                return

    async def _begin(self) -> None:
        engine, body = self._engine, {"model": self._engine.model, **self._request.body}
        limit = engine.limit_name(body)
        if limit is not None and engine.beyond_context(body[limit]):
            del body[limit]
        reply, refusal = await self._post(body)
        if refusal is not None and reply.status in REFUSED and limit in body and is_too_long(read_message(refusal)):
            # Several servers refuse a limit that the rest of the context cannot reach; it changes no answer.
            reply, refusal = await self._post({name: value for name, value in body.items() if name != limit})
        if refusal is not None:
            self._ended = True
            raise translate_refusal(reply.status, reply.headers, refusal, engine.foreign)
        self._reply = reply
        if reply.media_type != EVENT_STREAM:
            answer = _parse_object(await reply.read_all())
            self._ready.extend(self._reader.read_answer(answer, time.perf_counter()))
            await self._finish()

    async def _post(self, body: Mapping[str, Any]) -> tuple[UpstreamReply, bytes | None]:
        """Send a request; return the answer, and its body if it is a refusal."""
        engine = self._engine
        # Not orjson, because a dialect may allow integers beyond 64 bits.
        data = json.dumps(body, ensure_ascii=False).encode()
        reply = await engine.load_balancer.post(engine.kind.path, data)
        if self._cancelled:
            reply.close()
        return reply, None if reply.status == 200 else await reply.read_all(MAX_REFUSAL_BYTES)

    def _read_chunk(self, data: str, at: float) -> Iterator[Delta]:
        chunk = _parse_object(data)
        if "choices" not in chunk and ("error" in chunk or chunk.get("object") == "error" or "code" in chunk):
            raise translate_error_event(chunk, self._engine.foreign)
        yield from self._reader.read_chunk(chunk, at)

    async def _finish(self) -> None:
        """End the answer: nothing more will arrive, or nothing that matters."""
        self._close()
        last = list(self._reader.end())
        if self._reader.prompt_tokens is None:
            body = {"model": self._engine.model, **self._request.body}
            self._reader.prompt_tokens = await self._count.get(body)
        self._ready.extend(last)

    def _close(self) -> None:
        self._ended = True
        if self._reply is not None:
            self._reply.close()


def _parse_object(data: bytes | str) -> dict[str, Any]:
    """Return the JSON object in the data; raise BrokenAnswer for anything else."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise BrokenAnswer("the upstream sent data that is not JSON", begun=True) from None
    if not isinstance(value, dict):
        raise BrokenAnswer("the upstream sent JSON that is not an object", begun=True)
    return value
