"""largest: what a full sort says, whatever the width, and each row for itself."""

from __future__ import annotations

import pytest

from reference_server.engine.device import torch
from reference_server.engine.sampling.block_sums import sum_blocks
from reference_server.engine.sampling.topk import topk


def _values(rows: int, columns: int) -> torch.Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(columns))


@pytest.mark.parametrize(
    ("columns", "count"),
    [(5, 0), (5, 5), (17, 3), (320, 10), (320, 11), (4096, 1), (4096, 64), (4096, 1024), (4097, 64)],
)
def test_the_largest_are_those_of_a_sort_in_its_order(columns: int, count: int) -> None:
    values = _values(4, columns)
    expected = values.sort(-1, descending=True)
    found, at = topk(values, count)
    assert expected.values[:, :count].tolist() == found.tolist()
    assert expected.indices[:, :count].tolist() == at.tolist()


def test_equal_numbers_and_impossible_ones_are_found_once_each() -> None:
    values = torch.full((2, 640), -torch.inf)
    values[:, 100:110] = 1.0
    found, at = topk(values, 12)
    assert [[1.0] * 10 + [-torch.inf] * 2] * 2 == found.tolist()
    assert [set(range(100, 110))] * 2 == [set(row[:10]) for row in at.tolist()]
    assert [12, 12] == [len(set(row)) for row in at.tolist()]


def test_a_row_alone_has_the_same_as_among_others() -> None:
    values = _values(7, 4096).round(decimals=1)  # with many equal ones
    together = topk(values, 32)[1]
    assert together.tolist() == [topk(values[row : row + 1], 32)[1][0].tolist() for row in range(7)]


def test_sums_of_blocks_are_sums_of_the_row() -> None:
    values = _values(3, 1001).exp()
    assert pytest.approx(values.double().sum(-1).tolist(), rel=1e-6) == sum_blocks(values).sum(-1).tolist()
