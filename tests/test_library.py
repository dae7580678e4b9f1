"""The functions `chatproof.check` and `chatproof.judge`, as the documentation uses them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import chatproof
from conformance.run import embedded_server
from openapi.contract.contract import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "docs" / "examples" / "acme" / "acme.yaml"
PAGE = ROOT / "docs" / "dialect-files.md"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The URL of the reference server for the example."""
    with embedded_server.serve(load(str(EXAMPLE))) as server:
        yield server.url


def test_the_example_of_the_documentation_runs(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (code,) = [block for block in blocks if "judge" in block]
    monkeypatch.chdir(tmp_path)
    code = code.replace("https://host:port", url).replace("./acme.yaml", str(EXAMPLE))
    names: dict[str, object] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    assert [] == names["failed"]
    first, again = names["report"], names["again"]
    assert isinstance(first, chatproof.Report)
    assert isinstance(again, chatproof.Report)
    assert (first.counts, first.verdict) == (again.counts, again.verdict)


def test_invalid_arguments_raise_usage_errors_of_one_line(url: str, tmp_path: Path) -> None:
    messages: dict[str, str] = {}
    calls: dict[str, Callable[[], object]] = {
        "dialect": lambda: chatproof.check(url, dialect="acne"),
        "only": lambda: chatproof.check(url, dialect=EXAMPLE, only=["acme.modle"]),
        "capability": lambda: chatproof.check(url, dialect=EXAMPLE, capabilities={"flying": True}),
        "results": lambda: chatproof.judge(tmp_path / "missing.json"),
    }
    for name, call in calls.items():
        with pytest.raises(chatproof.UsageError) as raised:
            call()
        messages[name] = str(raised.value)
    assert not [message for message in messages.values() if "\n" in message]
    assert messages["dialect"].startswith("dialect: unknown dialect 'acne'")


def test_the_code_blocks_of_the_page_are_those_of_the_example() -> None:
    text = PAGE.read_text(encoding="utf-8")
    files = [(EXAMPLE.parent / name).read_text(encoding="utf-8") for name in ("acme.yaml", "checks.py")]
    blocks = re.findall(r"^```(?:yaml|python)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    shown = [block for block in blocks if "@check" in block or "retrieved" in block]
    lines = {line.strip() for file in files for line in file.splitlines()}
    assert len(shown) == 2
    assert [] == [line for block in shown for line in block.splitlines() if line.strip() not in lines]
