"""topk and sum_blocks: the results of a full sort and a full sum, for any width."""

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
def test_the_result_is_that_of_a_sort(columns: int, count: int) -> None:
    values = _values(4, columns)
    expected = values.sort(-1, descending=True)
    best, at = topk(values, count)
    assert expected.values[:, :count].tolist() == best.tolist()
    assert expected.indices[:, :count].tolist() == at.tolist()


def test_equal_and_infinite_values_are_found_once_each() -> None:
    values = torch.full((2, 640), -torch.inf)
    values[:, 100:110] = 1.0
    best, at = topk(values, 12)
    assert [[1.0] * 10 + [-torch.inf] * 2] * 2 == best.tolist()
    assert [set(range(100, 110))] * 2 == [set(row[:10]) for row in at.tolist()]
    assert [12, 12] == [len(set(row)) for row in at.tolist()]


def test_a_row_has_the_same_result_alone_and_among_others() -> None:
    values = _values(7, 4096).round(decimals=1)  # with many equal values
    together = topk(values, 32)[1]
    assert together.tolist() == [topk(values[row : row + 1], 32)[1][0].tolist() for row in range(7)]


def test_block_sums_add_up_to_the_row_sum() -> None:
    values = _values(3, 1001).exp()
    assert pytest.approx(values.double().sum(-1).tolist(), rel=1e-6) == sum_blocks(values).sum(-1).tolist()
