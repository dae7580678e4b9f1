"""Messages write a number and its noun in agreement: `1 token`, not `1 tokens`."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ("chatproof", "conformance", "loadtests", "openapi", "reference_server")
PLURAL: Final = re.compile(r" (?:[a-z]+ )?([a-z]+s|entries)\b")
VERBS: Final = {"is", "was", "has", "does", "takes", "lacks", "ends", "needs"}
LARGE: Final = {
    "conformance/plan/scenarios/boundary_request.py": "strings of more than 60 characters",
    "reference_server/engine/multimodal/model_inputs.py": "more tokens than a limit",
    "reference_server/engine/tools/grammar.py": "more characters than a limit",
}
"""Modules that count what is always more than one."""


def counts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each count in an f-string that precedes a plural, unless it is a total."""
    for string in (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)):
        for before, value, after in zip([None, *string.values], string.values, string.values[1:], strict=False):
            if not (isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant)):
                continue
            words = PLURAL.match(str(after.value))
            is_total = isinstance(before, ast.Constant) and str(before.value).endswith(" of ")
            if words and words[1] not in VERBS and is_count(value.value) and not is_total:
                yield value.lineno, f"{ast.unparse(value.value)}{words[0]}"


def is_count(value: ast.expr) -> bool:
    """Whether an expression counts something, such as `len(tokens)` or `names.count(name) + 1`."""
    if isinstance(value, ast.BinOp):
        return is_count(value.left) or is_count(value.right)
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Attribute):
        return value.func.attr == "count"
    name = value.func.id if isinstance(value.func, ast.Name) else ""
    return name in ("len", "sum") or (name in ("max", "min") and any(map(is_count, value.args)))


def modules() -> list[str]:
    """The modules of the packages, without their tests and the training of the embedded model."""
    files = (file.relative_to(ROOT) for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    return sorted(str(file) for file in files if not {"tests", "tiny"}.intersection(file.parts))


def test_every_count_is_written_with_the_function_that_chooses_singular_or_plural() -> None:
    found = [
        f"{name}:{line}: {text}"
        for name in modules()
        if name not in LARGE
        for line, text in counts(ast.parse((ROOT / name).read_text("utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("f'{len(x)} tokens'", [(1, "len(x) tokens")]),
        ("f'{max(1, len(x))} of them'", []),
        ("f'{x.count(y) + 1} wrong lines: {y}'", [(1, "x.count(y) + 1 wrong lines")]),
        ("f'in {sum(x)} of {len(x)} rounds'", []),
        ("f'{name} tokens'", []),
    ],
)
def test_a_count_in_front_of_a_plural_is_found(source: str, expected: list[tuple[int, str]]) -> None:
    assert expected == list(counts(ast.parse(source)))
