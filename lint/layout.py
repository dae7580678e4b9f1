"""Check the layout of the packages: import cycles, upward imports, and the number of modules per folder.

`python lint/layout.py` prints the three figures and exits with 1 if there is a cycle, an upward import or a
folder with more than `MOST_MODULES` modules. The order of the stages is read from the import-linter contracts in
pyproject.toml, so it is stated once. Imports for type checking count too.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import grimp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = ("openapi", "reference_server", "conformance", "loadtests")
MOST_MODULES: Final = 15
ONE_PER_TOPIC: Final = ("conformance/judge/checks", "conformance/proof/mutants", "reference_server/faults/topics")
"""Folders with one module or folder per topic, where the number of topics decides how many there are."""


def main() -> int:
    """Print the findings and their totals; return the exit code."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    imports = {
        module: graph.find_modules_directly_imported_by(module) for module in graph.modules if ".tests" not in module
    }
    cycles, upward, crowded = list(find_cycles(imports)), list(find_upward(imports)), list(find_crowded())
    for cycle in cycles:
        print(f"cycle: {' -> '.join(cycle)}")
    for importer, imported in upward:
        print(f"upward import: {importer} -> {imported}")
    for folder, count in crowded:
        print(f"crowded folder: {folder}: {count} modules, at most {MOST_MODULES}")
    print(f"import cycles: {len(cycles)}")
    print(f"upward imports: {len(upward)}")
    print(f"folders with more than {MOST_MODULES} modules: {len(crowded)}")
    return 1 if cycles or upward or crowded else 0


def find_cycles(imports: Mapping[str, set[str]]) -> Iterator[list[str]]:
    """Yield each group of modules that import one another, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(module: str) -> Iterator[list[str]]:
        index[module] = low[module] = len(index)
        stack.append(module)
        for imported in sorted(imports.get(module, ())):
            if imported not in index:
                yield from visit(imported)
                low[module] = min(low[module], low[imported])
            elif imported in stack:
                low[module] = min(low[module], index[imported])
        if low[module] == index[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(group) > 1:
                yield sorted(group)

    for module in sorted(imports):
        if module not in index:
            yield from visit(module)


def find_upward(imports: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Yield each import from a lower stage to a higher one, as (importer, imported)."""
    for contract in _layer_contracts():
        containers = contract.get("containers", [""])
        for container in containers:
            level = _levels(container, contract["layers"])
            for importer, targets in sorted(imports.items()):
                own = _level_of(importer, level)
                for imported in sorted(targets):
                    other = _level_of(imported, level)
                    if own is not None and other is not None and own > other:
                        yield importer, imported


def find_crowded() -> Iterator[tuple[str, int]]:
    """Yield each folder of product code with too many modules."""
    counts = Counter(
        path.parent.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if "tests" not in path.parts and path.name != "__init__.py"
    )
    for folder, count in sorted(counts.items()):
        if count > MOST_MODULES and folder not in ONE_PER_TOPIC:
            yield folder, count


def _layer_contracts() -> list[dict[str, Any]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [contract for contract in settings["tool"]["importlinter"]["contracts"] if contract["type"] == "layers"]


def _levels(container: str, layers: list[str]) -> dict[str, int]:
    """Full module names of the stages, with 0 for the highest."""
    prefix = f"{container}." if container else ""
    return {
        f"{prefix}{name.strip()}": level
        for level, layer in enumerate(layers)
        for name in layer.replace("|", ":").split(":")
    }


def _level_of(module: str, levels: Mapping[str, int]) -> int | None:
    return next((level for stage, level in levels.items() if module == stage or module.startswith(f"{stage}.")), None)


if __name__ == "__main__":
    raise SystemExit(main())
