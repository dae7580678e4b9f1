"""Numbers in words, such as `two hundred and fifty-six`, as digits."""

from __future__ import annotations

import re
from typing import Final

_SMALL: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES: Final = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_VALUES: Final = {
    **{word: number for number, word in enumerate(_SMALL)},
    **{word: 10 * number for number, word in enumerate(_TENS, start=2)},
    "dozen": 12,
}
_WORD: Final = rf"(?:{'|'.join(sorted((*_VALUES, *_SCALES), key=len, reverse=True))})"
_AND: Final = f"(?:{'|'.join(f'(?<={scale})' for scale in _SCALES)}) and "
_NUMBER: Final = re.compile(
    rf"\b(?:an? (?={'|'.join(_SCALES)}|dozen))?{_WORD}(?:(?:-| |{_AND}){_WORD})*\b", re.IGNORECASE
)


def write_digits(text: str) -> str:
    """Write the numbers of a sentence in digits; words that form no number, such as `one two`, remain."""
    return _NUMBER.sub(lambda match: _to_digits(match[0]), text)


def _to_digits(words: str) -> str:
    value = parse_number_words(words)
    return words if value is None else str(value)


def parse_number_words(words: str) -> int | None:
    """Return the number that words such as `one hundred and five` name; None for words that name none."""
    total, group, last = 0, 0, 0  # last: the value of the word before, 0 at the start and after a scale
    for word in re.split(r"[ -]+", words.lower()):
        if word in ("a", "an", "and"):
            continue
        if word == "hundred":
            if group >= 100:
                return None
            group, last = (group or 1) * 100, 0
        elif word in _SCALES:
            total, group, last = total + (group or 1) * _SCALES[word], 0, 0
        else:
            value = _VALUES[word]
            if last and not (last >= 20 and last % 10 == 0 and 0 < value < 10):
                return None
            group, last = group + value, value or 1
    return total + group
