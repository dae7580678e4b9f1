"""Two texts of which one is the other with a piece lost or told twice, and those that went different ways."""

from __future__ import annotations

import pytest

from conformance.judge.text_diff import patched

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
        *("hardly-anything-behind-it", "ended-sooner", "cut-sooner", "too-short-to-say"),
    ],
)
def test_a_text_is_patched_where_one_piece_is_too_few_or_too_many(other: str, cut: bool, expected: bool) -> None:
    assert [expected] * 2 == [patched(*pair, LEAST, cut=cut) for pair in ((TEXT, other), (other, TEXT))]
