"""The catalogue of checks: how they are made and gathered.

That every check can fail is proven in test_mutants.py, that none blames falsely in test_benign.py, that none breaks in
test_judges_robustness.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from conformance import check
from conformance.check import Check, Finding, Occasion
from conformance.errors import HarnessError
from conformance.judge.check_registry import gather_checks

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKS = gather_checks()


def test_every_check_has_an_id_of_its_topic_and_states_a_claim() -> None:
    wrong = [
        found.id
        for found in CHECKS.values()
        if not re.fullmatch(r"[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*", found.id)
        or not found.claim.endswith(".")
        or "\n" in found.claim
    ]
    assert not wrong


def test_a_check_without_a_claim_is_our_mistake() -> None:
    def silent(*_: object) -> Iterator[Finding]:
        return iter(())

    with pytest.raises(HarnessError, match="states no claim"):
        check.check("topic.no-claim", on=Occasion(lambda *_: True))(silent)
    with pytest.raises(HarnessError, match="states no claim"):
        check.relation("topic.no-claim", over=("a", "b"), lacks=lambda _: None)(silent)


def test_a_duplicate_check_id_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from conformance.judge.checks.stream import events
    from conformance.judge.checks.usage import counts

    twin = Check("usage.total-is-sum", "", "", Occasion(lambda *_: True), lambda *_: iter(()))
    monkeypatch.setattr(events, "twin", twin, raising=False)
    with pytest.raises(HarnessError, match=r"duplicate check id: usage\.total-is-sum"):
        gather_checks()
    assert counts.total_is_the_sum.id == twin.id
