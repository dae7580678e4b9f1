"""The faults: what they are called, what they stand for, and that each is put around a server and nowhere else."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from chatproof import main
from openapi.contract.contract import load
from reference_server.faults.bound_faults import BUGS
from reference_server.faults.fault import UnknownFault, chosen, gather
from reference_server.faults.fault_list import all_faults, bugs, known_faults


def test_every_bug_has_a_fault_or_a_reason_why_not() -> None:
    shown = {number for fault in gather().values() for number in fault.bugs}
    left = {number for number, row in bugs().items() if "left" in row}
    assert set() == shown & left
    assert set(bugs()) == shown | left | set(BUGS.values())


def test_names_and_lines_are_plain() -> None:
    for fault in all_faults().values():
        assert re.fullmatch(r"[a-z0-9-]+(:[a-zA-Z0-9_.-]+)?", fault.name), fault.name
        assert fault.line.endswith("."), fault.name


def test_every_bound_of_a_parameter_makes_two_faults() -> None:
    assert {"accepts:top_p.maximum", "refuses:top_p.maximum"} <= set(known_faults("mindie-2.3"))


def test_a_name_that_is_unknown_is_refused_with_one_that_is_near() -> None:
    known = known_faults(load("mindie").name)
    with pytest.raises(UnknownFault, match=r"near: .*omits-done"):
        chosen(["done"], known)


def test_the_faults_are_listed_and_nothing_is_served() -> None:
    for arguments in (["faults", "list", "--dialect", "mindie"], ["serve", "--dialect", "mindie", "--fault", "list"]):
        said = CliRunner().invoke(main, arguments, env={"COLUMNS": "200"})
        assert said.exit_code == 0, said.output
        assert "omits-done" in said.output


def test_an_unknown_fault_keeps_a_server_from_starting() -> None:
    said = CliRunner().invoke(main, ["serve", "--dialect", "mindie", "--port", "0", "--fault", "nonsense"])
    assert 2 == said.exit_code
    assert "no fault of this dialect is called 'nonsense'" in said.output
