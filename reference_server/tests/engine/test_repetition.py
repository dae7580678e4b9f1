"""RepetitionDetector: patterns that repeat at the end of a list of tokens."""

from __future__ import annotations

import random

import pytest

from reference_server.engine.repetition import Repetition, RepetitionDetector


def repeats(tokens: list[int], repetition: Repetition) -> bool:
    """Return whether the tokens end with the same pattern `count` times."""
    for size in range(repetition.shortest, repetition.longest + 1):
        pattern = tokens[-size:]
        if len(tokens) >= size * repetition.count and tokens[-size * repetition.count :] == pattern * repetition.count:
            return True
    return False


def test_repetitions_are_detected_at_their_last_token() -> None:
    generator = random.Random(8)
    for _ in range(300):
        repetition = Repetition(generator.randrange(3, 7), generator.randrange(1, 4), generator.randrange(2, 5))
        detector = RepetitionDetector(repetition)
        tokens: list[int] = []
        for _ in range(40):
            tokens.append(generator.choice([1, 1, 2, 3]))
            if generator.random() < 0.1:
                detector = detector.fork()
            assert repeats(tokens, repetition) == detector.push(tokens[-1])


@pytest.mark.parametrize("wrong", [(3, 4, 2), (3, 0, 2), (0, 1, 2), (3, 1, 1)])
def test_invalid_patterns_are_refused(wrong: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="pattern"):
        Repetition(*wrong)
