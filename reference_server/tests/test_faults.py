"""Faults: their names, the bugs they reproduce, and their listing."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from chatproof import main
from openapi.contract.contract import load
from reference_server.faults.fault_list import all_faults, known_faults, load_bugs
from reference_server.faults.generated.bound_faults import BUGS
from reference_server.faults.registry import UnknownFaultError, gather_faults, select_faults


def test_every_bug_has_a_fault_or_a_reason_for_having_none() -> None:
    reproduced = {number for fault in gather_faults().values() for number in fault.bugs}
    left = {number for number, row in load_bugs().items() if "left" in row}
    assert set() == reproduced & left
    assert set(load_bugs()) == reproduced | left | set(BUGS.values())


def test_names_are_plain_and_lines_are_sentences() -> None:
    for fault in all_faults().values():
        assert re.fullmatch(r"[a-z0-9-]+(:[a-zA-Z0-9_.-]+)?", fault.name), fault.name
        assert fault.line.endswith("."), fault.name


def test_every_bound_of_a_parameter_yields_two_faults() -> None:
    assert {"accepts:top_p.maximum", "refuses:top_p.maximum"} <= set(known_faults("mindie-2.3"))


def test_an_unknown_name_is_refused_with_similar_names() -> None:
    known = known_faults(load("mindie").name)
    with pytest.raises(UnknownFaultError, match=r"similar names: .*omits-done"):
        select_faults(["done"], known)


def test_listing_the_faults_serves_nothing() -> None:
    for arguments in (["faults", "list", "--dialect", "mindie"], ["serve", "--dialect", "mindie", "--fault", "list"]):
        result = CliRunner().invoke(main, arguments, env={"COLUMNS": "200"})
        assert result.exit_code == 0, result.output
        assert "omits-done" in result.output


def test_a_server_with_an_unknown_fault_does_not_start() -> None:
    result = CliRunner().invoke(main, ["serve", "--dialect", "mindie", "--port", "0", "--fault", "nonsense"])
    assert 2 == result.exit_code
    assert "unknown fault 'nonsense' for this dialect" in result.output
