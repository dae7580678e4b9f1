"""Origin: the address of an upstream, as the operator wrote it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

PORTS: Final = {"http": 80, "https": 443}
WHITE: Final = re.compile(r"[\x00-\x20\x7f]")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an upstream is. prefix: of every path, without a slash at its end."""

    scheme: str
    host: str
    port: int
    prefix: str = ""

    @classmethod
    def parse(cls, url: str) -> Origin:
        """The origin of http://HOST:PORT, with a path prefix or the full endpoint; raises ValueError in one line."""
        if WHITE.search(url):
            raise ValueError(f"the upstream {url!r} holds white space: remove it")
        parts = urlsplit(url)
        if parts.scheme not in PORTS or not parts.hostname:
            raise ValueError(f"the upstream {url!r} is no address: write http://HOST:PORT")
        if parts.username or parts.password or "@" in parts.netloc:
            raise ValueError("the upstream's address holds a user: name the variable of a key with --upstream-key-env")
        if parts.query or parts.fragment:
            raise ValueError(f"the upstream {url!r} has a query or a fragment: leave it out")
        try:
            port = parts.port
        except ValueError:
            raise ValueError(f"the port of the upstream {url!r} is not from 0 to 65535") from None
        path = parts.path.rstrip("/")
        prefix = re.sub(r"(/v[0-9]+)?(/chat/completions)?$", "", path)
        return cls(parts.scheme, parts.hostname, port or PORTS[parts.scheme], prefix)

    @property
    def authority(self) -> str:
        """HOST or HOST:PORT, as the Host header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.prefix}"
