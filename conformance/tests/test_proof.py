"""The kill matrix: who names whom, and what makes the proof fail."""

from __future__ import annotations

from conformance.check import gather
from conformance.proof import ledger
from conformance.proof.matrix import Matrix, Trialled, as_data, faults_of, render


def fault(name: str, **killers: str) -> Trialled:
    """A fault that these checks name."""
    return Trialled(
        name, f"It does {name}.", "mindie-2.3", (1,), False, {f"topic.{key}": value for key, value in killers.items()}
    )


def test_a_fault_that_nobody_names_and_a_check_that_names_nothing_are_told() -> None:
    matrix = Matrix((fault("one", a="M"), fault("two")), ("topic.a", "topic.b"), {})
    assert (("two",), ("topic.b",), 0.5) == (matrix.survivors, matrix.idle, matrix.score)
    assert not matrix.holds


def test_a_check_that_is_excused_with_a_reason_may_stay_idle() -> None:
    matrix = Matrix((fault("one", a="M"),), ("topic.a", "topic.b"), {"topic.b": "nobody can show it"})
    assert matrix.holds
    assert "- `topic.b`: nobody can show it" in render(matrix, [])


def test_the_matrix_tells_the_fault_that_the_fewest_checks_name_first() -> None:
    matrix = Matrix((fault("broad", a="M", b="S"), fault("narrow", a="o")), ("topic.a", "topic.b"), {})
    text = render(matrix, ["nobody else is blamed"])
    assert "| `topic.a` | 2 | `narrow`, `broad` |" in text
    assert "| `broad` | It does broad. | mindie-2.3 | `topic.a`, `topic.b`* |" in text
    assert "- nobody else is blamed" in text
    assert [("narrow", "It does narrow."), ("broad", "It does broad.")] == faults_of(as_data(matrix), "topic.a")


def test_the_committed_ledger_and_its_excuses_speak_of_checks_that_exist() -> None:
    named = {check for row in ledger.read()["faults"].values() for check in row["killed_by"]}
    assert set(gather()) >= named | set(ledger.EXCUSED)
