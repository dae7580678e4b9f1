"""Parse the address of a server in any form that users write."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit


class AddressError(ValueError):
    """The address cannot be used. The message is one line that says what to write instead and shows no password."""


@dataclass(frozen=True, slots=True)
class Target:
    """The endpoints of one server. `base` does not end with a slash; the paths come from the contract."""

    base: str
    path: str
    models_path: str

    @property
    def chat_url(self) -> str:
        """URL of the chat-completions endpoint."""
        return self.base + self.path

    @property
    def models_url(self) -> str:
        """URL of the list of models."""
        return self.base + self.models_path


def parse(url: str, path: str, models_path: str) -> Target:
    """Parse a base URL: a host, with or without a prefix, the API version (`/v1`) or the full endpoint path.

    `path` and `models_path` are the contract's paths. Raises AddressError unless the URL is http or https.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
    except ValueError as error:
        raise AddressError(f"invalid server address {url!r}: {error}") from error
    lacks_slashes = "://" not in url and url.partition(":")[0] in ("http", "https")  # http:/HOST, http:HOST
    if parts.scheme not in ("http", "https") or not parts.hostname or len(url.split()) != 1 or lacks_slashes:
        raise AddressError(f"invalid server address {url!r}: expected http://HOST:PORT or https://HOST")
    if parts.username or parts.password:
        raise AddressError("the address contains a user name or password: pass a key with --api-key-env VAR instead")
    try:
        _ = parts.port
    except ValueError:
        raise AddressError(f"invalid port in {url!r}: expected a number from 1 to 65535") from None
    if parts.netloc.endswith(":"):  # as in http://HOST:$PORT when PORT is unset
        raise AddressError(f"invalid port in {url!r}: expected a number after the colon")
    if parts.query or parts.fragment:
        raise AddressError(f"the address {url!r} contains a query or fragment: remove it")
    prefix = parts.path.rstrip("/")
    version = path[: path.index("/", 1)]  # /v1
    for ending in (path, version):
        if prefix.endswith(ending):
            prefix = prefix[: -len(ending)]
            break
    base = urlunsplit((parts.scheme, parts.netloc, prefix, "", ""))
    return Target(base, path, models_path)
