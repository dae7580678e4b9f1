"""Origin: whom a URL belongs to, and which URLs can be called."""

from __future__ import annotations

import httpx

from conformance.errors import UsageError

Origin = tuple[str, str, int]
"""Scheme, host and port."""


def read_url(text: str) -> httpx.URL:
    """A URL of a server. Raises UsageError for what is none, and for one that holds a password."""
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise UsageError(f"{text!r} is no URL: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise UsageError(f"{text!r} is no URL of a server: write http://host:port or https://host")
    if url.userinfo:
        raise UsageError("the URL holds a user name or password, which reports would show: pass a key instead")
    return url


def origin_of(url: httpx.URL) -> Origin:
    """Whom a URL belongs to."""
    return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)
