"""Addresses: every way in which users write them, and what is refused."""

from __future__ import annotations

import pytest

from openapi.address import AddressError, parse
from openapi.contract.contract import load, names

PATH, MODELS = "/v1/chat/completions", "/v1/models"

READ = {
    "http://h": "http://h",
    "http://h/": "http://h",
    "http://h:8000": "http://h:8000",
    "https://h": "https://h",
    "HTTPS://h": "https://h",
    "h:8000": "http://h:8000",
    "localhost:8000": "http://localhost:8000",
    "127.0.0.1:8000": "http://127.0.0.1:8000",
    "http://[::1]:8000": "http://[::1]:8000",
    "http://h/v1": "http://h",
    "http://h/v1/": "http://h",
    "http://h/v1/chat/completions": "http://h",
    "http://h/v1/chat/completions/": "http://h",
    "http://h/api": "http://h/api",
    "http://h/api/v1": "http://h/api",
    "http://h/api/v1/chat/completions": "http://h/api",
    "http://h/apiv1": "http://h/apiv1",
    "http://h/v1/other": "http://h/v1/other",
}

REFUSED = {
    "": "is no address",
    "   ": "is no address",
    "http://": "is no address",
    "a server": "is no address",
    "ftp://h": "is no address",
    "file:///etc/passwd": "is no address",
    "http:/h": "is no address",
    "https:h:8000": "is no address",
    "http://[::1": "is no address",
    "http://h:99999": "no valid port",
    "http://h:x": "no valid port",
    "http://h:": "no valid port",
    "http://user@h": "user name or password",
    "http://:secret@h": "user name or password",
    "http://user:secret@h": "user name or password",
    "http://h?key=1": "query or fragment",
    "http://h#part": "query or fragment",
}


@pytest.mark.parametrize("written", READ)
def test_an_address_is_read_however_it_is_written(written: str) -> None:
    target = parse(written, PATH, MODELS)
    base = READ[written]
    assert (base, base + PATH, base + MODELS) == (target.base, target.chat_url, target.models_url)


@pytest.mark.parametrize("written", REFUSED)
def test_what_is_no_address_is_refused_in_one_line(written: str) -> None:
    with pytest.raises(AddressError, match=REFUSED[written]) as caught:
        parse(written, PATH, MODELS)
    assert len(str(caught.value).splitlines()) == 1
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("dialect", sorted(set(names().values())))
def test_the_full_endpoint_of_every_dialect_leads_back_to_its_base(dialect: str) -> None:
    contract = load(dialect)
    target = parse("http://h", contract.path, contract.models_path)
    assert target == parse(target.chat_url, contract.path, contract.models_path)
