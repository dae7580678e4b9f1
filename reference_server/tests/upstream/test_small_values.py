"""A value that is legal in a dialect and breaks the arithmetic of an upstream is raised to one with the same effect."""

from __future__ import annotations

import pytest

from reference_server.upstream.kind import load_kind
from reference_server.upstream.request_translation import _write_value

LEAST_FLOAT32 = 1.1754943508222875e-38


@pytest.mark.parametrize("value", [LEAST_FLOAT32, 1e-31])
def test_a_repetition_penalty_by_which_logits_overflow_is_raised(value: float) -> None:
    handling = load_kind("transformers").handling["repetition_penalty"]
    (sent,) = _write_value(handling, value).values()
    assert value < sent <= 1e-29
    assert 1e6 / sent < 3.4e38  # a logit of a million does not overflow


@pytest.mark.parametrize("value", [1e-6, 0.5, 1.0, 2.0])
def test_any_other_repetition_penalty_is_passed_unchanged(value: float) -> None:
    assert [*_write_value(load_kind("transformers").handling["repetition_penalty"], value).values()] == [value]
