"""An upstream server whose answers, byte by byte, are given by the test."""

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
class ReceivedRequest:
    """One request as received. connection: number of its connection."""

    path: str
    headers: dict[str, str]
    body: Any
    connection: int


@dataclass(slots=True)
class QuirkyUpstream:
    """A listening server.

    requests: every POST request.
    disconnected: set when a client disconnects within an answer.
    stop: stops the server and closes its connections.
    """

    address: str
    stop: Callable[[], None]
    requests: list[ReceivedRequest] = field(default_factory=list)
    disconnected: threading.Event = field(default_factory=threading.Event)
    connections: int = 0


def event(chunk: Any) -> bytes:
    """Encode a chunk as an event, as most servers do."""
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def text_chunk(text: str | None, reason: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a chunk of the first choice."""
    delta = {} if text is None else {"content": text}
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        **more,
    }


def usage(prompt: int, completion: int) -> dict[str, Any]:
    """Return a usage object."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def usage_chunk(prompt: int, completion: int) -> dict[str, Any]:
    """Return a chunk with usage only."""
    return {"object": "chat.completion.chunk", "choices": [], "usage": usage(prompt, completion)}


def answer(words: tuple[str, ...] = ("Hello", " world"), reason: str = "stop") -> bytes:
    """Return a complete stream without quirks."""
    chunks = [
        text_chunk("", role="assistant"),
        *map(text_chunk, words),
        text_chunk(None, reason),
        usage_chunk(5, len(words) + 1),
    ]
    return b"".join(map(event, chunks)) + b"data: [DONE]\n\n"


def chunked(body: bytes, pieces: int = 0) -> bytes:
    """Encode a body in HTTP chunks of `pieces` bytes each, or in one chunk."""
    size = pieces or max(len(body), 1)
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def streaming(body: bytes) -> bytes:
    """Return a complete HTTP response that streams a body."""
    return STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(body)


def plain(status: int, body: Any, *headers: str) -> bytes:
    """Return a complete HTTP response with a JSON body."""
    content = json.dumps(body).encode()
    head = [
        f"HTTP/1.1 {status} Whatever",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
        *headers,
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + content


def sends(data: bytes) -> Callable[[ReceivedRequest, socket.socket], None]:
    """Return a script that answers every request with the same data."""
    return lambda _request, peer: peer.sendall(data)


@contextmanager
def quirky(
    script: Callable[[ReceivedRequest, socket.socket], None], models: Any = MODELS, port: int = 0
) -> Iterator[QuirkyUpstream]:
    """Yield a server that answers GET requests for its models, and every POST request by the script.

    If the script returns, the connection stays open; if it raises ConnectionError, the connection is closed.
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

        server = QuirkyUpstream(f"http://127.0.0.1:{listener.getsockname()[1]}", stop)

        def serve(peer: socket.socket, number: int) -> None:
            with peer, peer.makefile("rb") as reader:
                try:
                    while (request := _read(reader, number)) is not None:
                        if request.body is None:
                            peer.sendall(plain(200, models) if request.path.endswith("/models") else plain(404, {}))
                            continue
                        server.requests.append(request)
                        script(request, peer)
                except (ConnectionError, TimeoutError):
                    server.disconnected.set()

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


def _read(reader: Any, number: int) -> ReceivedRequest | None:
    line = reader.readline().decode()
    if not line:
        return None
    headers: dict[str, str] = {}
    while (header := reader.readline().decode().strip()) != "":
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    length = int(headers.get("content-length", 0))
    body = json.loads(reader.read(length)) if length else None
    return ReceivedRequest(line.split()[1], headers, body, number)


def wait_for_disconnect(peer: socket.socket) -> None:
    """Wait until the other side has closed the connection, then raise ConnectionResetError."""
    peer.settimeout(PATIENCE_S)
    while peer.recv(65536):
        pass
    raise ConnectionResetError("the other side closed the connection")
