"""Complete a call to the HTTP request that is sent, and keep the API key to its origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import h11
import httpx

from conformance.errors import HarnessError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.client.call import Call
    from conformance.client.headers import GatewayHeader
    from conformance.client.secret import Secret

Origin = tuple[str, str, int]
"""Scheme, host and port."""


DEFAULT_HEADERS: Final = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "chatproof"}
WITH_BODY: Final = ("POST", "PUT", "PATCH")


@dataclass(frozen=True, slots=True)
class BuiltRequest:
    """A complete request, with its URL and the origin it is sent to."""

    url: str
    origin: Origin
    headers: tuple[tuple[bytes, bytes], ...]
    message: h11.Request


class RequestBuilder:
    """Builds requests to the server at a URL. The API key and the user's own headers are sent to its origin only.

    Raises UsageError for an invalid URL.
    """

    def __init__(self, url: str, secret: Secret | None, headers: Sequence[GatewayHeader]) -> None:
        self._url = url.rstrip("/")
        self.origin = origin_of(read_url(self._url))
        self._secret = secret
        self._headers = tuple(headers)
        self._names = {header.name.lower() for header in headers}
        self._urls: dict[str, httpx.URL] = {}

    def build(self, call: Call) -> BuiltRequest:
        """Build the request of a call. Raises HarnessError for an invalid URL, method or header."""
        url = self._url_of(call)
        origin = origin_of(url)
        defaults = dict(DEFAULT_HEADERS)
        if self._secret is not None and call.with_key and origin == self.origin:
            key = self._secret.altered(call.alteration) if call.alteration else self._secret.reveal()
            defaults["Authorization"] = f"{call.scheme} {key}"
        if origin == self.origin:
            defaults = {name: value for name, value in defaults.items() if name.lower() not in self._names}
            defaults |= {header.name: header.reveal() for header in self._headers}
        given = {name.lower() for name in call.headers}
        headers = [("Host", url.netloc.decode("ascii")), *defaults.items()]
        headers = [pair for pair in headers if pair[0].lower() not in given] + [*call.headers.items()]
        # A POST without a body has Content-Length 0. Chunked encoding is used only if the call asks for it.
        if given.isdisjoint(("content-length", "transfer-encoding")) and (call.body or call.method in WITH_BODY):
            headers.append(("Content-Length", str(len(call.body))))
        try:
            sent = tuple((name.encode("ascii"), value.encode("ascii")) for name, value in headers)
            message = h11.Request(method=call.method, target=url.raw_path, headers=[*sent])
        except (ValueError, h11.LocalProtocolError) as error:
            raise HarnessError(f"call {call.id} cannot be sent: {error}") from error
        return BuiltRequest(str(url), origin, sent, message)

    def _url_of(self, call: Call) -> httpx.URL:
        text = call.url if call.url.startswith(("http://", "https://")) else self._url + call.url
        if text not in self._urls:
            self._urls[text] = read_url(text)
        return self._urls[text]


def read_url(text: str) -> httpx.URL:
    """Parse the URL of a server. Raises UsageError if it is invalid or contains a user name or password."""
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise UsageError(f"invalid URL {text!r}: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise UsageError(f"invalid URL {text!r}: expected http://host:port or https://host")
    if url.userinfo:
        raise UsageError("the URL contains a user name or password, which reports would show: pass an API key instead")
    return url


def origin_of(url: httpx.URL) -> Origin:
    """Return the origin of a URL, with the default port of its scheme filled in."""
    return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)
