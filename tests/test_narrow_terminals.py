"""Commands with wide tables are legible in terminals of 60, 80 and 120 columns."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from chatproof import main

MATRIX, TRACE = ("spec", "matrix", "--dialect", "openai", "--dialect", "vllm"), ("spec", "trace", "--dialect", "mindie")
DIFF, FAULTS = ("spec", "diff", "mindie", "openai"), ("faults", "list")
PICTURES: dict[tuple[tuple[str, ...], int], str] = {
    (MATRIX, 60): """
Requests
model
  string             openai
  required, no null
  string             vllm
  required, null?
""",
    (MATRIX, 80): """
Requests
┏━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━┓
┃                         ┃ openai                   ┃ vllm                    ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━┩
│ model                   │ string                   │ string                  │
""",
    (TRACE, 60): """
mindie-2.3: the sentences of mindie-llm-2.3
transformers-version
  keyword    MUST
  statement  transformers is installed in version 4.34.1 or
             later, because older tokenizers do not support
             chat templates
""",
    (TRACE, 80): """
mindie-2.3: the sentences of mindie-llm-2.3
transformers-version
  keyword    MUST
  statement  transformers is installed in version 4.34.1 or later, because older
             tokenizers do not support chat templates
  tested by  excluded: the operator's settings, which a client cannot see
""",
    (TRACE, 120): """
mindie-2.3: the sentences of mindie-llm-2.3
sentence                  keyword  statement                tested by                scenarios  source
transformers-version      MUST     transformers is          excluded: the                    -  #endpoint/preconditions/
                                   installed in version     operator's settings,                transformers
""",
    (DIFF, 60): """
mindie-2.3 -> openai: 76 breaking, 107 widening, 54 neutral
Breaking: 76
endpoint chat auth
  before  open
  after   a key
""",
    (DIFF, 120): """
mindie-2.3 -> openai: 76 breaking, 107 widening, 54 neutral
Breaking: 76
┏━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
┃ part       ┃ place                       ┃ what          ┃ before                      ┃ after                       ┃
""",
    (FAULTS, 60): """
duplicate-keys
  what the server does  A plain answer contains `created`
                        twice.
ids-empty
  what the server does  `id` is an empty string.
""",
    (FAULTS, 80): """
duplicate-keys
  what the server does  A plain answer contains `created` twice.
""",
}


def lines_of(command: tuple[str, ...], width: int) -> list[str]:
    result = CliRunner(env={"COLUMNS": str(width)}).invoke(main, command)
    assert 0 == result.exit_code, result.output
    return [line.rstrip() for line in result.stdout.splitlines()]


@pytest.mark.takes_turns
@pytest.mark.parametrize(("command", "width"), PICTURES)
def test_the_output_of_a_command_has_the_form_that_fits_the_terminal(command: tuple[str, ...], width: int) -> None:
    expected = PICTURES[command, width].strip("\n").splitlines()
    assert expected == lines_of(command, width)[: len(expected)]


@pytest.mark.takes_turns
@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("command", [("spec", "matrix"), DIFF, FAULTS])
def test_no_line_is_wider_than_the_terminal_and_no_report_is_cut(command: tuple[str, ...], width: int) -> None:
    lines = lines_of(command, width)
    assert [] == [line for line in lines if len(line) > width or "…" in line]
