"""The door: what it says where it opens no room, and how it ends when it is interrupted."""

from __future__ import annotations

import importlib
import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import chatproof
from chatproof import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chek"], "No such command 'chek'. Did you mean 'check'?"),
        (
            ["load", "serch"],
            "'load' has no command 'serch'. Did you mean 'search'? A server of that name is http://serch",
        ),
        (["spec", "trase"], "No such command 'trase'. Did you mean 'trace'?"),
        (["nothing"], "No such command 'nothing'\n"),
    ],
)
def test_a_misspelt_command_is_answered_with_the_one_that_was_meant(words: list[str], said: str) -> None:
    made = CliRunner().invoke(main, words)
    assert 2 == made.exit_code
    assert said in made.output


@pytest.mark.parametrize(
    ("words", "command"), [(["load", "--users", "0"], "load"), (["check", "--rate", "0"], "check")]
)
def test_the_hint_names_the_command_that_was_typed(words: list[str], command: str) -> None:
    made = CliRunner().invoke(main, words, prog_name="chatproof")
    assert f"Try 'chatproof {command} --help' for help." in made.output


def test_a_floor_has_its_own_help_and_its_commands() -> None:
    assert "search" in CliRunner().invoke(main, ["load", "--help"]).output
    assert "--users" in CliRunner().invoke(main, ["load", "run", "--help"]).output


def test_an_interrupt_that_a_command_has_no_words_for_ends_with_130_and_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(chatproof, "_open", interrupted)
    made = CliRunner().invoke(main, ["checks", "list"])
    assert (130, "chatproof: interrupted\n") == (made.exit_code, made.output)


@pytest.mark.parametrize("interrupts", ["default_int_handler", "SIG_IGN"], ids=["in-front", "in-the-background"])
def test_a_pipeline_that_is_called_off_is_an_interrupt(interrupts: str) -> None:
    script = (
        "import os, signal, time, chatproof\n"
        f"signal.signal(signal.SIGINT, signal.{interrupts})\n"
        "def open_room(*_):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(60)\n"
        "chatproof._open = open_room\n"
        "chatproof.main(['checks', 'list'])"
    )
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (130, "chatproof: interrupted\n") == (made.returncode, made.stderr)


def test_what_the_terminals_encoding_lacks_is_told_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_missing_extra_is_told_with_the_whole_name_of_the_command(
    monkeypatch: pytest.MonkeyPatch, words: list[str], name: str
) -> None:
    def missing(_: str) -> None:
        raise ModuleNotFoundError(name="a_thing")

    monkeypatch.setattr(importlib, "import_module", missing)
    made = CliRunner().invoke(main, words)
    assert (2, True) == (made.exit_code, f"`chatproof {name}` needs a_thing: pip install" in made.output)


def test_a_module_that_is_missing_when_a_command_runs_is_told_in_the_same_words() -> None:
    script = "import sys; sys.modules['orjson'] = None; from chatproof import main; main(['faults', 'list'])"
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    said = "Error: `chatproof faults list` needs orjson: pip install 'chatproof[server]'"
    assert (2, said) == (made.returncode, made.stderr.splitlines()[-1])


def test_a_load_test_without_a_url_and_without_the_server_says_what_is_missing() -> None:
    lines = (
        "import conformance.run.embedded_server as e",
        "e.NEEDED = ('a_thing',)",
        "from chatproof import main",
        "main(['load'])",
    )
    script = "; ".join(lines)
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (2, True) == (
        made.returncode,
        made.stderr.splitlines()[-1].startswith("Error: the embedded server needs a_"),
    )
    assert "Traceback" not in made.stderr


SHELL = "set -o pipefail; chatproof() { " + shlex.quote(sys.executable) + """ -m chatproof "$@"; }; """


def shell(line: str, **variables: str) -> tuple[int, str]:
    """(exit code, what was said on standard error) of a line of bash."""
    environment = {**os.environ, **variables}
    made = subprocess.run(
        ["bash", "-c", SHELL + line], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    )
    return made.returncode, made.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("words", "code"), [("--help", 0), ("check --help", 0), ("spec matrix", 0), ("spec diff mindie ovms", 0), ("x", 2)]
)
def test_a_reader_that_leaves_changes_nothing_but_what_is_said(words: str, code: int, unbuffered: str) -> None:
    assert (code, "") == shell(f"chatproof {words} 2>&1 | true", PYTHONUNBUFFERED=unbuffered)


@pytest.mark.parametrize(
    ("closed", "code"),
    [("spec matrix >&-", 0), ("spec matrix <&- >&- 2>&-", 0), ("x 2>&-", 2), ("check --list --dialect ovms >&-", 0)],
)
def test_a_stream_that_is_closed_changes_nothing_but_what_is_said(closed: str, code: int) -> None:
    assert (code, "") == shell(f"chatproof {closed}")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", ["--help", "spec matrix", "spec diff mindie ovms"])
def test_what_cannot_be_written_is_one_error(words: str) -> None:
    code, said = shell(f"chatproof {words} >/dev/full")
    assert (2, "Error: cannot write what is to be printed: No space left on device") == (code, said.splitlines()[-1])
    assert "Traceback" not in said
