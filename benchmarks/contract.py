"""Compares the speed of loading and validating with the contract, pydantic and plain openapi-core.

    python benchmarks/contract.py [--rounds 31]

The methods take turns in a random order each round, so that other load on the machine affects all of them alike.
Figures are medians of CPU time; a ratio is the median of the ratios within each round.
"""

from __future__ import annotations

import gc
import importlib
import json
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import click
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from openapi_core import OpenAPI
from openapi_core.testing import MockRequest
from rich.console import Console
from rich.table import Table

from benchmarks import pydantic_request
from openapi.contract import contract as contracts
from openapi.contract import resolution
from openapi.contract.tree.delta import walk_tree
from openapi.description.body_request import BodyRequest
from openapi.description.description import REQUEST, describe
from openapi.description.validation import Validator
from openapi.schema.json_schema import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Method = Callable[[], Any]

ROOT: Final = Path(__file__).resolve().parent.parent
DIALECT: Final = "mindie-2.3"
PARTS: Final = 5888
TARGETS_MS: Final = {"load and compile": 150.0, "1 KB": 0.5, f"1 MB, {PARTS} parts": 10.0}
MEASURED_S: Final = 0.01
"""Each measurement repeats a method for this long, so that the resolution of the clock does not matter."""
OURS: Final = "contract"


def body_of_1_kb() -> dict[str, Any]:
    """Return a typical chat request: a system prompt, three messages, and sampling parameters."""
    text = "The quick brown fox jumps over the lazy dog while the rain falls on the roof of the old mill by the river. "
    messages = [
        {"role": "system", "content": "You answer in one short sentence."},
        {"role": "user", "content": text * 3},
        {"role": "assistant", "content": text},
        {"role": "user", "content": text * 2},
    ]
    settings = {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "seed": 42, "max_tokens": 256, "stop": ["END", "###"]}
    return {"model": "m", "messages": messages, "stream": True, **settings}


def body_of_1_mb() -> dict[str, Any]:
    """Return one message with many short parts, the largest number of objects in a megabyte."""
    parts = [{"type": "text", "text": "x" * 140} for _ in range(PARTS)]
    return {"model": "m", "messages": [{"role": "user", "content": parts}]}


def loading_methods() -> Mapping[str, Method]:
    """Return the methods that build a validator and validate one request. Imports are done in advance."""
    body = body_of_1_kb()

    def ours() -> None:
        for cached in (contracts.load_dialect, resolution.resolve_built_in, resolution.read, resolution.dialect_files):
            cached.cache_clear()
        Validator(contracts.load(DIALECT)).request_problems(body)

    def server() -> None:
        for cached in (contracts.load_dialect, resolution.resolve_built_in, resolution.read, resolution.dialect_files):
            cached.cache_clear()
        loaded = contracts.load(DIALECT)
        Validator(loaded).refusals(BodyRequest(loaded.path, json.dumps(body).encode()))

    def plain() -> None:
        _plain_openapi_core(contracts.load(DIALECT))(json.dumps(body).encode())

    def models() -> None:
        built: Any = importlib.reload(pydantic_request)
        built.PydanticRequest.model_validate(body)

    return {OURS: ours, "contract, through openapi-core": server, "plain openapi-core": plain, "pydantic": models}


def validation_methods(body: dict[str, Any]) -> Mapping[str, Method]:
    """Return the methods that validate the bytes of a body; for the contract also the parsed body."""
    contract = contracts.load(DIALECT)
    validator, sent = Validator(contract), json.dumps(body).encode()
    plain, slow = _plain_openapi_core(contract), _python_jsonschema(contract)
    methods: dict[str, Method] = {
        OURS: lambda: validator.request_problems(json.loads(sent)) == (),
        "contract, parsed body": lambda: validator.request_problems(body) == (),
        "contract, through openapi-core": lambda: validator.refusals(BodyRequest(contract.path, sent)) == (),
        "plain openapi-core": lambda: plain(sent),
        "pydantic": lambda: pydantic_request.PydanticRequest.model_validate_json(sent) is not None,
        "jsonschema": lambda: slow.is_valid(json.loads(sent)),
    }
    refused = [name for name, method in methods.items() if not method()]
    if refused:
        raise SystemExit(f"these methods refuse the body: {', '.join(refused)}")
    return methods


def _plain_openapi_core(contract: contracts.Contract) -> Callable[[bytes], bool]:
    """Return openapi-core as its documentation shows it, with its own schema backend."""
    app = OpenAPI.from_dict(describe(contract))
    return lambda sent: not any(app.iter_request_errors(MockRequest("http://h", "post", contract.path, data=sent)))


def _python_jsonschema(contract: contracts.Contract) -> Any:
    document = describe(contract)
    for key, _, holder in list(walk_tree(document)):
        if key == "discriminator":
            del holder[key]
    return Draft202012Validator({"$ref": f"{REFERENCE}{REQUEST}", "components": document["components"]})


@dataclass(frozen=True, slots=True)
class ContractFigure:
    """One method: CPU time of one call, and its ratio to that of the contract."""

    task: str
    method: str
    ms: float
    ratio: float


def measure(what: str, methods: Mapping[str, Method], rounds: int) -> list[ContractFigure]:
    """Run all methods `rounds` times, each time in a random order."""
    repeats = {name: _repeats(method) for name, method in methods.items()}
    taken: dict[str, list[float]] = {name: [] for name in methods}
    order, dice = list(methods), random.Random(what)
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        dice.shuffle(order)
        for name in order:
            start = time.process_time()
            for _ in range(repeats[name]):
                methods[name]()
            taken[name].append((time.process_time() - start) / repeats[name])
        gc.collect()
    gc.enable()
    return [
        ContractFigure(what, name, median(times) * 1e3, median(map(_quotient, times, taken[OURS])))
        for name, times in taken.items()
    ]


def _quotient(one: float, other: float) -> float:
    return one / other


def _repeats(method: Method) -> int:
    method()
    start = time.process_time()
    method()
    return max(1, round(MEASURED_S / max(time.process_time() - start, 1e-6)))


def first_verdicts(rounds: int) -> list[ContractFigure]:
    """Measure the CPU time of a new process up to its first verdict, including imports; also of Python alone."""
    validator = (
        "from openapi.contract.contract import load; from openapi.description.validation import Validator; "
        f"validator = Validator(load({DIALECT!r})); "
    )
    scripts = {
        OURS: f"{validator} validator.request_problems({{}})",
        "contract, through openapi-core": f"{validator} validator.prepare()",
        "pydantic": "from benchmarks import pydantic_request",
        "Python alone": "pass",
    }

    def run(name: str) -> float:
        script = f"{scripts[name]}\nimport time; print(time.process_time())"
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)  # noqa: S603
        return float(done.stdout)

    taken: dict[str, list[float]] = {name: [] for name in scripts}
    for _ in range(max(3, rounds // 6)):
        for name in scripts:
            taken[name].append(run(name))
    return [
        ContractFigure(
            "first verdict of a new process", name, median(times) * 1e3, median(map(_quotient, times, taken[OURS]))
        )
        for name, times in taken.items()
    ]


@click.command()
@click.option("--rounds", default=31, show_default=True, type=click.IntRange(3), help="Measurements per method.")
def main(rounds: int) -> None:
    """Run the benchmark and print the table."""
    small, large = body_of_1_kb(), body_of_1_mb()
    sizes = ", ".join(f"{len(json.dumps(body)):,}" for body in (small, large))
    few = max(3, rounds // 6)
    figures = [
        *measure("load and compile", loading_methods(), few),
        *measure("1 KB", validation_methods(small), rounds),
        *measure(f"1 MB, {PARTS} parts", validation_methods(large), few),
        *first_verdicts(rounds),
    ]
    table = Table("task", "method", title=f"{DIALECT}; bodies of {sizes} bytes; {rounds} rounds", title_justify="left")
    for name in ("ms CPU", "target", "x contract"):
        table.add_column(name, justify="right")
    before = ""
    for figure in figures:
        target = f"{TARGETS_MS[figure.task]:g}" if figure.task in TARGETS_MS and figure.method.startswith(OURS) else ""
        new = figure.task != before
        table.add_row(figure.task if new else "", figure.method, f"{figure.ms:.3g}", target, f"{figure.ratio:.3g}")
        before = figure.task
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
