"""Suggestions: the name with the fewest typing errors comes first."""

from __future__ import annotations

import pytest

from openapi.did_you_mean import count_typing_errors, similar_names, suggest

OPTIONS = ("--depth", "--dialect", "--dry-run", "--topic", "--timeout", "--time")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("--dialet", "--dialect"),
        ("--dailect", "--dialect"),
        ("--depht", "--depth"),
        ("--tmie", "--time"),
        ("--timout", "--timeout"),
    ],
)
def test_the_name_with_the_fewest_typing_errors_is_suggested(typed: str, expected: str) -> None:
    assert [expected] == similar_names(typed, OPTIONS)
    assert f". Did you mean {expected!r}?" == suggest(typed, OPTIONS)


def test_a_name_that_resembles_nothing_has_no_suggestion() -> None:
    assert "" == suggest("--xyzzy", OPTIONS)


@pytest.mark.parametrize(
    ("name", "other", "errors"),
    [
        ("", "", 0),
        ("", "abc", 3),
        ("abc", "abc", 0),
        ("abc", "acb", 1),
        ("abc", "abd", 1),
        ("abc", "ab", 1),
        ("ca", "abc", 3),
    ],
)
def test_typing_errors_are_counted_in_both_directions(name: str, other: str, errors: int) -> None:
    assert errors == count_typing_errors(name, other) == count_typing_errors(other, name)
