"""Dialects outside this package on the command line: their checks, scenarios and counterexamples, and invalid files."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from conformance.report.writers.evidence import ReproductionCommands
from conformance.run.embedded_server import EmbeddedServer, list_restart_commands
from openapi.contract.contract import load
from openapi.contract.resolution import vendor_files
from reference_server.serve_command import command

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import CommandResult

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "acme" / "acme.yaml"
HEAD = {"id": "own", "title": "Own", "document": "none", "extends": "mindie-2.3"}
DEMANDED = {"requirements/own.greets": {"keyword": "MUST", "source": "#response"}}
UNREACHABLE = "http://127.0.0.1:9"
CHECKS = '''
from conformance.check import Finding, check
from conformance.judge.applicability import PLAIN_ANSWER

@check("{name}", on=PLAIN_ANSWER)
def greets(exchange, context):
    """The answer greets."""
    {body}
'''
COMMAND = re.compile(r"chatproof ((?:explain|judge|replay) [^`\n<]+)")
PASSES = "return iter(())"


def write(folder: Path, body: str = "", name: str = "own.greets", **content: Any) -> str:
    """Write a dialect file, and a checks.py next to it if `body` is the body of its check. Return the path."""
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump({**HEAD, **content}, sort_keys=False))
    if body:
        (folder / "checks.py").write_text(CHECKS.format(name=name, body=body))
    return str(path)


def test_an_own_check_judges_its_own_scenario(honest: str, chatproof: Callable[..., CommandResult]) -> None:
    scenario = {"id": "own-hello", "summary": "a greeting", "steps": [{"ask": "Hello", "body": {"max_tokens": 4}}]}
    body = "yield Finding('/body', 'a greeting', exchange.id)"
    path = write(Path(), body, add=DEMANDED, scenarios=[scenario])
    result = chatproof("check", honest, "--dialect", path, "--only", "own-hello")
    (row,) = [row for row in result.results["requirements"] if row["id"] == "own.greets"]
    assert (1, "FAIL", "own#response") == (result.code, row["outcome"], row["source"]), result.stderr
    assert ["own-hello/main"] == [finding["exchange"] for finding in row["findings"]]
    refused = chatproof("judge", "results.json")
    assert (2, True) == (refused.code, "add --dialect with the path of its file" in refused.stderr)
    write(Path(), PASSES, add=DEMANDED, scenarios=[scenario])
    (Path("checks.py")).rename("other.py")
    path = write(Path(), add=DEMANDED, scenarios=[scenario], checks=["other.py"])
    assert 0 == chatproof("judge", "results.json", "--dialect", path).code


def test_the_commands_of_the_reports_work_for_a_dialect_outside_the_package(
    honest: str, chatproof: Callable[..., CommandResult], tmp_path: Path
) -> None:
    long = {"ask": f"Hello {'x' * 3000}", "body": {"max_tokens": 4}}  # too long for a command of curl
    scenario = {"id": "own-hello", "summary": "a greeting", "steps": [long]}
    body = "yield Finding('/body', 'a greeting', exchange.id)"
    (folder := tmp_path / "my dialects").mkdir()
    path = write(folder, body, add=DEMANDED, scenarios=[scenario])
    reports = ("--report", "html=page.html", "--report", "markdown=m.md", "--report", "junit=j.xml")
    checked = chatproof("check", honest, "--dialect", path, "--only", "own-hello", *reports)
    assert 1 == checked.code, checked.stderr
    texts = [checked.stdout, *((tmp_path / name).read_text("utf-8") for name in ("page.html", "m.md", "j.xml"))]
    recorded = ReproductionCommands.of(checked.results)
    texts.append(recorded.judge_command("--report badge=b.svg"))
    printed = {words for text in texts for words in COMMAND.findall(html.unescape(text))}
    assert {"explain", "judge", "replay"} == {words.split()[0] for words in printed}
    for words in printed:
        result = chatproof(*shlex.split(words))
        assert (result.code in (0, 1), "") == (True, result.stderr), words
    assert "--dialect 'my dialects/own.yaml'" in recorded.replay_command("own.greets")


def test_the_commands_name_only_the_dialects_that_are_outside_the_package(
    honest: str, chatproof: Callable[..., CommandResult]
) -> None:
    path = write(Path(), id="second")
    result = chatproof("check", honest, "--dialect", "mindie", "--also", path, "--only", "conversation")
    recorded = ReproductionCommands.of(result.results)
    assert recorded.explain_command("a.b") == "chatproof explain a.b"
    assert recorded.replay_command("a.b") == f"chatproof replay results.json --id a.b --dialect {path}"
    assert chatproof(*shlex.split(recorded.judge_command(""))[1:]).code == 0


def test_a_check_that_raises_is_one_line_that_names_it(honest: str, chatproof: Callable[..., CommandResult]) -> None:
    path = write(Path(), "raise ValueError('a slip')", add=DEMANDED)
    result = chatproof("check", honest, "--dialect", path, "--only", "own.greets")
    line = f"chatproof: the check own.greets: ValueError: a slip ({Path('checks.py').resolve()}:8)"
    assert (2, [line]) == (result.code, result.stderr.strip().splitlines())
    (row,) = [row for row in result.results["requirements"] if row["id"] == "own.greets"]
    assert "ERROR" == row["outcome"]


INVALID: dict[str, tuple[dict[str, Any], str]] = {
    "the id of a built-in check": (
        {"name": "answer.id-given"},
        "checks.py: answer.id-given is the id of a built-in check: choose another one",
    ),
    "a check that cannot be imported": (
        {"body": "return }"},
        "checks.py:8: cannot be imported: SyntaxError: ",
    ),
    "a requirement without a check": (
        {"body": "", "add": {"requirements/answer.id-gven": {"keyword": "MUST", "source": "#response"}}},
        "own.yaml:6:3: requirements/answer.id-gven: unknown check: ",
    ),
    "the id of a built-in scenario": (
        {"body": "", "scenarios": [{"id": "conversation", "summary": "x", "steps": [{"ask": "Hello"}]}]},
        "own.yaml:6:3: scenarios/conversation: duplicate id: a built-in scenario has it",
    ),
    "a scenario of a wrong type": (
        {"body": "", "scenarios": [{"id": "x", "summary": "x", "steps": [{"ask": ["Hello"], "times": "two"}]}]},
        "own.yaml:6:3: scenarios/x: invalid scenario: ",
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_check_or_scenario_is_one_line_with_its_file(
    name: str, chatproof: Callable[..., CommandResult]
) -> None:
    changes, message = INVALID[name]
    result = chatproof("check", UNREACHABLE, "--dialect", write(Path(), **{"body": PASSES, **changes}))
    (line,) = result.stderr.strip().splitlines()
    assert (2, True, False) == (result.code, message in line, "Traceback" in line), line


def test_the_trace_of_a_dialect_without_sentences_says_so_and_fails_if_strict(
    chatproof: Callable[..., CommandResult],
) -> None:
    path = write(Path())
    relaxed, strict = (chatproof("spec", "trace", "--dialect", path, *more) for more in ((), ("--strict",)))
    assert (0, 1) == (relaxed.code, strict.code)
    assert "own: nothing is traced: the dialect states no sentences\n" == relaxed.stderr == strict.stderr


def test_the_example_of_the_documentation_passes_its_check_names_no_command_and_leaves_no_file(
    chatproof: Callable[..., CommandResult],
) -> None:
    result = chatproof("dialect", "check", str(EXAMPLE), "--depth", "quick")
    assert (False, []) == ("chatproof serve" in result.stdout, list(Path().iterdir()))
    assert (0, "acme: ok") == (result.code, result.stdout.strip().splitlines()[-1]), result.stdout + result.stderr
    assert "parameters without a sentence of the document: repetition_penalty" in result.stdout


def test_a_dialect_with_removals_judges_its_own_server_without_a_finding_and_its_check_needs_a_counterexample(
    chatproof: Callable[..., CommandResult],
) -> None:
    removed = [f"parameters/{name}" for name in ("stream", "n", "tools", "tool_choice", "stop", "logprobs")]
    path = write(Path(), PASSES, add=DEMANDED, remove=removed)
    result = chatproof("dialect", "check", path, "--depth", "quick", "--report", "json=results.json")
    assert ["conformant", 0, 0] == [result.results["verdict"], *map(result.results["counts"].get, ("FAIL", "WARN"))]
    assert (1, True) == (result.code, "own.greets has no counterexample: add a function with @mutant" in result.stdout)
    last = result.stdout.strip().splitlines()[-1]
    assert last.startswith("own: not ok: "), last
    assert "own.greets has no counterexample" in last


def test_the_commands_for_a_finding_at_the_embedded_server_say_how_to_start_it_again(
    chatproof: Callable[..., CommandResult],
) -> None:
    wrong = {"schemas/Usage/properties/total_tokens/maximum": 1}
    path = write(Path(), add=wrong, extends="deepseek")
    result = chatproof("dialect", "check", path, "--depth", "quick")
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert "own: not ok: stream.chunks-fit-schema is WARN" == lines[-1]
    (serve,) = [line for line in lines if line.startswith("chatproof serve ")]
    (key,) = [line for line in lines if line.startswith("export API_KEY=")]
    context = command.make_context("serve", shlex.split(serve)[2:])
    assert (str(Path(path).resolve()), "API_KEY") == (context.params["dialect"], context.params["api_key_env"])
    assert f"curl -sSN http://127.0.0.1:{context.params['port']}/chat/completions" in result.stdout
    assert lines.index(key) + 1 == lines.index(serve)
    assert "json written to own.results.json" in lines
    assert "own" == json.loads(Path("own.results.json").read_text("utf-8"))["target"]["dialect"]
    assert 2 == chatproof("judge", "own.results.json").code  # it needs the file of the dialect, and exists


@pytest.mark.parametrize("dialect", [*vendor_files(), "mindie", "ovms"])
def test_the_server_of_a_built_in_dialect_is_started_again_by_its_name(dialect: str) -> None:
    contract = load(dialect)
    *_, serve = list_restart_commands(contract, EmbeddedServer("http://127.0.0.1:4711", "k"))
    context = command.make_context("serve", shlex.split(serve)[2:])
    assert (contract.name, 4711) == (context.params["dialect"], context.params["port"])
    assert contract is load(context.params["dialect"])


def test_a_url_in_place_of_a_dialect_names_the_command_that_imports_it(chatproof: Callable[..., CommandResult]) -> None:
    result = chatproof("dialect", "check", "https://api.example/v1")
    assert (2, 1) == (result.code, result.stderr.count("\n"))
    assert result.stderr.startswith("chatproof: dialect: 'https://api.example/v1' is a URL: expected ")
    assert "`chatproof dialect new https://api.example/v1 --extends openai --out FILE`" in result.stderr
