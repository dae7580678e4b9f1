"""A sample of all kinds of models is served or refused in one line; `tox -e architectures` tries all."""

from __future__ import annotations

import logging
import warnings
from random import Random

import pytest

from tests.architectures.small_models import list_kinds
from tests.architectures.support import find_support

SAMPLE = Random(1).sample(list_kinds(), 12)
KNOWN = {"llama": "fast", "gpt2": "fast", "mamba": "slow", "jamba": "slow", "bert": "refused"}


@pytest.mark.takes_turns
@pytest.mark.parametrize("kind", sorted({*SAMPLE, *KNOWN}))
def test_every_kind_is_served_or_refused_in_one_line(kind: str) -> None:
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        support = find_support(kind)
    logging.disable(logging.NOTSET)
    assert "\n" not in support.reason
    assert KNOWN.get(kind, support.outcome) == support.outcome
