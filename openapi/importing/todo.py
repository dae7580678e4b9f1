"""To-dos: what an import did not understand and a person has to decide."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Todo:
    """One statement of a source that is not in the dialect file.

    subject: the parameter or part of the interface, such as `temperature` or `endpoint`.
    place: where the source states it: a line, or a JSON pointer.
    text: what is stated there, or what is missing.
    """

    subject: str
    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.subject} ({self.place}): {' '.join(self.text.split())}"
