"""Tests of the checks before a request body is parsed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect

from reference_server.errors import ApiError
from reference_server.http.admission import AdmissionSlots, KeyCheck, check_content_type, read_body


def scope(*authorizations: bytes) -> dict[str, Any]:
    return {"headers": [(b"authorization", value) for value in authorizations]}


@pytest.mark.parametrize("sent", [b"Bearer key-1", b"bearer key-1", b"BEARER   key-1 "])
def test_the_right_key_is_accepted_with_any_spelling_of_the_scheme(sent: bytes) -> None:
    KeyCheck("key-1").check(scope(sent))


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        ((), "unauthorized"),
        ((b"",), "unauthorized"),
        ((b"Bearer",), "unauthorized"),
        ((b"Bearer  ",), "unauthorized"),
        ((b"Basic key-1",), "unauthorized"),
        ((b"key-1",), "unauthorized"),
        ((b"Bearer key-1", b"Bearer key-1"), "unauthorized"),
        ((b"Bearer key-2",), "invalid_key"),
        ((b"Bearer key-11",), "invalid_key"),
        ((b"Bearer key-",), "invalid_key"),
        ((b"Bearer \xff\x00",), "invalid_key"),
    ],
)
def test_any_other_authorization_is_refused_without_repeating_a_key(sent: tuple[bytes, ...], kind: str) -> None:
    with pytest.raises(ApiError) as caught:
        KeyCheck("key-1").check(scope(*sent))
    assert caught.value.kind == kind
    assert "key-" not in caught.value.message
    assert "WWW-Authenticate" in caught.value.headers


def test_slots_are_released_even_after_a_failure() -> None:
    slots = AdmissionSlots(2)
    with slots.acquire():
        with pytest.raises(RuntimeError), slots.acquire():
            raise RuntimeError
        with slots.acquire(), pytest.raises(ApiError) as caught, slots.acquire():
            pass
    assert (caught.value.kind, caught.value.headers) == ("overloaded", {"Retry-After": "1"})
    assert slots.in_use == 0


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "application/json"},
        {"content-type": "Application/JSON; charset=UTF-8"},
        {"content-type": 'application/json; charset="utf-8"; profile=x'},
        {"content-type": "application/json", "content-encoding": "identity"},
    ],
)
def test_json_in_utf8_is_accepted(headers: dict[str, str]) -> None:
    check_content_type(Headers(headers))


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "multipart/form-data; boundary=x"},
        {"content-type": "application/xml; charset=utf-8"},
        {"content-type": "application/json; charset=gbk"},
        {"content-type": "application/json", "content-encoding": "gzip"},
        {"content-encoding": "br"},
    ],
)
def test_any_other_media_type_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ApiError) as caught:
        check_content_type(Headers(headers))
    assert caught.value.kind == "unsupported_media_type"


def read(messages: list[dict[str, Any]], limit: int = 10, **headers: str) -> tuple[bytes, int]:
    """Return the body read from the messages, and how many of them were requested."""
    received = 0

    async def receive() -> dict[str, Any]:
        nonlocal received
        received += 1
        return messages[received - 1]

    lines = {name.replace("_", "-"): value for name, value in headers.items()}
    body = asyncio.run(read_body(Headers(lines), receive, limit, lambda _: None))
    return body, received


def parts(*bodies: bytes) -> list[dict[str, Any]]:
    last = len(bodies) - 1
    return [{"type": "http.request", "body": body, "more_body": at < last} for at, body in enumerate(bodies)]


def test_a_body_up_to_the_limit_is_joined() -> None:
    assert read(parts(b"01234", b"", b"56789"), content_length="10") == (b"0123456789", 3)


@pytest.mark.parametrize("length", ["", "5", "nonsense", "9" * 5000])
def test_bytes_are_counted_whatever_content_length_says(length: str) -> None:
    with pytest.raises(ApiError) as caught:
        read(parts(b"01234", b"567890", b"not requested"), content_length=length)
    assert caught.value.kind == "too_large"
    assert "10 bytes" in caught.value.message


def test_a_body_with_too_large_a_content_length_is_not_read() -> None:
    with pytest.raises(ApiError) as caught:
        read([], content_length="11")
    assert caught.value.kind == "too_large"


def test_a_client_that_disconnects_within_its_body_ends_the_reading() -> None:
    with pytest.raises(ClientDisconnect):
        read([*parts(b"0", b"1")[:1], {"type": "http.disconnect"}])
