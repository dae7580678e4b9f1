"""Local paths: only regular files below the root, whatever the path or the file system tries."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from reference_server.media.limits import MediaError
from reference_server.media.local_file import UNREADABLE, read_local_file

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 100


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a file, next to a secret and with several ways that seem to lead to it."""
    root = tmp_path / "root"
    (root / "inner").mkdir(parents=True)
    (root / "inner" / "a.png").write_bytes(b"pixels")
    (tmp_path / "secret.txt").write_bytes(b"secret")
    (root / "link.png").symlink_to(tmp_path / "secret.txt")
    (root / "up").symlink_to(tmp_path)
    (root / "inside.png").symlink_to(root / "inner" / "a.png")
    (root / "loop").symlink_to(root / "loop")
    os.mkfifo(root / "pipe.png")
    (root / "empty.png").write_bytes(b"")
    (root / "large.png").write_bytes(b"x" * (LIMIT + 1))
    (root / "full.png").write_bytes(b"x" * LIMIT)
    return root


@pytest.mark.parametrize(
    "form", ["/inner/a.png", "{root}/inner/a.png", "file:///inner/a.png", "file://localhost/inner/a.png"]
)
def test_a_file_below_the_root_is_read_by_its_path_from_the_root_or_its_whole_path(root: Path, form: str) -> None:
    assert read_local_file(form.format(root=root), root, LIMIT) == b"pixels"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/../secret.txt", "`..`"),
        ("/inner/../../secret.txt", "`..`"),
        ("/inner/../inner/a.png", "`..`"),
        ("file:///%2e%2e/secret.txt", "`..`"),
        ("/%2e%2e/secret.txt", UNREADABLE),
        ("//etc/passwd", UNREADABLE),
        ("/etc/passwd", UNREADABLE),
        ("/proc/self/environ", UNREADABLE),
        ("/link.png", UNREADABLE),
        ("/up/secret.txt", UNREADABLE),
        ("/inside.png", UNREADABLE),
        ("/loop", UNREADABLE),
        ("/missing.png", UNREADABLE),
        ("/inner/a.png\0.png", UNREADABLE),
        ("/" + "a" * 5000, UNREADABLE),
        ("/inner", "other than a regular file"),
        ("/", "other than a regular file"),
        ("/pipe.png", "other than a regular file"),
        ("file://example.org/inner/a.png", "invalid file URL"),
        ("file:///inner/a.png?x=1", "invalid file URL"),
        ("/empty.png", "empty"),
        ("/large.png", f"larger than {LIMIT} bytes"),
    ],
)
def test_everything_else_is_refused_with_a_reason_that_reveals_no_content(root: Path, path: str, reason: str) -> None:
    with pytest.raises(MediaError) as refused:
        read_local_file(path, root, LIMIT)
    assert reason in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_path_outside_the_root_that_begins_like_it_is_looked_up_below_it(root: Path) -> None:
    (root.parent / "root-other").mkdir()
    (root.parent / "root-other" / "a.png").write_bytes(b"other")
    with pytest.raises(MediaError, match=UNREADABLE):
        read_local_file(f"{root}-other/a.png", root, LIMIT)


def test_a_file_of_exactly_the_limit_is_read(root: Path) -> None:
    assert len(read_local_file("/full.png", root, LIMIT)) == LIMIT


def test_without_a_root_no_path_is_read(root: Path) -> None:
    with pytest.raises(MediaError, match="--media-root"):
        read_local_file(f"{root}/inner/a.png", None, LIMIT)


def test_a_root_that_is_itself_a_link_can_be_used(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    assert read_local_file("/inner/a.png", tmp_path / "alias", LIMIT) == b"pixels"
