"""Test that strings with one piece missing or repeated are told apart from strings that diverge."""

from __future__ import annotations

import pytest

from conformance.text_diff import differ_by_one_gap

TEXT = "The quick brown fox jumps over the lazy dog, and then it sleeps."
LEAST = 10


@pytest.mark.parametrize(
    ("other", "cut", "expected"),
    [
        (TEXT.replace("brown ", ""), False, True),
        (TEXT.replace("brown ", "brown brown "), False, True),
        (TEXT[4:], False, True),
        (TEXT, False, False),
        (TEXT.replace("brown", "green"), False, False),
        (TEXT.replace("brown ", "").replace("lazy ", ""), False, False),
        (TEXT.replace("sleeps", "s"), False, False),
        (TEXT[:-12], False, False),
        (TEXT[:-12], True, True),
        (TEXT[: LEAST - 1], True, False),
    ],
    ids=[
        *("a-piece-lost", "a-piece-twice", "the-beginning-lost", "the-same", "another-word", "two-pieces-lost"),
        *("too-little-behind-it", "ended-earlier", "cut-earlier", "too-short"),
    ],
)
def test_one_missing_or_repeated_piece_is_recognized_in_either_order(other: str, cut: bool, expected: bool) -> None:
    assert [expected] * 2 == [differ_by_one_gap(*pair, LEAST, cut=cut) for pair in ((TEXT, other), (other, TEXT))]
