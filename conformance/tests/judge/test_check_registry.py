"""Test how checks are defined and collected.

test_mutants.py shows that every check can fail, test_variations.py that none reports a correct server, and
test_check_robustness.py that none raises an unexpected exception.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from conformance import check
from conformance.check import Applicability, Check, Finding
from conformance.errors import HarnessError
from conformance.judge import check_registry
from conformance.judge.check_registry import gather_checks

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKS = gather_checks()


def test_every_check_has_a_valid_id_and_a_claim() -> None:
    wrong = [
        check_.id
        for check_ in CHECKS.values()
        if not re.fullmatch(r"[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*", check_.id)
        or not check_.claim.endswith(".")
        or "\n" in check_.claim
    ]
    assert not wrong


def test_a_check_without_a_docstring_is_refused() -> None:
    def undocumented(*_: object) -> Iterator[Finding]:
        return iter(())

    with pytest.raises(HarnessError, match="missing claim of check"):
        check.check("topic.no-claim", on=Applicability(lambda *_: True))(undocumented)
    with pytest.raises(HarnessError, match="missing claim of check"):
        check.relation("topic.no-claim", over=("a", "b"))(undocumented)


def test_a_duplicate_check_id_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from conformance.judge.checks.stream import events
    from conformance.judge.checks.usage import counts

    twin = Check("usage.total-is-sum", "", "", Applicability(lambda *_: True), lambda *_: iter(()))
    monkeypatch.setattr(events, "twin", twin, raising=False)
    monkeypatch.setattr(check_registry, "_gather_built_in", check_registry._gather_built_in.__wrapped__)
    with pytest.raises(HarnessError, match=r"duplicate check id: usage\.total-is-sum"):
        gather_checks()
    assert counts.total_is_the_sum.id == twin.id
