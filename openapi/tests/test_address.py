"""Addresses in every form that users write, and those that are refused."""

from __future__ import annotations

import pytest

from openapi.address import AddressError, parse
from openapi.contract.contract import load, names

PATH, MODELS = "/v1/chat/completions", "/v1/models"

ACCEPTED = {
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
    "": "invalid server address",
    "   ": "invalid server address",
    "http://": "invalid server address",
    "a server": "invalid server address",
    "ftp://h": "invalid server address",
    "file:///etc/passwd": "invalid server address",
    "http:/h": "invalid server address",
    "https:h:8000": "invalid server address",
    "http://[::1": "invalid server address",
    "http://h:99999": "invalid port",
    "http://h:x": "invalid port",
    "http://h:": "invalid port",
    "http://user@h": "user name or password",
    "http://:secret@h": "user name or password",
    "http://user:secret@h": "user name or password",
    "http://h?key=1": "query or fragment",
    "http://h#part": "query or fragment",
}


@pytest.mark.parametrize("written", ACCEPTED)
def test_every_form_of_an_address_is_accepted(written: str) -> None:
    target = parse(written, PATH, MODELS)
    base = ACCEPTED[written]
    assert (base, base + PATH, base + MODELS) == (target.base, target.chat_url, target.models_url)


@pytest.mark.parametrize("written", REFUSED)
def test_an_invalid_address_is_refused_in_one_line_that_shows_no_password(written: str) -> None:
    with pytest.raises(AddressError, match=REFUSED[written]) as caught:
        parse(written, PATH, MODELS)
    assert len(str(caught.value).splitlines()) == 1
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("dialect", sorted(set(names().values())))
def test_the_full_endpoint_of_every_dialect_parses_to_its_base(dialect: str) -> None:
    contract = load(dialect)
    target = parse("http://h", contract.path, contract.models_path)
    assert target == parse(target.chat_url, contract.path, contract.models_path)
