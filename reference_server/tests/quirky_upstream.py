"""A server that sends, byte by byte, what a test tells it to: an upstream with quirks. It knows no HTTP beyond that."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reference_server.tests.scripted_engine import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODELS = {"object": "list", "data": [{"id": "theirs", "object": "model", "owned_by": "vllm"}]}
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came. connection: a number for each."""

    path: str
    headers: dict[str, str]
    body: Any
    connection: int


@dataclass(slots=True)
class Quirky:
    """A listening server. asked: every POST. left: set when a client left in the midst of an answer.

    stop: ends it and all its connections.
    """

    address: str
    stop: Callable[[], None]
    asked: list[Asked] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)
    connections: int = 0


def event(chunk: Any) -> bytes:
    """A chunk as most servers write it."""
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def said(text: str | None, reason: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk of the first choice."""
    delta = {} if text is None else {"content": text}
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        **more,
    }


def usage(prompt: int, completion: int) -> dict[str, Any]:
    """Counts as every server has them."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def counted(prompt: int, completion: int) -> dict[str, Any]:
    """The chunk that only counts."""
    return {"object": "chat.completion.chunk", "choices": [], "usage": usage(prompt, completion)}


def answer(words: tuple[str, ...] = ("Hello", " world"), reason: str = "stop") -> bytes:
    """A whole stream of plain manners."""
    chunks = [said("", role="assistant"), *map(said, words), said(None, reason), counted(5, len(words) + 1)]
    return b"".join(map(event, chunks)) + b"data: [DONE]\n\n"


def chunked(body: bytes, pieces: int = 0) -> bytes:
    """A body in HTTP's chunks, of so many bytes each, or in one."""
    size = pieces or max(len(body), 1)
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def streaming(body: bytes) -> bytes:
    """A whole HTTP answer that streams a body."""
    return STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(body)


def plain(status: int, body: Any, *headers: str) -> bytes:
    """A whole HTTP answer with a JSON body."""
    content = json.dumps(body).encode()
    head = [
        f"HTTP/1.1 {status} Whatever",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
        *headers,
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + content


def sends(data: bytes) -> Callable[[Asked, socket.socket], None]:
    """A script that sends the same to everybody."""
    return lambda _asked, peer: peer.sendall(data)


@contextmanager
def quirky(script: Callable[[Asked, socket.socket], None], models: Any = MODELS, port: int = 0) -> Iterator[Quirky]:
    """A server that answers a GET of its models, and every POST by the script; all is over when the context is left.

    A script that returns leaves the connection open, one that raises ConnectionError has it closed.
    """
    with socket.create_server(("127.0.0.1", port)) as listener:
        peers: list[socket.socket] = []
        threads: list[threading.Thread] = []

        def stop() -> None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            accepting.join(PATIENCE_S)
            for peer in peers:
                with suppress(OSError):
                    peer.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(PATIENCE_S)

        server = Quirky(f"http://127.0.0.1:{listener.getsockname()[1]}", stop)

        def serve(peer: socket.socket, number: int) -> None:
            with peer, peer.makefile("rb") as reader:
                try:
                    while (asked := _read(reader, number)) is not None:
                        if asked.body is None:
                            peer.sendall(plain(200, models) if asked.path.endswith("/models") else plain(404, {}))
                            continue
                        server.asked.append(asked)
                        script(asked, peer)
                except (ConnectionError, TimeoutError):
                    server.left.set()

        def accept() -> None:
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                server.connections += 1
                peers.append(peer)
                threads.append(threading.Thread(target=serve, args=(peer, server.connections)))
                threads[-1].start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield server
        finally:
            stop()


def _read(reader: Any, number: int) -> Asked | None:
    line = reader.readline().decode()
    if not line:
        return None
    headers: dict[str, str] = {}
    while (header := reader.readline().decode().strip()) != "":
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    length = int(headers.get("content-length", 0))
    body = json.loads(reader.read(length)) if length else None
    return Asked(line.split()[1], headers, body, number)


def until_left(peer: socket.socket) -> None:
    """Returns when the other side has closed; raises ConnectionResetError where it did so hard."""
    peer.settimeout(PATIENCE_S)
    while peer.recv(65536):
        pass
    raise ConnectionResetError("the other side left")
