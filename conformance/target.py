"""Target: the address of the implementation under test, however the user wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from conformance.errors import UsageError


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go. `base` has no slash at its end; the contract's paths are put behind it."""

    base: str
    path: str
    models_path: str

    @property
    def chat_url(self) -> str:
        """Address of the chat-completions endpoint."""
        return self.base + self.path

    @property
    def models_url(self) -> str:
        """Address of the list of models."""
        return self.base + self.models_path


def parse(url: str, path: str, models_path: str) -> Target:
    """Reads a base URL: host alone, with a prefix, ending in the API's version (`/v1`), or the full endpoint.

    `path` and `models_path` are the contract's. Raises UsageError for anything that is not http or https.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
    except ValueError as error:
        raise UsageError(f"{url!r} is no address of a server: {error}") from error
    if parts.scheme not in ("http", "https") or not (parts.hostname or "").strip():
        raise UsageError(f"{url!r} is no address of a server: write http://HOST:PORT or https://HOST")
    if parts.username or parts.password:
        raise UsageError("the address holds a user name or password; pass a key with --api-key-env VAR")
    try:
        _ = parts.port
    except ValueError:
        raise UsageError(f"{url!r} has no valid port: it goes from 1 to 65535") from None
    if parts.query or parts.fragment:
        raise UsageError(f"{url!r} has a query or fragment; write the address without it")
    prefix = parts.path.rstrip("/")
    version = path[: path.index("/", 1)]  # /v1
    for ending in (path, version):
        if prefix.endswith(ending):
            prefix = prefix[: -len(ending)]
            break
    base = urlunsplit((parts.scheme, parts.netloc, prefix, "", ""))
    return Target(base, path, models_path)
