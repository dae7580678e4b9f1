"""Check the committed descriptions with other tools: linters, generators and validators.

The argument is the npm package of the linter, pinned: `python lint/descriptions.py @redocly/cli@2.77.0`. Needs node.
Exits with 1 if a linter finds an error, a generator's valid case is refused, or two validators disagree.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import click
from openapi_spec_validator import OpenAPIV31SpecValidator, OpenAPIV32SpecValidator
from rich.console import Console
from rich.table import Table

from openapi.contract.contract import Contract, load, names
from openapi.description.spec_files import OAS31_SUFFIX
from openapi.tests.contract.validators import (
    agreed_bodies,
    coverage_cases,
    openapi_core,
    positive_bodies,
    python_jsonschema,
    server,
)

ROOT = Path(__file__).resolve().parent.parent
SPECS = ROOT / "openapi" / "specs"
COUNT = 500
WIDTH = 160  # characters; fixed, because logs are wider than the default terminal


@dataclass(frozen=True, slots=True)
class DescriptionFigures:
    """The figures of one dialect. Of two figures, the first is for the 3.2 file and the second for the 3.1 file.

    `bodies`: numbers of requests that jsonschema-rs accepts and refuses; the last three count the agreement of others.
    """

    dialect: str
    spec_validator_errors: str
    lint_errors: str
    lint_warnings: str
    coverage_cases: str
    positive_cases: int
    positive_cases_valid: int
    bodies: str
    openapi_core_agrees: int
    jsonschema_agrees: int
    server_agrees: int

    @property
    def good(self) -> bool:
        """Whether every figure is as it should be."""
        expected = 2 * COUNT
        return (
            self.spec_validator_errors == self.lint_errors == "0, 0"
            and len(set(self.coverage_cases.split(", "))) == 1
            and self.positive_cases == self.positive_cases_valid
            and (self.openapi_core_agrees, self.jsonschema_agrees, self.server_agrees) == (expected, expected, expected)
        )


def lint(package: str, paths: list[Path]) -> list[dict[str, Any]]:
    """Return one report of Redocly per path. Raises SystemExit if node or the package is missing."""
    npx = shutil.which("npx")
    if npx is None:
        raise SystemExit("lint: npx is not installed: install node 20 or newer")
    config = ROOT / "lint" / "redocly.yaml"
    command = [npx, "--yes", package, "lint", "--format=json", f"--config={config}", *map(str, paths)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own arguments
    reports: list[dict[str, Any]] = []
    decoder, rest = json.JSONDecoder(), result.stdout.strip()
    while rest.startswith("{"):
        report, end = decoder.raw_decode(rest)
        reports.append(report)
        rest = rest[end:].strip()
    if len(reports) != len(paths):
        raise SystemExit(f"lint: {package} did not report on every file:\n{result.stderr or result.stdout}")
    return reports


def measure(contract: Contract, reports: list[dict[str, Any]]) -> DescriptionFigures:
    """Return the figures of one dialect. reports: those of the linter for both files."""
    new, old = (json.loads(path.read_text(encoding="utf-8")) for path in files(contract.name))
    cases = [coverage_cases(contract, document) for document in (new, old)]
    spec_errors = [
        len(list(validator(document).iter_errors()))
        for validator, document in ((OpenAPIV32SpecValidator, new), (OpenAPIV31SpecValidator, old))
    ]
    positive = positive_bodies(cases[0])
    independent = python_jsonschema(contract)
    valid, invalid = agreed_bodies(contract, COUNT)
    agreeing = [
        sum(map(accepts, valid)) + sum(not accepts(body) for body in invalid)
        for accepts in (openapi_core(contract), independent, server(contract))
    ]
    return DescriptionFigures(
        contract.name,
        "{}, {}".format(*spec_errors),
        "{}, {}".format(*(report["totals"]["errors"] for report in reports)),
        "{}, {}".format(*(report["totals"]["warnings"] for report in reports)),
        "{}, {}".format(*map(len, cases)),
        len(positive),
        sum(map(independent, positive)),
        f"{len(valid)} + {len(invalid)}",
        *agreeing,
    )


def files(dialect: str) -> tuple[Path, Path]:
    """Return the paths of a dialect's committed descriptions, 3.2 and 3.1."""
    return SPECS / f"{dialect}.json", SPECS / f"{dialect}{OAS31_SUFFIX}"


@click.command()
@click.argument("package")
def main(package: str) -> None:
    """Print the figures of every dialect. PACKAGE is the linter, e.g. @redocly/cli@2.77.0."""
    dialects = sorted(set(names().values()))
    reports = lint(package, [path for dialect in dialects for path in files(dialect)])
    rows = [measure(load(dialect), reports[2 * at : 2 * at + 2]) for at, dialect in enumerate(dialects)]
    table = Table("")
    for dialect in dialects:
        table.add_column(dialect, justify="right", no_wrap=True)
    for at, field in enumerate(fields(DescriptionFigures)[1:], start=1):
        table.add_row(field.name.replace("_", " "), *(str(astuple(row)[at]) for row in rows))
    Console(width=WIDTH).print(table)
    for problem in (problem for report in reports for problem in report["problems"]):
        place = problem["location"][0]
        file = Path(place["source"]["ref"]).name
        click.echo(f"{file}{place.get('pointer', '')}: {problem['ruleId']}: {problem['message']}", err=True)
    sys.exit(0 if all(row.good for row in rows) else 1)


if __name__ == "__main__":
    main()
