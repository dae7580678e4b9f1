"""Files of the suite can be fetched, and a recorded request is recognised wherever they were served."""

from __future__ import annotations

from conformance.run.media.media_host import MARK, is_payload

PAYLOAD = b'{"a": "http://' + MARK + b'/red.jpg", "b": "http://' + MARK + b'/redirect/blue.mp4?bytes=9"}'


def sent(first: bytes, second: bytes) -> bytes:
    return PAYLOAD.replace(MARK, first, 1).replace(MARK, second)


def test_a_request_is_recognised_wherever_its_media_were_served() -> None:
    assert is_payload(sent(b"10.0.0.1:80/token", b"suite.example:1/other"), PAYLOAD)
    assert is_payload(b"{}", b"{}")


def test_a_request_for_another_file_is_not_recognised() -> None:
    assert not is_payload(sent(b"10.0.0.1:80/token/folder", b"10.0.0.1:80/token"), PAYLOAD)
    assert not is_payload(sent(b"10.0.0.1:80/token", b"10.0.0.1:80/token").replace(b"red.jpg", b"red.png"), PAYLOAD)
    assert not is_payload(b"{ }", b"{}")
