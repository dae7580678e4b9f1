"""Lengths drawn from a distribution, as scenario files state them. Does no I/O."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from loadtests.errors import UsageError

if TYPE_CHECKING:
    from random import Random

FORMS: Final = {
    "uniform": "[least, greatest]",
    "normal": "[mean, deviation]",
    "lognormal": "[median, sigma]",
    "choice": "[value, ...]",
}
MAX_LENGTH: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class LengthDistribution:
    """A distribution over integers from 1.

    `numbers` are its parameters, as `FORMS` names them; a constant is a "choice" with one value.
    """

    kind: str
    numbers: tuple[float, ...]

    @property
    def greatest(self) -> int:
        """The greatest length that is drawn."""
        return int(max(self.numbers)) if self.kind in ("choice", "uniform") else MAX_LENGTH

    def draw(self, rng: Random) -> int:
        """Draw one length."""
        first, last = self.numbers[0], self.numbers[-1]
        match self.kind:
            case "uniform":
                return rng.randint(int(first), int(last))
            case "normal":
                value = rng.gauss(first, last)
            case "lognormal":
                value = rng.lognormvariate(math.log(first), last)
            case _:
                value = rng.choice(self.numbers)
        return min(MAX_LENGTH, max(1, round(value)))


def parse_length(value: Any, where: str) -> LengthDistribution:
    """Parse `40` or `{uniform: [10, 80]}`. Raise UsageError that names `where`."""
    if _is_number(value) and _is_valid(length := LengthDistribution("choice", (float(value),))):
        return length
    if isinstance(value, dict) and len(value) == 1:
        kind, numbers = next(iter(value.items()))
        if kind in FORMS and isinstance(numbers, list) and numbers and all(_is_number(number) for number in numbers):
            length = LengthDistribution(kind, tuple(float(number) for number in numbers))
            if _is_valid(length):
                return length
    forms = ", ".join(f"{{{kind}: {form}}}" for kind, form in FORMS.items())
    raise UsageError(
        f"{where}: invalid length: expected a whole number from 1 to {MAX_LENGTH}, or one of {forms}, got {value!r}"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_valid(length: LengthDistribution) -> bool:
    first, last = length.numbers[0], length.numbers[-1]
    if length.kind in ("choice", "uniform") and not all(number.is_integer() for number in length.numbers):
        return False
    if length.kind == "choice":
        return min(length.numbers) >= 1 and max(length.numbers) <= MAX_LENGTH
    if len(length.numbers) != 2 or not 1 <= first <= MAX_LENGTH:
        return False
    return first <= last <= MAX_LENGTH if length.kind == "uniform" else last >= 0
