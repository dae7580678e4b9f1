"""`chatproof.toml` and `CHATPROOF_*`: their order, their errors, and what `config show` says about them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import click
import jsonschema_rs
import pytest
import yaml
from click.testing import CliRunner

from chatproof import main
from conformance.report import waivers
from openapi.command_options import config_file
from openapi.command_options.config_commands import EXAMPLE
from openapi.command_options.config_file import find_meant_variable

if TYPE_CHECKING:
    from click.testing import Result

ROOT = Path(__file__).resolve().parent.parent
FILE = """
[check]
max-time = "5m"
depth = "quick"
strict = true
report = ["html=a.html", "junit=b.xml"]

[load]
users = 3

[targets.staging]
url = "http://127.0.0.1:9/staging"
dialect = "ovms"
depth = "thorough"
users = 7
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "chatproof.toml").write_text(FILE, encoding="utf-8")
    return tmp_path


def run(*words: str, **variables: str) -> Result:
    return CliRunner().invoke(main, words, env=variables)


def shown(*words: str, **variables: str) -> dict[str, str]:
    """The value and the origin of each option."""
    result = run("config", "show", *words, **variables)
    assert 0 == result.exit_code, result.output
    return {line.split(maxsplit=1)[0]: " ".join(line.split()[1:]) for line in result.output.splitlines()}


def test_every_option_is_shown_with_its_value_and_its_origin() -> None:
    options = shown("check")
    assert "5m chatproof.toml: [check]" == options["--max-time"]
    assert "quick chatproof.toml: [check]" == options["--depth"]
    assert "html=a.html chatproof.toml: [check]" == options["--report"]
    assert "4 default" == options["--concurrency"]


def test_variables_win_over_targets_and_targets_over_tables() -> None:
    options = shown("check", "@staging", CHATPROOF_MAX_TIME="7s", CHATPROOF_ONLY="stream.*\nusage.*")
    assert "7s CHATPROOF_MAX_TIME" == options["--max-time"]
    assert "stream.* CHATPROOF_ONLY" == options["--only"]
    assert "usage.*" in options
    assert "thorough chatproof.toml: [targets.staging]" == options["--depth"]
    assert "http://127.0.0.1:9/staging @staging" == options["url"]
    assert "7 chatproof.toml: [targets.staging]" == shown("load", "@staging")["--users"]
    assert "3 chatproof.toml: [load]" == shown("load")["--users"]


@pytest.mark.parametrize("command", config_file.COMMANDS)
def test_the_options_of_every_configurable_command_are_shown(command: str) -> None:
    chosen = main.resolve_command(click.Context(main), [command])[1]
    assert chosen is not None
    names = {name for item in chosen.params if (name := config_file.option_name(item)) not in (None, "help")}
    assert {f"--{name}" for name in names} <= shown(command).keys()


def test_diff_and_matrix_take_their_options_from_the_file(folder: Path) -> None:
    results = str(ROOT / "conformance" / "tests" / "report" / "old_results" / "version-3.json.gz")
    text = '[diff]\nallow-lost = true\n[matrix]\nreport = ["json=deployments.json"]\nsite = "public"\n'
    (folder / "chatproof.toml").write_text(text, encoding="utf-8")
    assert "True chatproof.toml: [diff]" == shown("diff")["--allow-lost"]
    result = run("matrix", results)
    assert 0 == result.exit_code, result.output
    assert "json written to deployments.json\n" in result.output
    assert (folder / "deployments.json").is_file()
    assert (folder / "public" / "index.html").is_file()


def test_only_a_command_with_a_url_takes_a_target_and_its_options(folder: Path) -> None:
    result = run("config", "show", "diff", "@staging")
    line = "chatproof: `diff` has no URL, so it takes no target such as '@staging'\n"
    assert (2, line) == (result.exit_code, result.output)
    text = "[targets.a]\nurl = 'http://h'\nsite = 'x'"
    (folder / "chatproof.toml").write_text(text, encoding="utf-8")
    result = run("check", "@a")
    assert (2, True) == (result.exit_code, "[targets.a]: unknown name 'site'" in result.output)


def test_the_command_line_wins_over_everything() -> None:
    words = ("check", "@staging", "--list", "--depth", "standard", "--only", "stream.done-last")
    result = run(*words, CHATPROOF_DEPTH="quick")
    assert 0 == result.exit_code, result.output
    assert "\novms-2024: " in result.output
    assert "limited to 1,500 requests, 200,000 tokens, 300 seconds" in result.output


@pytest.mark.parametrize(
    ("content", "words", "expected"),
    [
        (
            "[check]\nmax-tim = '5m'",
            ["check"],
            "chatproof.toml: [check]: unknown name 'max-tim'. Did you mean 'max-time'?",
        ),
        (
            "[matrix]\nsit = 'x'",
            ["matrix", "a.json"],
            "chatproof.toml: [matrix]: unknown name 'sit'. Did you mean 'site'?",
        ),
        ("[diff]\nallow-lost = 'x'", ["diff", "a", "b"], "chatproof.toml: [diff] allow-lost: expected true or false"),
        ("[chek]\nx = 1", ["check"], "chatproof.toml: unknown name 'chek'. Did you mean 'check'?"),
        ("[check]\nmax-time = 'soon'", ["check"], "chatproof.toml: [check] max-time: invalid duration 'soon'"),
        ("[check]\nstrict = 'yes'", ["check"], "chatproof.toml: [check] strict: expected true or false"),
        ("[check]\nreport = 'html=x'", ["check"], "chatproof.toml: [check] report: expected a list"),
        ("[check]\ndepth = ['quick']", ["check"], "chatproof.toml: [check] depth: expected one string or number"),
        ("[check]\ndepth = 'deep'", ["check"], "chatproof.toml: [check] depth: 'deep' is not one of"),
        ("[check", ["check"], "chatproof.toml: invalid TOML: "),
        ("check = 1", ["check"], "chatproof.toml: check: expected a table, [check]"),
        (
            "[targets.a]\nurl = 'http://h'",
            ["check", "@b"],
            "unknown target '@b': chatproof.toml has no such target: expected one of @a",
        ),
        ("", ["check", "@b"], "unknown target '@b': chatproof.toml has no such target: add a table [targets.b] "),
        ("[targets.a]\ndialect = 'ovms'", ["check", "@a"], "chatproof.toml: [targets.a]: missing url"),
        (
            "[targets.a]\nurl = 'http://h'\nkey = 'k'",
            ["check", "@a"],
            "chatproof.toml: [targets.a]: unknown name 'key'",
        ),
    ],
)
def test_a_mistake_in_the_file_is_one_line_with_its_place(
    folder: Path, content: str, words: list[str], expected: str
) -> None:
    (folder / "chatproof.toml").write_text(content, encoding="utf-8")
    result = run(*words)
    assert (2, 1) == (result.exit_code, result.output.count("\n"))
    assert result.output.startswith(f"chatproof: {expected}")


def test_a_mistyped_variable_is_one_line_and_other_names_are_left_alone() -> None:
    result = run("check", "http://127.0.0.1:9", CHATPROOF_MAX_TIEM="5m")
    expected = "chatproof: unknown environment variable CHATPROOF_MAX_TIEM. Did you mean CHATPROOF_MAX_TIME?\n"
    assert (2, expected) == (result.exit_code, result.output)
    result = run("check", "http://127.0.0.1:9", CHATPROOF_API_KEY="k", CHATPROOF_LOAD_KEY="k", CHATPROOF_USERS="3")
    assert result.output.startswith("chatproof: missing --dialect")


def test_the_variable_of_an_option_is_never_taken_for_a_mistyped_one() -> None:
    variables = {}
    for name in config_file.COMMANDS:
        command = main.resolve_command(click.Context(main), [name])[1]
        assert command is not None
        variables[name] = {str(parameter.envvar) for parameter in command.params if parameter.envvar}
    every = set().union(*variables.values())
    close = [
        (name, meant) for known in variables.values() for name in every if (meant := find_meant_variable(name, known))
    ]
    assert [] == close


def test_a_file_that_the_environment_names_must_exist() -> None:
    result = run("check", CHATPROOF_CONFIG="no.toml")
    assert (2, True) == (result.exit_code, "CHATPROOF_CONFIG: cannot read no.toml" in result.output)


def test_init_writes_a_valid_file_and_keeps_one_that_exists(folder: Path) -> None:
    assert 2 == run("init").exit_code
    assert FILE == (folder / "chatproof.toml").read_text(encoding="utf-8")
    (folder / "chatproof.toml").unlink()
    assert 0 == run("init").exit_code
    assert EXAMPLE == (folder / "chatproof.toml").read_text(encoding="utf-8")
    assert "mindie chatproof.toml: [targets.local]" == shown("check", "@local")["--dialect"]
    assert "waivers.yaml chatproof.toml: [check]" == shown("check")["--waivers"]
    assert () == waivers.read(folder / "waivers.yaml")
    workflow = yaml.safe_load((folder / ".github" / "workflows" / "chatproof.yml").read_text("utf-8"))
    (action,) = [step for step in workflow["jobs"]["conformance"]["steps"] if step.get("uses") == "./.chatproof"]
    inputs = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"]
    assert set(action["with"]) <= set(inputs)


def test_init_keeps_other_files_that_exist(folder: Path) -> None:
    (folder / "chatproof.toml").unlink()
    (folder / "waivers.yaml").write_text("[] # ours", encoding="utf-8")
    result = run("init")
    assert (0, True) == (result.exit_code, "waivers.yaml exists: it is left as it is" in result.output)
    assert "[] # ours" == (folder / "waivers.yaml").read_text("utf-8")


def test_the_schema_accepts_what_the_commands_accept() -> None:
    schema = json.loads(run("config", "schema").output)
    validator = jsonschema_rs.validator_for(schema)
    for text in (FILE, EXAMPLE):
        assert [] == [error.message for error in validator.iter_errors(tomllib.loads(text))]
    for text in ("[check]\nmax-tim = '5m'", "[chek]", "[check]\nstrict = 'yes'", "[targets.a]\ndialect = 'x'"):
        assert not validator.is_valid(tomllib.loads(text))
