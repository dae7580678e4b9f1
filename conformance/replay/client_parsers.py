"""Let real client libraries parse recorded answers, which a server on the loopback interface replays.

The result is not part of the verdict: a lenient client accepts much that no document allows, and a strict one refuses
some answers that a document allows. It shows which clients cannot read an answer, or read a different text from it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from conformance.exchange import Exchange
from conformance.replay.replay_server import serve_answers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_ANSWERS: Final = 40
"""The number of answers that each client parses."""
MAX_BROKEN: Final = 10
TIMEOUT_S: Final = 20.0
LONGEST: Final = 200
MESSAGES: Final[Any] = [{"role": "user", "content": "Hello!"}]
KEY: Final = "played-again"


@dataclass(frozen=True, slots=True)
class UnreadableAnswer:
    """An answer that a client cannot read, or from which it reads a different text; `how` describes it on one line."""

    exchange: str
    how: str


@dataclass(frozen=True, slots=True)
class ClientResult:
    """How one client parsed the answers. `version` is None if it is not installed."""

    client: str
    version: str | None
    answers: int
    broken: tuple[UnreadableAnswer, ...]


def _openai(url: str, streams: bool, *, strict: bool) -> str:
    import openai

    with openai.OpenAI(
        base_url=url, api_key=KEY, max_retries=0, timeout=TIMEOUT_S, _strict_response_validation=strict
    ) as client:
        answer: Any = client.chat.completions.create(model="m", messages=MESSAGES, stream=streams)
        if not streams:
            return answer.choices[0].message.content or ""
        with answer:
            chunks = list(answer)
    if not chunks:
        raise ValueError("the client read no chunk from the stream")
    deltas = [choice.delta for chunk in chunks for choice in chunk.choices or () if choice.index == 0]
    return "".join(delta.content or "" for delta in deltas if delta is not None)


def _httpx_sse(url: str, streams: bool) -> str:
    import httpx
    import httpx_sse  # type: ignore[import-not-found,unused-ignore]

    with httpx.Client(timeout=TIMEOUT_S, trust_env=False) as client:
        if not streams:
            answer: Any = client.post(f"{url}/chat/completions", json={}).json()
            return str(answer["choices"][0]["message"]["content"] or "")
        with httpx_sse.connect_sse(client, "POST", f"{url}/chat/completions", json={}) as source:
            events = [event.data for event in source.iter_sse()]
    chunks = [json.loads(data) for data in events if data != "[DONE]"]
    if not chunks:
        raise ValueError("the client read no event from the stream")
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"] if choice["index"] == 0]
    return "".join(delta.get("content") or "" for delta in deltas)


def _litellm(url: str, streams: bool) -> str:
    import litellm  # type: ignore[import-not-found,unused-ignore]

    answer: Any = litellm.completion(
        model="openai/m",
        api_base=url,
        api_key=KEY,
        messages=MESSAGES,
        stream=streams,
        num_retries=0,
        timeout=TIMEOUT_S,
    )
    if not streams:
        return str(answer.choices[0].message.content or "")
    return "".join(choice.delta.content or "" for chunk in answer for choice in chunk.choices if choice.index == 0)


def _langchain(url: str, streams: bool) -> str:
    from langchain_openai import ChatOpenAI  # type: ignore[import-not-found,unused-ignore]

    model: Any = ChatOpenAI(model="m", base_url=url, api_key=KEY, max_retries=0, timeout=TIMEOUT_S)
    if not streams:
        return str(model.invoke("Hello!").content)
    return "".join(str(chunk.content) for chunk in model.stream("Hello!"))


CLIENTS: Final[tuple[tuple[str, str, Callable[[str, bool], str]], ...]] = (  # name, distribution, function
    ("openai-python", "openai", lambda url, streams: _openai(url, streams, strict=False)),
    ("openai-python, strict", "openai", lambda url, streams: _openai(url, streams, strict=True)),
    ("httpx-sse", "httpx-sse", _httpx_sse),
    ("LiteLLM", "litellm", _litellm),
    ("LangChain", "langchain-openai", _langchain),
)


def run_clients(exchanges: Sequence[Exchange]) -> tuple[ClientResult, ...]:
    """Let every installed client parse the answers; list the clients that are not installed as such."""
    selected = select_answers(exchanges)
    results = []
    with serve_answers(selected) as urls:
        for name, distribution, read_text in CLIENTS:
            if find_spec(distribution.replace("-", "_")) is None:
                results.append(ClientResult(name, None, 0, ()))
                continue
            problems = [_parse(exchange, url, read_text) for exchange, url in zip(selected, urls, strict=True)]
            broken = tuple(problem for problem in problems if problem is not None)[:MAX_BROKEN]
            results.append(ClientResult(name, _version(distribution), len(selected), broken))
    return tuple(results)


def select_answers(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Select complete 2xx answers with choices, at most MAX_ANSWERS, about half of them streamed."""
    complete = [
        exchange
        for exchange in exchanges
        if exchange.request.method == "POST"
        and exchange.complete
        and 200 <= (exchange.status or 0) < 300
        and (exchange.is_stream or (isinstance(exchange.json, dict) and "choices" in exchange.json))
    ]
    streams, plain = ([exchange for exchange in complete if exchange.is_stream == kind] for kind in (True, False))
    half = MAX_ANSWERS // 2
    return [*streams[: max(half, MAX_ANSWERS - len(plain))], *plain[: max(half, MAX_ANSWERS - len(streams))]][
        :MAX_ANSWERS
    ]


def _parse(exchange: Exchange, url: str, read_text: Callable[[str, bool], str]) -> UnreadableAnswer | None:
    """Let a client parse one answer, and return the problem if there is one."""
    try:
        actual = read_text(url, exchange.is_stream)
    except Exception as error:  # any exception of a client is a result
        return UnreadableAnswer(exchange.id, f"{type(error).__name__}: {' '.join(str(error).split())}"[:LONGEST])
    expected = exchange.content() or ""
    if actual != expected:
        return UnreadableAnswer(exchange.id, f"the client read {actual!r} instead of {expected!r}"[:LONGEST])
    return None


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "of unknown version"


def add_clients(results: dict[str, Any]) -> dict[str, Any]:
    """Return the results with those of the client libraries under `clients`."""
    exchanges = [Exchange.from_dict(exchange) for exchange in results["exchanges"]]
    return {**results, "clients": [asdict(client) for client in run_clients(exchanges)]}
