"""Addresses: where a server of a contract is, however the user wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit


class AddressError(ValueError):
    """An address that cannot be used; its text is one line with the cure, and holds no password."""


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

    `path` and `models_path` are the contract's. Raises AddressError for anything that is not http or https.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
    except ValueError as error:
        raise AddressError(f"{url!r} is no address of a server: {error}") from error
    slashless = "://" not in url and url.partition(":")[0] in ("http", "https")  # http:/HOST, http:HOST
    if parts.scheme not in ("http", "https") or not parts.hostname or len(url.split()) != 1 or slashless:
        raise AddressError(f"{url!r} is no address of a server: write http://HOST:PORT or https://HOST")
    if parts.username or parts.password:
        raise AddressError("the address holds a user name or password; pass a key with --api-key-env VAR")
    try:
        _ = parts.port
    except ValueError:
        raise AddressError(f"{url!r} has no valid port: it goes from 1 to 65535") from None
    if parts.netloc.endswith(":"):  # as http://HOST:$PORT is where there is no PORT
        raise AddressError(f"{url!r} has no valid port: nothing stands behind the colon")
    if parts.query or parts.fragment:
        raise AddressError(f"{url!r} has a query or fragment; write the address without it")
    prefix = parts.path.rstrip("/")
    version = path[: path.index("/", 1)]  # /v1
    for ending in (path, version):
        if prefix.endswith(ending):
            prefix = prefix[: -len(ending)]
            break
    base = urlunsplit((parts.scheme, parts.netloc, prefix, "", ""))
    return Target(base, path, models_path)
