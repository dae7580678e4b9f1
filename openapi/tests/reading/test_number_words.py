"""Numbers in words are read like the same numbers in digits."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

from openapi.reading.grammar.quantities.number_words import parse_number_words, write_digits

SMALL: Final = (
    *("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS: Final = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
DRAWS: Final = 300


def spell(number: int, chance: Random) -> str:
    """Write a number below a billion in one of the usual ways."""
    for scale, name in ((1_000_000, "million"), (1_000, "thousand"), (100, "hundred")):
        if number >= scale:
            rest = number % scale
            joint = chance.choice((" ", " and ")) if 0 < rest < 100 else " "
            return f"{spell(number // scale, chance)} {name}{joint}{spell(rest, chance)}".strip()
    if number < 20:
        return SMALL[number]
    return f"{TENS[number // 10]}{chance.choice('- ') if number % 10 else ''}{SMALL[number % 10]}"


@pytest.mark.parametrize("most", [99, 999, 9_999, 999_999_999])
def test_a_number_in_words_is_the_number_in_digits(most: int) -> None:
    chance = Random(most)
    for number in (chance.randint(1, most) for _ in range(DRAWS)):
        words = f"at most {spell(number, chance)} characters"
        assert f"at most {number} characters" == write_digits(words), words


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Between zero and two", "Between 0 and 2"),
        ("one or two", "1 or 2"),
        ("a dozen", "12"),
        ("a hundred", "100"),
        ("everyone and someone", "everyone and someone"),
        ("one two", "one two"),
        ("two hundred and three hundred", "two hundred and three hundred"),
        ("twenty twelve", "twenty twelve"),
    ],
)
def test_words_that_form_no_number_remain(words: str, expected: str) -> None:
    assert expected == write_digits(words)


def test_only_words_that_form_a_number_have_a_value() -> None:
    assert [0, 32, None] == [parse_number_words(words) for words in ("zero", "thirty-two", "thirty-twelve")]
