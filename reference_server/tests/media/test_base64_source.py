"""Media inside the request: strict base64."""

from __future__ import annotations

from base64 import b64encode
from random import Random

import pytest

from reference_server.media.base64_source import PIECE, is_data_url, read_base64, read_data_url
from reference_server.media.limits import MediaError


@pytest.mark.parametrize(
    "head",
    ["data:image/jpeg;base64,", "data:image/png;charset=utf-8;base64,", "DATA:IMAGE/JPEG;BASE64,", "data:;base64,"],
)
def test_every_legal_data_url_is_read(head: str) -> None:
    assert is_data_url(head)
    assert read_data_url(head + b64encode(b"pixels").decode(), 100) == b"pixels"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("QUJD RA==", "invalid base64"),
        ("QUJD\nRA==", "invalid base64"),
        ("QUJ-", "invalid base64"),
        ("QUI", "invalid base64"),
        ("QUI=QUI=", "invalid base64"),
        ("QQ===", "invalid base64"),
        ("=", "invalid base64"),
        ("ＱＵＪＤ", "invalid base64"),
        ("", "empty"),
        ("A" * 140, "larger than 100 bytes"),
    ],
)
def test_base64_with_anything_but_its_alphabet_and_whole_padding_is_refused(text: str, reason: str) -> None:
    with pytest.raises(MediaError, match=reason):
        read_base64(text, 100)


@pytest.mark.parametrize(
    "url", ["data:image/jpeg,abc", "data:image/jpeg;base64", "data:", "data:" + "a" * 300 + ";base64,QQ=="]
)
def test_a_data_url_without_base64_is_refused(url: str) -> None:
    with pytest.raises(MediaError, match="invalid data URL"):
        read_data_url(url, 100)


@pytest.mark.parametrize("size", [99, 100])
def test_the_limit_counts_bytes_after_base64_and_includes_itself(size: int) -> None:
    assert len(read_base64(b64encode(b"x" * size).decode(), 100)) == size


@pytest.mark.parametrize("size", [101, 102, 103, 1000])
def test_more_bytes_than_the_limit_are_refused(size: int) -> None:
    with pytest.raises(MediaError, match="larger than 100 bytes"):
        read_base64(b64encode(b"x" * size).decode(), 100)


@pytest.mark.parametrize("size", [PIECE // 4 * 3 - 1, PIECE // 4 * 3, PIECE // 4 * 3 + 1, 3 * PIECE])
def test_long_base64_is_decoded_as_in_one_piece(size: int) -> None:
    data = Random(size).randbytes(size)
    assert read_base64(b64encode(data).decode(), size) == data


def test_padding_at_the_end_of_a_piece_is_refused() -> None:
    padded = "A" * (PIECE - 1) + "=" + "A" * 8
    with pytest.raises(MediaError, match="invalid base64"):
        read_base64(padded, PIECE)
