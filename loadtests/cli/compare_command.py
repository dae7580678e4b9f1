"""`chatproof load compare A B`: what changed between two load tests, with intervals."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import jsonschema_rs
from rich.console import Console
from rich.table import Table

from loadtests.report.comparison import differences
from loadtests.report.results import SCHEMA_VERSION

if TYPE_CHECKING:
    from loadtests.report.comparison import Figure

WIDTH: Final = 200
SHOWN: Final = 200
"""Characters of what is wrong in a file."""
SAME: Final = (("target", "dialect"), ("load", "loop"), ("load", "users"), ("load", "rate_per_s"), ("load", "shape"))


@click.command(name="compare", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option("--fail-on-worse", is_flag=True, help="Exit 3 when a figure is clearly worse.")
def compare(before: Path, after: Path, fail_on_worse: bool) -> None:
    """Compare two load tests: their folders or their results.json."""
    one, other = _read(before), _read(after)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    for room, name in SAME:
        if one[room][name] != other[room][name]:
            words = f"not the same load: {room} {name} {one[room][name]} and {other[room][name]}"
            console.print(words, markup=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for title in ("before", "95 %", "after", "95 %", "ratio", ""):
        table.add_column(title, justify="right", no_wrap=True)
    found = list(differences(one, other))
    for each in found:
        ratio = "" if each.ratio is None else f"{each.ratio:.3f}"
        table.add_row(each.name, *_cells(each.before), *_cells(each.after), ratio, each.verdict)
    console.print(table)
    if fail_on_worse and any(each.verdict == "worse" for each in found):
        raise SystemExit(3)


def _cells(figure: Figure) -> tuple[str, str]:
    return f"{figure.value:.4g}", f"{figure.least:.4g} to {figure.greatest:.4g}"


def _read(path: Path) -> dict[str, Any]:
    file = path / "results.json" if path.is_dir() else path
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"{file}: is no JSON: {error}") from error
    if not isinstance(found, dict) or found.get("schema_version") != SCHEMA_VERSION or "latencies_ms" not in found:
        raise click.UsageError(f"{file}: not the results of a load test, or of another version of chatproof")
    schema = json.loads(files("loadtests").joinpath("results.schema.json").read_text(encoding="utf-8"))
    for problem in jsonschema_rs.validator_for(schema).iter_errors(found):
        where = "/".join(["", *map(str, problem.instance_path)]) or "/"
        raise click.UsageError(f"{file}: not as a load test writes it: {where}: {problem.message[:SHOWN]}")
    return found
