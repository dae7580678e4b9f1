"""The `chatproof` command: its own errors, interrupts, and output that cannot be written."""

from __future__ import annotations

import importlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import chatproof
from chatproof import lazy_group, main


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["chek"], "No such command 'chek'. Did you mean 'check'?"),
        (
            ["load", "serch"],
            "'load' has no command 'serch'. Did you mean 'search'? To test a server of that name, write http://serch",
        ),
        (["spec", "trase"], "No such command 'trase'. Did you mean 'trace'?"),
        (["nothing"], "chatproof: No such command 'nothing' (see `chatproof --help`)\n"),
    ],
)
def test_a_misspelt_command_is_answered_with_a_suggestion(words: list[str], expected: str) -> None:
    result = CliRunner().invoke(main, words)
    assert 2 == result.exit_code
    assert expected in result.output


@pytest.mark.parametrize(
    ("words", "command"), [(["load", "--users", "0"], "load"), (["check", "--rate", "0"], "check")]
)
def test_an_error_is_one_line_with_the_command_that_was_typed(words: list[str], command: str) -> None:
    result = CliRunner().invoke(main, words)
    (line,) = result.output.splitlines()
    assert line.startswith("chatproof: Invalid value for '--")
    assert line.endswith(f" (see `chatproof {command} --help`)")


def test_the_help_of_a_group_with_a_default_command_lists_its_options_and_the_other_commands() -> None:
    for words in (["load", "--help"], ["load", "-h"]):
        shown = CliRunner().invoke(main, words).output
        assert "--users" in shown
        assert "  search     Find the highest rate that meets the objectives." in shown
    assert "--users" in CliRunner().invoke(main, ["load", "run", "--help"]).output
    assert "drift" in CliRunner().invoke(main, ["spec", "--help"]).output


@pytest.mark.parametrize("command", ["check", "load"])
def test_a_server_of_the_user_needs_a_dialect_in_every_command(command: str) -> None:
    result = CliRunner().invoke(main, [command, "http://127.0.0.1:9"])
    assert (2, "chatproof: missing --dialect: expected ") == (result.exit_code, result.output[:39])
    assert {"mindie-2.3", "sglang", "openai"} <= set(re.findall(r"[\w.-]+", result.output))


def test_a_load_test_without_locust_is_refused_before_anything_is_sent_or_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("loadtests.cli.load_checks.find_spec", lambda _name: None)
    for words in (["load", "http://127.0.0.1:9", "--dialect", "mindie"], ["load", "--tiem", "5s"]):
        result = CliRunner().invoke(main, words)
        expected = "chatproof: `chatproof load` needs locust, which is not installed: install chatproof with its extra"
        assert (2, f"{expected} [load]\n", []) == (result.exit_code, result.output, [*tmp_path.iterdir()])


def test_an_interrupt_that_a_command_does_not_handle_exits_with_130_and_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lazy_group, "load_command", interrupted)
    result = CliRunner().invoke(main, ["checks", "list"])
    assert (130, "chatproof: interrupted\n") == (result.exit_code, result.output)


@pytest.mark.parametrize("module", ["chatproof", "reference_server"])
def test_an_interrupt_during_the_first_imports_prints_one_line(module: str, tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
    paths = os.pathsep.join((str(tmp_path), str(Path(chatproof.__file__).parents[1])))
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-m", module], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr.splitlines()[0].endswith("interrupted")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "interrupts", ["default_int_handler", "SIG_IGN"], ids=["in-the-foreground", "in-the-background"]
)
def test_sigterm_ends_a_command_like_an_interrupt(interrupts: str) -> None:
    script = (
        "import os, signal, time, chatproof.lazy_group\n"
        f"signal.signal(signal.SIGINT, signal.{interrupts})\n"
        "def load_slowly(*_):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(60)\n"
        "chatproof.lazy_group.load_command = load_slowly\n"
        "chatproof.main(['checks', 'list'])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (130, "chatproof: interrupted\n") == (result.returncode, result.stderr)


def test_characters_that_the_encoding_lacks_are_printed_as_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(kept, encoding="ascii"))
    main(["spec", "diff", "mindie", "mindie-vllm"], standalone_mode=False)
    sys.stdout.flush()
    assert b"\\u2264" in kept.getvalue()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["load", "calibrate"], "load calibrate"),
        (["load", "http://127.0.0.1:1"], "load"),
        (["faults", "run"], "faults run"),
        (["serve"], "serve"),
    ],
)
def test_a_missing_extra_is_reported_with_the_full_name_of_the_command(
    monkeypatch: pytest.MonkeyPatch, words: list[str], name: str
) -> None:
    def missing(_: str) -> None:
        raise ModuleNotFoundError(name="a_thing")

    monkeypatch.setattr(importlib, "import_module", missing)
    result = CliRunner().invoke(main, words)
    assert (2, True) == (
        result.exit_code,
        f"`chatproof {name}` needs a_thing, which is not installed: install chatproof with its extra" in result.output,
    )


def test_a_module_that_is_missing_when_a_command_runs_is_reported_in_the_same_words() -> None:
    script = "import sys; sys.modules['orjson'] = None; from chatproof import main; main(['faults', 'list'])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    missing = "`chatproof faults list` needs orjson, which is not installed"
    expected = f"chatproof: {missing}: install chatproof with its extra [server]"
    assert (2, expected) == (result.returncode, result.stderr.splitlines()[-1])


def test_a_load_test_without_a_url_and_without_the_server_extra_names_what_is_missing() -> None:
    lines = (
        "import conformance.run.embedded_server as e",
        "e.NEEDED = ('a_thing',)",
        "from chatproof import main",
        "main(['load'])",
    )
    script = "; ".join(lines)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (2, True) == (
        result.returncode,
        result.stderr.splitlines()[-1].startswith("chatproof: the embedded server needs a_"),
    )
    assert "Traceback" not in result.stderr


SHELL = "set -o pipefail; chatproof() { " + shlex.quote(sys.executable) + """ -m chatproof "$@"; }; """


def shell(line: str, **variables: str) -> tuple[int, str]:
    """Run a line of bash and return its exit code and standard error."""
    environment = {**os.environ, **variables}
    result = subprocess.run(
        ["bash", "-c", SHELL + line], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    )
    return result.returncode, result.stderr


@pytest.mark.takes_turns
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("words", "code"), [("--help", 0), ("check --help", 0), ("spec matrix", 0), ("spec diff mindie ovms", 0), ("x", 2)]
)
def test_a_reader_that_closes_the_pipe_does_not_change_the_exit_code(words: str, code: int, unbuffered: str) -> None:
    assert (code, "") == shell(f"chatproof {words} 2>&1 | true", PYTHONUNBUFFERED=unbuffered)


@pytest.mark.takes_turns
@pytest.mark.parametrize(
    ("closed", "code"),
    [("spec matrix >&-", 0), ("spec matrix <&- >&- 2>&-", 0), ("x 2>&-", 2), ("check --list --dialect ovms >&-", 0)],
)
def test_a_closed_stream_does_not_change_the_exit_code(closed: str, code: int) -> None:
    assert (code, "") == shell(f"chatproof {closed}")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", ["--help", "spec matrix", "spec diff mindie ovms"])
def test_a_full_device_is_one_error_line(words: str) -> None:
    code, errors = shell(f"chatproof {words} >/dev/full")
    assert (2, "chatproof: cannot write the output: No space left on device") == (code, errors.splitlines()[-1])
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        (["check", "--dialet", "x"], "--dialect"),
        (["check", "--depht", "x"], "--depth"),
        (["diff", "--alow-lost"], "--allow-lost"),
    ],
)
def test_a_mistyped_option_suggests_the_closest_one(words: list[str], suggestion: str) -> None:
    result = CliRunner().invoke(main, words)
    expected = f"chatproof: No such option: {words[1]}. Did you mean {suggestion!r}?"
    assert (2, True) == (result.exit_code, result.output.startswith(expected)), result.output


def test_a_dialect_file_on_standard_output_is_named_on_standard_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Chat completions\n\n| parameter | type |\n|---|---|\n| `top_k` | integer |\n", encoding="utf-8")
    result = CliRunner().invoke(main, ["dialect", "new", str(page), "--extends", "openai", "--id", "acme"])
    assert 0 == result.exit_code, result.output
    assert "id: acme" in result.stdout
    assert result.stderr.endswith("; --out FILE writes it to a file\n")
    written = CliRunner().invoke(
        main, ["dialect", "new", str(page), "--extends", "openai", "--id", "acme", "--out", str(tmp_path / "acme.yaml")]
    )
    assert (0, f"{tmp_path / 'acme.yaml'}\n") == (written.exit_code, written.stdout)
    assert written.stderr.endswith(f"; check it with: chatproof dialect check {tmp_path / 'acme.yaml'}\n")


@pytest.mark.parametrize(
    "words",
    [
        ["load", "http://127.0.0.1:9", "--dialect", "mindie", "--report", "openmetric=x"],
        ["check", "http://127.0.0.1:9", "--dialect", "mindie", "--report", "jsn=x"],
        ["matrix", "x.json", "--report", "htm=x"],
    ],
)
def test_an_unknown_kind_of_report_is_one_line_before_anything_is_sent(words: list[str]) -> None:
    result = CliRunner().invoke(main, words)
    assert (2, "", 1) == (result.exit_code, result.stdout, result.stderr.count("\n"))
    assert result.stderr.startswith(f"chatproof: invalid --report {words[-1]!r}: expected KIND=PATH")
