"""Parse the URL of a server and compare origins."""

from __future__ import annotations

import httpx

from conformance.errors import UsageError

Origin = tuple[str, str, int]
"""Scheme, host and port."""


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
