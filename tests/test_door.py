"""The door: what it says where it opens no room, and how it ends when it is interrupted."""

from __future__ import annotations

import io
import subprocess
import sys

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


def test_what_the_terminals_encoding_lacks_is_told_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(kept, encoding="ascii"))
    main(["spec", "diff", "mindie", "mindie-vllm"], standalone_mode=False)
    sys.stdout.flush()
    assert b"\\u2264" in kept.getvalue()


def test_a_reader_that_leaves_changes_nothing_but_what_is_said() -> None:
    command = [sys.executable, "-c", "from chatproof import main; main()", "spec", "matrix"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert (b"", 0) == (process.stderr.read(), process.wait(60))
