"""URLs: only allowed hosts with public addresses, whatever spelling, name or redirect tries to lead elsewhere."""

from __future__ import annotations

import pytest

from reference_server.media.address import check_url
from reference_server.media.limits import MediaError

PUBLIC = "93.184.216.34"
DOMAINS = {"media.example", "198.51.100.7", "127.0.0.1"}


def resolve(host: str, port: int) -> list[str]:
    """Answer as a resolver does: other spellings of addresses are addresses."""
    known = {"media.example": PUBLIC, "0x7f.1": "127.0.0.1", "2130706433": "127.0.0.1", "017700000001": "127.0.0.1"}
    return [known.get(host, host.strip("[]"))]


@pytest.mark.parametrize(
    "url", ["http://media.example/a.png", "https://MEDIA.example:8443/a?b=c", "HTTP://media.example./"]
)
def test_an_allowed_host_with_a_public_address_can_be_fetched(url: str) -> None:
    address = check_url(url, DOMAINS, resolve)
    assert (address.ip, address.host) == (PUBLIC, "media.example")


def test_the_address_of_another_network_can_be_fetched_if_it_is_named_itself() -> None:
    assert check_url("http://127.0.0.1:9000/a", DOMAINS, resolve).ip == "127.0.0.1"


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/",  # decimal
        "http://0x7f000001/",  # hexadecimal
        "http://0x7f.1/",
        "http://017700000001/",  # octal
        "http://127.1/",
        "http://127.0.0.2/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",  # IPv4 inside IPv6
        "http://[::ffff:7f00:1]/",
        "http://localhost/",
        "http://169.254.169.254/latest/meta-data",
        "http://metadata.google.internal/",
        "http://media.example.evil.example/",
        "http://evil.example#media.example/",
        "http://evil.example/?media.example",
        "http://xmedia.example/",
        "http://media.example%2eevil.example/",
    ],
)
def test_hosts_that_are_not_named_are_refused_in_every_spelling(url: str) -> None:
    with pytest.raises(MediaError, match="not one that the operator allows"):
        check_url(url, DOMAINS, resolve)


@pytest.mark.parametrize(
    "url",
    [
        "http://user@media.example/",
        "http://media.example:80@evil.example/",
        "http://media.example\\@evil.example/",
        "ftp://media.example/",
        "http:///a",
        "http://media.example:99999/",
        "http://[media.example/",
        "http://media.example/a b",
        "http://media.example/a\r\nX: y",
        "http://media.exämple/",
        "http://media.example/" + "a" * 5000,
    ],
)
def test_urls_that_parsers_read_differently_are_refused(url: str) -> None:
    with pytest.raises(MediaError, match=r"invalid URL|user name"):
        check_url(url, DOMAINS, resolve)


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.2",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
        ),
        *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"),
        *("2002:a00:1::", "255.255.255.255", "198.18.0.1"),
    ],
)
def test_a_name_with_an_address_of_another_network_is_refused(address: str) -> None:
    with pytest.raises(MediaError, match="not public"):
        check_url("http://media.example/", DOMAINS, lambda _host, _port: [PUBLIC, address])


def test_a_name_that_cannot_be_resolved_is_refused() -> None:
    def fail(_host: str, _port: int) -> list[str]:
        raise OSError("no such host")

    with pytest.raises(MediaError, match="cannot be resolved"):
        check_url("http://media.example/", DOMAINS, fail)


def test_without_domains_no_url_is_fetched() -> None:
    with pytest.raises(MediaError, match="--media-domain"):
        check_url("http://media.example/", set(), resolve)
