"""An engine that answers with a script, and a server for it that listens on a socket."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reference_server.engine import Delta, EngineError, PromptTooLong
from reference_server.http.app import create_app
from reference_server.http.server import Server, bind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from openapi.contract.contract import Contract
    from reference_server.engine import Engine, EngineLoad, FinishReason, SamplingParams
    from reference_server.engine.media import MediaNeeds
    from reference_server.settings import Settings

PATIENCE_S = 20  # maximum wait for an event that must happen


def deltas(texts: Sequence[str], finish_reason: FinishReason = "stop") -> list[Delta]:
    """Return one delta for each text, the last with the finish reason, with waits of 0.5 ms and steps of 2 ms."""
    last = len(texts) - 1
    return [
        Delta(text, 7 + at, finish_reason if at == last else None, batch_size=2, queue_wait_s=5e-4, step_s=2e-3)
        for at, text in enumerate(texts)
    ]


class ScriptedGeneration:
    """The deltas of a script; `cancelled` is set when the server cancels the generation."""

    def __init__(self, prompt_tokens: int, script: AsyncIterator[Delta]) -> None:
        self.prompt_tokens: int | None = prompt_tokens
        self.cancelled = threading.Event()
        self._script = script

    def __aiter__(self) -> ScriptedGeneration:
        return self

    async def __anext__(self) -> Delta:
        if self.cancelled.is_set():
            raise StopAsyncIteration
        return await anext(self._script)

    def cancel(self) -> None:
        self.cancelled.set()


class ScriptedEngine:
    """An engine that answers every prompt with the same texts.

    fails_after: number of deltas before EngineError.
    endless: repeat the texts until the generation is cancelled.
    held: send no delta until the generation is cancelled.
    pace_s: minimum time between two deltas.

    Each word of a prompt counts as one token.
    """

    vocabulary_size = 1000
    max_model_len = 50
    max_new_tokens = 49
    slots = 20
    parsed_arguments = True
    lacking: frozenset[str] = frozenset()
    current_load: EngineLoad | None = None
    media: MediaNeeds | None = None
    sampling_defaults: Mapping[str, float] = MappingProxyType({})

    def __init__(
        self,
        texts: Sequence[str] = ("Hello", " world", ""),
        finish_reason: FinishReason = "stop",
        *,
        fails_after: int | None = None,
        endless: bool = False,
        held: bool = False,
        pace_s: float = 0.0,
    ) -> None:
        self.alive = True
        self.tools: list[dict[str, Any]] | None = None
        self.requests: list[tuple[list[dict[str, Any]], Mapping[str, Any] | None, SamplingParams]] = []
        self.submitted: SimpleQueue[ScriptedGeneration] = SimpleQueue()
        self._deltas = deltas(texts, finish_reason)
        self._fails_after = fails_after
        self._endless = endless
        self._held = held
        self._pace_s = pace_s
        self._encoded: tuple[list[dict[str, Any]], Mapping[str, Any] | None] = ([], None)

    @property
    def dead(self) -> bool:
        return not self.alive

    def encode_chat(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> list[int]:
        self._encoded = (messages, template_kwargs)
        self.tools = tools
        return list(range(sum(len(message["content"].split()) for message in messages)))

    def check_size(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, params: SamplingParams
    ) -> None:
        """Count the words only once they are encoded."""

    def release_memory(self) -> None:
        """Do nothing: a script needs little memory."""

    def prepare(self, prompt: list[int], params: SamplingParams) -> None:
        """Do nothing: the script needs no preparation."""

    def submit(self, prompt: list[int], params: SamplingParams) -> ScriptedGeneration:
        if len(prompt) >= self.max_model_len:
            raise PromptTooLong(len(prompt), self.max_model_len - 1)
        self.requests.append((*self._encoded, params))
        generation = ScriptedGeneration(len(prompt), self._script())
        self.submitted.put(generation)
        return generation

    async def _script(self) -> AsyncIterator[Delta]:
        while self._held and self.alive:
            await asyncio.sleep(0.001)
        while self._endless and self.alive:
            for delta in self._deltas[:-1]:
                await asyncio.sleep(0.001)
                yield delta
        if not self.alive:
            raise EngineError("the engine was closed")
        for at, delta in enumerate(self._deltas):
            if at == self._fails_after:
                raise EngineError("secret message of the engine")
            await asyncio.sleep(self._pace_s)
            yield delta

    def close(self) -> None:
        self.alive = False


@dataclass(frozen=True, slots=True)
class Running:
    """A server in a thread. `stop` asks it to end, `ended` waits until it has ended."""

    address: str
    server: Server
    thread: threading.Thread

    def stop(self) -> None:
        self.server.should_exit = True

    def ended(self) -> bool:
        self.thread.join(PATIENCE_S)
        return not self.thread.is_alive()


@contextmanager
def running(contract: Contract, engine: Engine, settings: Settings, **options: Any) -> Iterator[Running]:
    """Yield a server that listens, and stop it when the context is left."""
    addresses: SimpleQueue[str] = SimpleQueue()
    server = Server(
        create_app(contract, engine, settings),
        engine,
        addresses.put,
        **{"grace_s": 1.0, "errors": contract.errors, **options},
    )
    with bind("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=server.run_on, args=(listener,))
        thread.start()
        server_thread = Running(addresses.get(timeout=PATIENCE_S), server, thread)
        try:
            yield server_thread
        finally:
            server_thread.stop()
            server_thread.ended()
