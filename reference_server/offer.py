"""What this server offers: a dialect's contract less what the server lacks, plus the key it asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from openapi.contract import Contract

LACKING: Final = frozenset({"n", "best_of", "beam_search", "logprobs", "tools", "thinking", "media"})
"""Capabilities that the server has not got. Their neutral values are accepted, all others refused by name."""


def served(contract: Contract, *, bearer: bool) -> Contract:
    """The contract that is served and described; `bearer`: the operator asks for a key, whatever the dialect says."""
    offered = contract.without(LACKING)
    return replace(offered, auth="bearer") if bearer else offered
