"""Settings that the options of the command line and of the pytest plugin share."""

from __future__ import annotations

import pytest

from conformance.errors import UsageError
from conformance.run.connection_settings import read_media_path


@pytest.mark.parametrize("folder", [None, "/", "/data/media/", "file:///data/media", "C:\\media", "C:/media"])
def test_an_absolute_folder_of_media_is_kept_as_it_is_written(folder: str | None) -> None:
    assert folder == read_media_path(folder)


@pytest.mark.parametrize(
    "folder", ["", ".", "media", "./media", "~/media", "file://media", "C:media", "http://h/media"]
)
def test_a_folder_of_media_that_is_not_absolute_is_refused(folder: str) -> None:
    with pytest.raises(UsageError, match="expected the absolute path of a folder on the server"):
        read_media_path(folder)
