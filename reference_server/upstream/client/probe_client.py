"""Requests to an upstream that no client waits for: for recognition, and for whether it is reachable again.

They go through httpx, because nothing is timed; whatever the upstream sends, time and memory are limited.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, Self

import httpx
import orjson

from reference_server.upstream.client.connection import (
    BrokenAnswer,
    UpstreamFailure,
    UpstreamTimeout,
    UpstreamUnreachable,
)

if TYPE_CHECKING:
    from types import TracebackType

    from reference_server.upstream.client.server import UpstreamServer

READ_S: Final = 10.0
"""Time between two pieces of an answer."""
TOTAL_S: Final = 30.0
"""Time for one request, with its whole answer."""
MAX_BODY_BYTES: Final = 16 * 2**20
"""The description of vLLM has 0.5 MB."""


class ProbeClient:
    """Sends GET requests to one upstream on one connection; use it as a context manager.

    Redirects, proxy settings and netrc are ignored, and no compressed answer is accepted.
    """

    def __init__(self, server: UpstreamServer) -> None:
        self._server = server
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "chatproof"}
        if server.key is not None:
            headers["Authorization"] = f"Bearer {server.key}"
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(READ_S, connect=server.deadlines.connect),
            limits=httpx.Limits(max_connections=1),
            follow_redirects=False,
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, traceback)

    async def get_json(self, path: str) -> dict[str, Any]:
        """Return the JSON object at a path, or an empty dict if the answer is anything else; raise UpstreamFailure."""
        address = self._server.address
        try:
            async with asyncio.timeout(TOTAL_S), self._client.stream("GET", f"{address}{path}") as reply:
                self._server.reachable = True
                body = await _read(reply)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            self._server.reachable = False
            seconds = self._server.deadlines.connect
            reason = f"no connection within {seconds:g} s" if isinstance(error, httpx.ConnectTimeout) else str(error)
            raise UpstreamUnreachable(f"{address}: {reason}") from error
        except (TimeoutError, httpx.TimeoutException) as error:
            raise UpstreamTimeout(f"{address}: GET {path} took too long") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UpstreamFailure(f"{address}: GET {path} failed: {type(error).__name__}") from error
        try:
            value = orjson.loads(body) if reply.status_code == httpx.codes.OK else {}
        except orjson.JSONDecodeError:
            value = {}
        return value if isinstance(value, dict) else {}


async def _read(reply: httpx.Response) -> bytes:
    body = bytearray()
    async for data in reply.aiter_raw():
        body += data
        if len(body) > MAX_BODY_BYTES:
            raise BrokenAnswer(f"the answer is larger than {MAX_BODY_BYTES} bytes", begun=True)
    return bytes(body)
