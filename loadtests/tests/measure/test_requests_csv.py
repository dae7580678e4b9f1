"""Test requests.csv on a disk that is full."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from loadtests.measure.requests_csv import COLUMNS, RequestsCsv

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_full_disk_leaves_whole_rows_and_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "requests.csv"
    path.write_text("an older file\n" * 1000)
    table = RequestsCsv(path)
    table.write([["one"] * len(COLUMNS)])
    whole = path.read_bytes()
    monkeypatch.setattr("pathlib.Path.open", lambda self, mode, buffering: FullDisk(str(self), mode))
    table.write([["two"] * len(COLUMNS)])
    monkeypatch.undo()
    table.write([["three"] * len(COLUMNS)])
    assert whole == path.read_bytes()
    assert b",".join(name.encode() for name in COLUMNS) == whole.splitlines()[0]
    assert table.error is not None
    assert "No space left on device; the rows of later requests are missing" in table.error


class FullDisk(io.FileIO):
    """A file on a disk that takes five more bytes."""

    left = 5

    def write(self, data: Any) -> int:
        if not self.left:
            raise OSError(28, "No space left on device")
        written = super().write(bytes(data)[: self.left])
        self.left -= written
        return written
