"""Lengths: numbers drawn from a stated distribution, as scenario files write them. Pure."""

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
LONGEST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Lengths:
    """A distribution over integers from 1 on: `numbers` are its parameters as `FORMS` names them; "choice" of one
    value is a constant."""

    kind: str
    numbers: tuple[float, ...]

    def draw(self, rng: Random) -> int:
        """One length."""
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
        return min(LONGEST, max(1, round(value)))

    @property
    def most(self) -> int | None:
        """The greatest length that can be drawn, None where there is no bound."""
        return int(max(self.numbers)) if self.kind in ("uniform", "choice") else None


def parse(value: Any, where: str) -> Lengths:
    """Reads `40` or `{uniform: [10, 80]}`. Raises UsageError with the place."""
    if _is_number(value) and _sound(found := Lengths("choice", (float(value),))):
        return found
    if isinstance(value, dict) and len(value) == 1:
        kind, numbers = next(iter(value.items()))
        if kind in FORMS and isinstance(numbers, list) and numbers and all(_is_number(number) for number in numbers):
            found = Lengths(kind, tuple(float(number) for number in numbers))
            if _sound(found):
                return found
    forms = ", ".join(f"{{{kind}: {form}}}" for kind, form in FORMS.items())
    raise UsageError(f"{where}: {value!r} is no length; write a whole number from 1 to {LONGEST}, or one of {forms}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _sound(lengths: Lengths) -> bool:
    first, last = lengths.numbers[0], lengths.numbers[-1]
    if lengths.kind in ("choice", "uniform") and not all(number.is_integer() for number in lengths.numbers):
        return False
    if lengths.kind == "choice":
        return min(lengths.numbers) >= 1 and max(lengths.numbers) <= LONGEST
    if len(lengths.numbers) != 2 or not 1 <= first <= LONGEST:
        return False
    return first <= last <= LONGEST if lengths.kind == "uniform" else last >= 0
