"""A recorded request is recognised wherever the server found the media files of the suite."""

from __future__ import annotations

import json

import pytest

from conformance.run.media.media_places import HOST_MARK, MediaPlaces, is_payload

PAYLOAD = b'{"a": "http://' + HOST_MARK + b'/red.jpg", "b": "http://' + HOST_MARK + b'/redirect/blue.mp4?bytes=9"}'


def sent(first: bytes, second: bytes) -> bytes:
    return PAYLOAD.replace(HOST_MARK, first, 1).replace(HOST_MARK, second)


def test_a_request_is_recognised_wherever_its_media_were_served() -> None:
    assert is_payload(sent(b"10.0.0.1:80/token", b"suite.example:1/other"), PAYLOAD)
    assert is_payload(b"{}", b"{}")


def test_a_request_for_another_file_is_not_recognised() -> None:
    assert not is_payload(sent(b"10.0.0.1:80/token/folder", b"10.0.0.1:80/token"), PAYLOAD)
    assert not is_payload(sent(b"10.0.0.1:80/token", b"10.0.0.1:80/token").replace(b"red.jpg", b"red.png"), PAYLOAD)
    assert not is_payload(b"{ }", b"{}")


@pytest.mark.parametrize("folder", ["", "/srv/media", '/a folder/of \\ and "quotes"'])
def test_a_request_with_paths_is_filled_and_recognised(folder: str) -> None:
    payload = b'{"a": "{media-folder}/red.jpg"}'
    filled = MediaPlaces(folder=folder).fill(payload)
    assert {"a": f"{folder}/red.jpg"} == json.loads(filled)
    assert is_payload(filled, payload)
    assert not is_payload(filled.replace(b"red", b"blue"), payload)
