"""The time of a run is estimated from the pace of its first answers."""

from __future__ import annotations

import pytest

from conformance.plan.expected_cost import ExpectedCost
from conformance.plan.expected_time import AnswerPace, describe_time, format_time

COST = ExpectedCost(400, 10_000, 6_000)


@pytest.mark.parametrize(
    ("pace", "concurrency", "rate", "expected"),
    [
        (AnswerPace(0.05, 0.01), 4, None, "20 to 80 s"),  # 400 * 0.05 + 6,000 * 0.01, at once or one by one
        (AnswerPace(0.05, 0.01), 8, None, "10 to 80 s"),
        (AnswerPace(0.05, 0.01), 1, None, "about 80 s"),
        (AnswerPace(0.05, 0.0), 4, None, "5 to 20 s"),
        (AnswerPace(0.5, 0.1), 4, None, "3 to 13 min"),
        (AnswerPace(0.1, 0.05), 4, None, "85 s to 6 min"),
        (AnswerPace(0.05, 0.01), 4, 10.0, "40 to 80 s"),
        (AnswerPace(0.05, 0.01), 4, 2.0, "about 3 min"),
        (AnswerPace(0.05), 4, None, "at least 5 s"),
        (AnswerPace(0.0001, 0.0), 4, None, "about 1 s"),
    ],
)
def test_a_run_takes_between_all_requests_at_once_and_one_by_one(
    pace: AnswerPace, concurrency: int, rate: float | None, expected: str
) -> None:
    assert expected == describe_time(COST, pace, concurrency, rate)


@pytest.mark.parametrize(
    ("short_s", "longer_s", "tokens", "expected"),
    [
        (0.1, 1.6, 16, AnswerPace(0.1, 0.1)),
        (0.1, 0.5, 5, AnswerPace(0.1, 0.1)),  # it ended by itself
        (3.0, 0.5, 16, AnswerPace(0.5, 0.0)),  # the first answer waited for a connection
        (0.1, 0.1, 1, AnswerPace(0.1)),
        (0.1, 0.1, 0, AnswerPace(0.1)),
    ],
)
def test_two_answers_show_the_time_of_a_token(
    short_s: float, longer_s: float, tokens: int, expected: AnswerPace
) -> None:
    measured = AnswerPace.measured(short_s, longer_s, tokens)
    assert expected.answer_s == pytest.approx(measured.answer_s)
    assert (expected.token_s is None) == (measured.token_s is None)
    assert expected.token_s is None or expected.token_s == pytest.approx(measured.token_s)


@pytest.mark.parametrize(
    ("seconds", "expected"), [(1.0, "1 s"), (99.4, "99 s"), (100.0, "2 min"), (5_900.0, "98 min"), (7_200.0, "2 h")]
)
def test_a_time_is_written_in_the_unit_of_its_size(seconds: float, expected: str) -> None:
    assert expected == format_time(seconds)
