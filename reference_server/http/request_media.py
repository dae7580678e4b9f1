"""Loading of the media of requests, in threads of its own: a slow address delays no other request."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import ClientDisconnect

from openapi.description.media_forms import media_forms
from reference_server.http.delivery import wait_for_disconnect
from reference_server.http.served_contract import TEXT_ONLY
from reference_server.media.decoding import can_decode
from reference_server.media.loader import MediaLoader
from reference_server.settings import MEDIA_BODY_LIMIT_BYTES

if TYPE_CHECKING:
    from starlette.types import Receive

    from openapi.contract.contract import Contract
    from reference_server.engine.media import MediaNeeds
    from reference_server.settings import MediaSources

THREADS: Final = 4
"""Requests whose media are loaded at once."""


class RequestMedia:
    """Loads the media of requests.

    needs: what the model takes; None for a model that reads text only.
    lacking: what the contract, the model, the installation or the operator do not allow.
    """

    def __init__(self, contract: Contract, needs: MediaNeeds | None, sources: MediaSources) -> None:
        usable = needs is not None and can_decode() and bool(media_forms(contract))
        self.lacking = TEXT_ONLY
        if usable:
            places = {"media_urls": bool(sources.domains), "media_paths": sources.root is not None}
            self.lacking = frozenset(name for name, is_given in places.items() if not is_given)
        self._loader = MediaLoader(needs, sources) if usable and needs is not None else None
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="media")

    def body_limit_bytes(self, limit_bytes: int, *, served: bool) -> int:
        """Return the limit of a request body. limit_bytes: without media. served: whether requests may have media."""
        return max(limit_bytes, MEDIA_BODY_LIMIT_BYTES) if served and self._loader is not None else limit_bytes

    async def load(self, messages: list[dict[str, Any]], receive: Receive) -> list[dict[str, Any]]:
        """Return the messages with decoded media. Raises ApiError, and ClientDisconnect if the client leaves."""
        if self._loader is None:
            return messages
        loading = asyncio.get_running_loop().run_in_executor(self._threads, self._loader.load_all, messages)
        leaving = asyncio.ensure_future(wait_for_disconnect(receive))
        try:
            await asyncio.wait((loading, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not loading.done():
                raise ClientDisconnect
            return loading.result()
        finally:
            loading.cancel()  # has an effect only before it starts
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
