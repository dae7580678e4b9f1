"""The console command and pytest have the same options, defaults and ranges."""

from __future__ import annotations

import argparse
from typing import cast

import click
import pytest

from conformance.cli.check_command import check
from conformance.cli.options import OPTIONS, SuiteOption
from conformance.cli.pytest_options import add_options

NUMBERS = [
    option for option in OPTIONS.values() if option.in_pytest and option.kind in ("integer", "number", "duration")
]


class ArgumentGroup:
    """Stands in for pytest's parser and its groups."""

    def __init__(self) -> None:
        self.parser = argparse.ArgumentParser()
        self.addoption = self.parser.add_argument

    def getgroup(self, *_: str) -> ArgumentGroup:
        return self


def parse(*arguments: str) -> argparse.Namespace:
    """Parse arguments with the options that pytest gets."""
    group = ArgumentGroup()
    add_options(cast("pytest.Parser", group))
    return group.parser.parse_args(arguments)


def test_the_check_command_has_every_option() -> None:
    assert {option for parameter in check.params for option in parameter.opts} == {"url", "-H", *OPTIONS}


@pytest.mark.parametrize("option", NUMBERS, ids=lambda option: option.name)
def test_a_number_has_no_default_in_pytest_so_that_the_one_of_the_command_is_used(option: SuiteOption) -> None:
    name = f"chatproof_{option.name.removeprefix('--').replace('-', '_')}"
    (parameter,) = [parameter for parameter in check.params if option.name in parameter.opts]
    context = click.Context(check)
    default = parameter.type_cast_value(context, parameter.get_default(context))
    assert default == option.default
    assert getattr(parse(), name) is None


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("--max-requests", "0", "expected at least 1, got 0"),
        ("--rate", "0", "expected more than 0, got 0"),
        ("--concurrency", "257", "expected at least 1 and at most 256, got 257"),
        ("--fuzz", "-1", "expected at least 0, got -1"),
        ("--max-time", "soon", "invalid duration 'soon': expected for example 60s, 1m30s or 500ms"),
    ],
)
def test_pytest_refuses_a_number_out_of_range(
    name: str, value: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(f"{name}={value}")
    assert f"{name}: {expected}" in capsys.readouterr().err


def test_pytest_reads_a_number_within_its_range() -> None:
    arguments = parse("--max-requests", "7", "--max-time", "1m30s", "--fuzz-seed", "3")
    read = arguments.chatproof_max_requests, arguments.chatproof_max_time, arguments.chatproof_seed
    assert (7, 90.0, 3) == read
