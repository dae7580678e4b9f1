"""Every number belongs to one worker only, in whatever order workers join."""

from __future__ import annotations

from random import Random

import pytest

from loadtests.run.partition import Partition


@pytest.mark.parametrize("seed", range(5))
def test_every_number_is_assigned_once_however_late_workers_join(seed: int) -> None:
    rng, partition = Random(seed), Partition()
    left = {worker: [*range(first, 400, step)] for worker, (first, step) in partition.assign(["a", "b", "c"])}
    sent: list[int] = []
    for newcomer in "defgh":
        for numbers in left.values():
            sent += [numbers.pop(0) for _ in range(rng.randrange(6)) if numbers]
        chosen = partition.choose_worker_to_split(newcomer, [*left, newcomer])
        assert chosen is not None
        step = 2 * (left[chosen][1] - left[chosen][0])
        left[newcomer], left[chosen] = left[chosen][1::2], left[chosen][::2]
        partition.record_split(newcomer, step)
    assert [*range(400)] == sorted([*sent, *(number for numbers in left.values() for number in numbers)])
    steps = {numbers[1] - numbers[0] for numbers in left.values()}
    assert max(steps) <= 2 * min(steps)  # no worker is split twice before every worker was split once


def test_a_worker_without_numbers_is_not_split() -> None:
    partition = Partition()
    assert None is partition.choose_worker_to_split("late", ["late"])
    assert {"a": (0, 2), "b": (1, 2)} == dict(partition.assign(["a", "b"]))
    assert "b" == partition.choose_worker_to_split("late", ["b", "late"])
    assert None is partition.choose_worker_to_split("late", ["a", "b", "late"])  # it is going to get a part
    assert "a" == partition.choose_worker_to_split("later", ["a", "late", "later"])  # not a worker that waits itself
    assert ((0, 2), None) == (partition.get_part("a"), partition.get_part("late"))
