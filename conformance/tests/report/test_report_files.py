"""Report files are replaced as a whole, carry the caveats of the verdict, and are written for a dead address too."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from conformance.errors import UsageError
from conformance.report import results_file
from conformance.report.results_file import read_results
from conformance.report.writers import junit, sarif
from conformance.run.session.conclusion import describe_unreachable
from conformance.run.session.options import RunOptions
from openapi.whole_file import write_whole, write_whole_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import BinaryIO

    from conformance.tests.conftest import CommandResult

OPTIONS = RunOptions(url="http://h", dialect="openai", verify=False)


def test_a_file_that_cannot_be_written_to_its_end_is_left_as_it_was(tmp_path: Path) -> None:
    def fail(file: BinaryIO) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    path = tmp_path / "r.json"
    write_whole_text(path, "old")
    with pytest.raises(OSError, match="No space"):
        write_whole(path, fail)
    assert [path] == [*tmp_path.iterdir()]
    assert path.read_text(encoding="utf-8") == "old"


def test_a_link_keeps_pointing_to_the_file_that_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old", encoding="utf-8")
    (tmp_path / "target").chmod(0o640)
    (tmp_path / "link").symlink_to("target")
    write_whole_text(tmp_path / "link", "new")
    assert (tmp_path / "target").read_text(encoding="utf-8") == "new"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o640


def test_every_report_of_a_dead_address_says_so(chatproof: Callable[..., CommandResult]) -> None:
    reports = ("json=results.json", "junit=j.xml", "sarif=s.json", "html=h.html", "markdown=m.md", "badge=b.svg")
    arguments = [argument for report in reports for argument in ("--report", report)]
    result = chatproof("check", "http://127.0.0.1:9", "--dialect", "openai", *arguments)
    assert (result.code, len(result.stderr.splitlines())) == (3, 1)
    for name in ("results.json", "j.xml", "s.json", "h.html", "m.md"):
        assert "nothing listens there" in (result.folder / name).read_text(encoding="utf-8")
    assert read_results(result.folder / "results.json")["verdict"] == "inconclusive"
    suite = ElementTree.fromstring((result.folder / "j.xml").read_text(encoding="utf-8"))
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")


def test_junit_and_sarif_say_that_the_certificate_was_not_verified() -> None:
    results = describe_unreachable(OPTIONS, "gone")
    assert "--insecure" in junit.write(results)
    (run,) = json.loads(sarif.write(results))["runs"]
    texts = [item["message"]["text"] for item in run["invocations"][0]["toolExecutionNotifications"]]
    assert ["--insecure" in text for text in texts] == [True, False]


def test_a_sarif_message_has_no_link() -> None:
    results = describe_unreachable(OPTIONS, "see [here](https://evil.example) and http://evil.example")
    text = json.loads(sarif.write(results))["runs"][0]["invocations"][0]["toolExecutionNotifications"][1]["message"]
    assert "://" not in text["text"]
    assert r"\[here\](" in text["text"]


@pytest.mark.parametrize("content", [b"[" + b"[]," * 700_000 + b"[]]", b'{"x": "' + b" " * 2_000_000 + b'"}'])
def test_a_file_that_would_fill_the_memory_is_refused(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results_file, "MAX_BYTES", 3_000_000)
    for name, data in (("r.json", content), ("r.json.gz", gzip.compress(content)), ("l.json", content * 2)):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UsageError) as caught:
            read_results(tmp_path / name)
        assert len(str(caught.value)) < 500


HALF_GZIP = gzip.compress(b"{}" * 999, mtime=0)[:-9]


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("half.json", b'{"schema_version": 4, "tool": {"na', "the file may be incomplete: copy or write it again"),
        ("half.json.gz", HALF_GZIP, "the compressed file is incomplete: copy or write it again"),
        ("future.json", b'{"schema_version": 5}', "this chatproof reads up to 4: update chatproof"),
    ],
    ids=["half", "half and compressed", "from the future"],
)
def test_a_results_file_that_cannot_be_read_names_the_fix(tmp_path: Path, name: str, content: bytes, hint: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=hint):
        read_results(tmp_path / name)
