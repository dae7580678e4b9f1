"""How long the contract takes: to be loaded, and to judge requests; beside pydantic and plain openapi-core.

    python benchmarks/contract.py [--rounds 31]

All ways are measured in turn within one run, in another order each round, so that what else the machine does falls on
all of them alike. Figures are medians of CPU time; a ratio is the median of the ratios within a round.
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
from openapi.contract.resolution import walk_tree
from openapi.description.description import COMPONENTS, REQUEST, describe
from openapi.description.validation import BodyRequest, Validator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Way = Callable[[], Any]

ROOT: Final = Path(__file__).resolve().parent.parent
DIALECT: Final = "mindie-2.3"
PARTS: Final = 5888
TARGETS_MS: Final = {"load and compile": 150.0, "1 KB": 0.5, f"1 MB, {PARTS} parts": 10.0}
SETTLED_S: Final = 0.01
"""A measurement repeats a way until it takes this long, so that the clock's step does not show."""
OURS: Final = "contract"


def body_of_1_kb() -> dict[str, Any]:
    """A request as chats send them: a system prompt, three turns, and how to sample."""
    said = "The quick brown fox jumps over the lazy dog while the rain falls on the roof of the old mill by the river. "
    messages = [
        {"role": "system", "content": "You answer in one short sentence."},
        {"role": "user", "content": said * 3},
        {"role": "assistant", "content": said},
        {"role": "user", "content": said * 2},
    ]
    settings = {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "seed": 42, "max_tokens": 256, "stop": ["END", "###"]}
    return {"model": "m", "messages": messages, "stream": True, **settings}


def body_of_1_mb() -> dict[str, Any]:
    """One message of many short parts: the most objects that a megabyte of text brings."""
    parts = [{"type": "text", "text": "x" * 140} for _ in range(PARTS)]
    return {"model": "m", "messages": [{"role": "user", "content": parts}]}


def ways_to_load() -> Mapping[str, Way]:
    """From nothing to a validator that has judged one request. Imports are done already."""
    body = body_of_1_kb()

    def ours() -> None:
        for cached in (contracts.load, resolution.read, resolution.dialect_files):
            cached.cache_clear()
        Validator(contracts.load(DIALECT)).request_problems(body)

    def server() -> None:
        for cached in (contracts.load, resolution.read, resolution.dialect_files):
            cached.cache_clear()
        loaded = contracts.load(DIALECT)
        Validator(loaded).refusals(BodyRequest(loaded.path, json.dumps(body).encode()))

    def plain() -> None:
        _plain_openapi_core(contracts.load(DIALECT))(json.dumps(body).encode())

    def models() -> None:
        built: Any = importlib.reload(pydantic_request)
        built.Request.model_validate(body)

    return {OURS: ours, "contract, through openapi-core": server, "plain openapi-core": plain, "pydantic": models}


def ways_to_judge(body: dict[str, Any]) -> Mapping[str, Way]:
    """From the bytes of a body to a verdict, and of the contract from the parsed body too."""
    contract = contracts.load(DIALECT)
    validator, sent = Validator(contract), json.dumps(body).encode()
    plain, slow = _plain_openapi_core(contract), _python_jsonschema(contract)
    ways: dict[str, Way] = {
        OURS: lambda: validator.request_problems(json.loads(sent)) == (),
        "contract, body parsed before": lambda: validator.request_problems(body) == (),
        "contract, through openapi-core": lambda: validator.refusals(BodyRequest(contract.path, sent)) == (),
        "plain openapi-core": lambda: plain(sent),
        "pydantic": lambda: pydantic_request.Request.model_validate_json(sent) is not None,
        "jsonschema": lambda: slow.is_valid(json.loads(sent)),
    }
    refused = [name for name, way in ways.items() if not way()]
    if refused:
        raise SystemExit(f"the body is refused by {', '.join(refused)}")
    return ways


def _plain_openapi_core(contract: contracts.Contract) -> Callable[[bytes], bool]:
    """openapi-core as its documentation has it: the description checked, its own schema backend."""
    app = OpenAPI.from_dict(describe(contract))
    return lambda sent: not any(app.iter_request_errors(MockRequest("http://h", "post", contract.path, data=sent)))


def _python_jsonschema(contract: contracts.Contract) -> Any:
    document = describe(contract)
    for key, _, holder in list(walk_tree(document)):
        if key == "discriminator":
            del holder[key]
    return Draft202012Validator({"$ref": f"{COMPONENTS}{REQUEST}", "components": document["components"]})


@dataclass(frozen=True, slots=True)
class Figure:
    """One way to do something: CPU time of one run, and how many times that of the contract it is."""

    what: str
    way: str
    ms: float
    ratio: float


def measure(what: str, ways: Mapping[str, Way], rounds: int) -> list[Figure]:
    """Runs all ways in turn, `rounds` times, each time in another order."""
    repeats = {name: _repeats(way) for name, way in ways.items()}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    order, dice = list(ways), random.Random(what)
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        dice.shuffle(order)
        for name in order:
            start = time.process_time()
            for _ in range(repeats[name]):
                ways[name]()
            taken[name].append((time.process_time() - start) / repeats[name])
        gc.collect()
    gc.enable()
    return [
        Figure(what, name, median(times) * 1e3, median(map(_quotient, times, taken[OURS])))
        for name, times in taken.items()
    ]


def _quotient(one: float, other: float) -> float:
    return one / other


def _repeats(way: Way) -> int:
    way()
    start = time.process_time()
    way()
    return max(1, round(SETTLED_S / max(time.process_time() - start, 1e-6)))


def first_verdicts(rounds: int) -> list[Figure]:
    """CPU time of a new process from its start to its first verdict, imports included; of Python alone as well."""
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
        Figure("first verdict of a new process", name, median(times) * 1e3, median(map(_quotient, times, taken[OURS])))
        for name, times in taken.items()
    ]


@click.command()
@click.option("--rounds", default=31, show_default=True, type=click.IntRange(3), help="Measurements of each way.")
def main(rounds: int) -> None:
    """Print how long the contract takes, beside other ways to do the same."""
    small, large = body_of_1_kb(), body_of_1_mb()
    sizes = ", ".join(f"{len(json.dumps(body)):,}" for body in (small, large))
    few = max(3, rounds // 6)
    figures = [
        *measure("load and compile", ways_to_load(), few),
        *measure("1 KB", ways_to_judge(small), rounds),
        *measure(f"1 MB, {PARTS} parts", ways_to_judge(large), few),
        *first_verdicts(rounds),
    ]
    table = Table("what", "way", title=f"{DIALECT}; bodies of {sizes} bytes; {rounds} rounds", title_justify="left")
    for name in ("ms CPU", "target", "x contract"):
        table.add_column(name, justify="right")
    before = ""
    for figure in figures:
        target = f"{TARGETS_MS[figure.what]:g}" if figure.what in TARGETS_MS and figure.way.startswith(OURS) else ""
        new = figure.what != before
        table.add_row(figure.what if new else "", figure.way, f"{figure.ms:.3g}", target, f"{figure.ratio:.3g}")
        before = figure.what
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
