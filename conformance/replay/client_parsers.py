"""Clients: what the parsers of real clients make of recorded answers, from a loopback socket. Nothing leaves the host.

This is no judgement: a lax client takes much that no document allows, and a strict one refuses what a document may
allow. It says whom an answer breaks, or whom it tells something else than it says.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from conformance.exchange import Exchange
from conformance.replay.replay_server import playing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST: Final = 40
"""Answers that are played to each client."""
MOST_BROKEN: Final = 10
PATIENCE_S: Final = 20.0
LONGEST: Final = 200
QUESTION: Final[Any] = [{"role": "user", "content": "Hello!"}]
KEY: Final = "played-again"


@dataclass(frozen=True, slots=True)
class Broken:
    """An answer that a client cannot read, or reads differently; `how` in one line."""

    exchange: str
    how: str


@dataclass(frozen=True, slots=True)
class Heard:
    """What one client made of the answers. `version` is None where it is not installed."""

    client: str
    version: str | None
    answers: int
    broken: tuple[Broken, ...]


def _openai(url: str, streams: bool, *, strict: bool) -> str:
    import openai

    with openai.OpenAI(
        base_url=url, api_key=KEY, max_retries=0, timeout=PATIENCE_S, _strict_response_validation=strict
    ) as client:
        said: Any = client.chat.completions.create(model="m", messages=QUESTION, stream=streams)
        if not streams:
            return said.choices[0].message.content or ""
        with said:
            found = list(said)
    if not found:
        raise ValueError("the stream gave no chunk")
    deltas = [choice.delta for chunk in found for choice in chunk.choices or () if choice.index == 0]
    return "".join(delta.content or "" for delta in deltas if delta is not None)


def _httpx_sse(url: str, streams: bool) -> str:
    import httpx
    import httpx_sse  # type: ignore[import-not-found,unused-ignore]

    with httpx.Client(timeout=PATIENCE_S, trust_env=False) as client:
        if not streams:
            said: Any = client.post(f"{url}/chat/completions", json={}).json()
            return str(said["choices"][0]["message"]["content"] or "")
        with httpx_sse.connect_sse(client, "POST", f"{url}/chat/completions", json={}) as source:
            events = [event.data for event in source.iter_sse()]
    chunks = [json.loads(data) for data in events if data != "[DONE]"]
    if not chunks:
        raise ValueError("the stream gave no event")
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"] if choice["index"] == 0]
    return "".join(delta.get("content") or "" for delta in deltas)


def _litellm(url: str, streams: bool) -> str:
    import litellm  # type: ignore[import-not-found,unused-ignore]

    said: Any = litellm.completion(
        model="openai/m",
        api_base=url,
        api_key=KEY,
        messages=QUESTION,
        stream=streams,
        num_retries=0,
        timeout=PATIENCE_S,
    )
    if not streams:
        return str(said.choices[0].message.content or "")
    return "".join(choice.delta.content or "" for chunk in said for choice in chunk.choices if choice.index == 0)


def _langchain(url: str, streams: bool) -> str:
    from langchain_openai import ChatOpenAI  # type: ignore[import-not-found,unused-ignore]

    model: Any = ChatOpenAI(model="m", base_url=url, api_key=KEY, max_retries=0, timeout=PATIENCE_S)
    if not streams:
        return str(model.invoke("Hello!").content)
    return "".join(str(chunk.content) for chunk in model.stream("Hello!"))


CLIENTS: Final[tuple[tuple[str, str, Callable[[str, bool], str]], ...]] = (  # name, distribution, how to ask
    ("openai-python", "openai", lambda url, streams: _openai(url, streams, strict=False)),
    ("openai-python, strict", "openai", lambda url, streams: _openai(url, streams, strict=True)),
    ("httpx-sse", "httpx-sse", _httpx_sse),
    ("LiteLLM", "litellm", _litellm),
    ("LangChain", "langchain-openai", _langchain),
)


def hear(exchanges: Sequence[Exchange]) -> tuple[Heard, ...]:
    """Plays the answers to every client that is installed; those that are not are named as such."""
    chosen = choose(exchanges)
    found = []
    with playing(chosen) as urls:
        for name, distribution, ask in CLIENTS:
            if find_spec(distribution.replace("-", "_")) is None:
                found.append(Heard(name, None, 0, ()))
                continue
            broken = [each for exchange, url in zip(chosen, urls, strict=True) if (each := _one(exchange, url, ask))]
            found.append(Heard(name, _version(distribution), len(chosen), tuple(broken[:MOST_BROKEN])))
    return tuple(found)


def choose(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Whole 2xx answers with choices to chat requests, streams and plain ones in turn, and no more than MOST."""
    good = [
        exchange
        for exchange in exchanges
        if exchange.request.method == "POST" and exchange.complete and exchange.status is not None and 200 <= exchange.status < 300
        and (exchange.is_stream or (isinstance(exchange.json, dict) and "choices" in exchange.json))
    ]  # fmt: skip
    streams, plain = ([each for each in good if each.is_stream == kind] for kind in (True, False))
    half = MOST // 2
    return [*streams[: max(half, MOST - len(plain))], *plain[: max(half, MOST - len(streams))]][:MOST]


def _one(exchange: Exchange, url: str, ask: Callable[[str, bool], str]) -> Broken | None:
    try:
        said = ask(url, exchange.is_stream)
    except Exception as error:  # whatever a client raises is what is wanted
        return Broken(exchange.id, f"{type(error).__name__}: {' '.join(str(error).split())}"[:LONGEST])
    meant = exchange.content() or ""
    if said != meant:
        return Broken(exchange.id, f"it hears {said!r} for {meant!r}"[:LONGEST])
    return None


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "of unknown version"


def with_clients(results: dict[str, Any]) -> dict[str, Any]:
    """The results with what the clients made of their exchanges under `clients`."""
    exchanges = [Exchange.from_dict(exchange) for exchange in results["exchanges"]]
    return {**results, "clients": [asdict(each) for each in hear(exchanges)]}
