"""The hosts from which media may be fetched: names that the operator allows, and their public addresses."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit

from reference_server.media.limits import MediaError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Resolve = Callable[[str, int], list[str]]

SCHEMES: Final = {"http": 80, "https": 443}
LONGEST_URL: Final = 4096
NAT64: Final = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class MediaAddress:
    """A URL that may be fetched. ip: the address to connect to, resolved once and checked."""

    url: SplitResult
    host: str
    port: int
    ip: str

    @property
    def target(self) -> str:
        """The target of the request: path and query."""
        return (self.url.path or "/") + (f"?{self.url.query}" if self.url.query else "")


def is_web_url(location: str) -> bool:
    """Return whether a location is an http or https URL."""
    return location[:8].lower().startswith(("http://", "https://"))


def resolve_host(host: str, port: int) -> list[str]:
    """Return the addresses of a host."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def check_url(location: str, domains: Collection[str], resolve: Resolve = resolve_host) -> MediaAddress:
    """Return the address of a URL; raise MediaError for a host or an address that is not allowed.

    The host has to be one of the domains, as written: other spellings of an address (decimal, octal, hexadecimal,
    IPv4 inside IPv6) are not. All its addresses have to be public or to be domains themselves, and one of them is used
    without another look-up, so that a name cannot point elsewhere when the connection is opened.
    """
    if not domains:
        raise MediaError("URLs are not allowed: the operator names hosts with --media-domain")
    url, host, port = _split(location)
    if host not in domains:
        raise MediaError("the host of the URL is not one that the operator allows with --media-domain")
    try:
        addresses = [_unmapped(text) for text in resolve(host, port)]
    except (OSError, ValueError):
        addresses = []
    if not addresses:
        raise MediaError("the host of the URL cannot be resolved")
    if any(
        not (address.is_global and not address.is_multicast) and str(address) not in domains for address in addresses
    ):
        raise MediaError("the host of the URL has an address that is not public and that the operator does not allow")
    return MediaAddress(url, host, port, str(addresses[0]))


def _split(location: str) -> tuple[SplitResult, str, int]:
    if len(location) > LONGEST_URL or not location.isascii() or not location.isprintable() or " " in location:
        raise MediaError(f"invalid URL: expected at most {LONGEST_URL} printable ASCII characters without spaces")
    try:
        url = urlsplit(location)
        port = url.port
    except ValueError:
        raise MediaError("invalid URL: expected http or https, and a host") from None
    if url.scheme not in SCHEMES or not url.hostname:
        raise MediaError("invalid URL: expected http or https, and a host")
    if url.username is not None or url.password is not None or "\\" in location:
        raise MediaError("the URL contains a user name, a password or a backslash")
    return url, url.hostname.rstrip("."), port if port is not None else SCHEMES[url.scheme]


def _unmapped(text: str) -> IPv4Address | IPv6Address:
    """Return an address; the IPv4 address inside an IPv6 address that stands for one."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if inner is None and address in NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner:
            return inner
    return address
