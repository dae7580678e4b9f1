"""The catalogue of checks: how they are made and gathered.

That every check can fail is proven in test_mutants.py, that none blames falsely in test_benign.py, that none breaks in
test_judges_robustness.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance import check
from conformance.check import Check, Finding, Occasion
from conformance.errors import HarnessError
from conformance.judge import checks

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKS = check.gather()


def test_every_check_has_an_id_of_its_topic_and_states_a_claim() -> None:
    wrong = [
        found.id
        for found in CHECKS.values()
        if not re.fullmatch(r"[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*", found.id)
        or not found.claim.endswith(".")
        or "\n" in found.claim
    ]
    assert not wrong


PARTS = {
    "answer": ("answer", "message"),
    "tools": ("tools", "calls"),
    "stream": ("stream", "sse", "chunks", "deltas"),
    "http": ("http", "fields", "methods", "models"),
    "errors": ("errors", "refusals"),
    "logprobs": ("logprobs", "likelihoods"),
    "effects": ("effects", "penalties", "vocabulary", "carried"),
    "finish": ("finish", "carried"),
    "relations": ("relations", "carried"),
    "usage": ("usage", "counted"),
}
"""The modules of a topic that one would not hold; all others have one, of their own name."""


def test_every_check_stands_in_the_module_of_its_topic() -> None:
    room = Path(str(checks.__file__)).parent
    for name in {found.topic for found in CHECKS.values()}:
        paths = [room / f"{part}.py" for part in PARTS.get(name, (name,))]
        text = "".join(path.read_text(encoding="utf-8") for path in paths if path.exists())
        missing = [found.id for found in CHECKS.values() if found.topic == name and f'"{found.id}"' not in text]
        assert not missing


def test_a_check_without_a_claim_is_our_mistake() -> None:
    def silent(*_: object) -> Iterator[Finding]:
        return iter(())

    with pytest.raises(HarnessError, match="states no claim"):
        check.check("topic.no-claim", on=Occasion(lambda *_: True))(silent)
    with pytest.raises(HarnessError, match="states no claim"):
        check.relation("topic.no-claim", over=("a", "b"), lacks=lambda _: None)(silent)


def test_two_checks_of_one_id_are_our_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    from conformance.judge.checks import stream, usage

    twin = Check("usage.total-is-sum", "", "", Occasion(lambda *_: True), lambda *_: iter(()))
    monkeypatch.setattr(stream, "twin", twin, raising=False)
    with pytest.raises(HarnessError, match=r"two checks are called usage\.total-is-sum"):
        check.gather()
    assert usage.total_is_the_sum.id == twin.id
