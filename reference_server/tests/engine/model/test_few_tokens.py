"""attend: the numbers of torch's attention, however many heads share keys and however many tokens there are."""

from __future__ import annotations

import pytest

from reference_server.engine.device import torch
from reference_server.engine.model.attention.few_tokens import StepView, attend

TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 0.02}


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("tokens", [1, 3])
@pytest.mark.parametrize(("heads", "shared"), [(4, 4), (4, 2), (4, 1)])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_has_the_numbers_of_torch(
    dtype: torch.dtype, tokens: int, heads: int, shared: int, masked: bool
) -> None:
    generator = torch.Generator().manual_seed(tokens)
    queries = torch.randn(2, heads, tokens, 8, generator=generator).to(dtype)
    keys, values = (torch.randn(2, shared, 20, 8, generator=generator).to(dtype) for _ in range(2))
    mask = torch.arange(20) <= torch.tensor([[9], [14]]) + torch.arange(tokens)[:, None, None] if masked else None
    mask = None if mask is None else mask.transpose(0, 1)[:, None]
    expected = torch.nn.functional.scaled_dot_product_attention(
        queries, keys, values, attn_mask=mask, scale=0.3, enable_gqa=True
    )
    actual = attend(queries, keys, values, attn_mask=mask, scale=0.3)
    assert expected.shape == actual.shape
    assert torch.allclose(expected, actual, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_a_step_attends_to_a_single_query_of_each_head_with_the_same_numbers() -> None:
    generator = torch.Generator().manual_seed(0)
    queries, keys, values = (torch.randn(2, 4, length, 8, generator=generator) for length in (1, 20, 20))
    function = torch.nn.functional.scaled_dot_product_attention
    expected = function(queries, keys, values)
    kept = torch.zeros(3, 32, 4, 8), torch.zeros(3, 32, 4, 8)
    with StepView(kept, torch.arange(2), torch.zeros(2, 1, dtype=torch.long), 20, leading=True).attention:
        actual = function(queries, keys, values)
    assert torch.allclose(expected, actual, atol=1e-5)
