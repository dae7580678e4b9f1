"""Read the API key, the TLS settings and the folder of media from the options of the command line and the plugin."""

from __future__ import annotations

import os
import ssl
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from conformance.client.secret import Secret
from conformance.errors import HarnessError, UsageError
from openapi.api_key import ApiKeyError, read_api_key
from openapi.extra_headers import VARIABLE

if TYPE_CHECKING:
    from pathlib import Path


def read_secret(variable: str | None) -> Secret | None:
    """Return the API key in an environment variable; None if no variable is given. Raises UsageError."""
    try:
        key = read_api_key(variable, os.environ)
    except ApiKeyError as error:
        raise UsageError(str(error)) from error
    try:
        return None if key is None else Secret(key)
    except HarnessError as error:
        raise UsageError(f"--api-key-env {variable}: {error}") from error


def shell_variable(variable: str | None) -> str | None:
    """Return the variable as a shell can name it in a command; None if it cannot, or without a variable."""
    return variable if variable and VARIABLE.fullmatch(variable) else None


def read_verify(insecure: bool, ca_file: Path | None) -> bool | ssl.SSLContext:
    """Return how the server's certificate is verified. Raises UsageError for a file without certificates."""
    if insecure:
        return False
    if ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(ca_file))
    except ssl.SSLError as error:
        raise UsageError(
            f"--ca-file {ca_file}: invalid file: expected certificates in PEM format: {error.reason}"
        ) from error
    except OSError as error:
        raise UsageError(f"--ca-file {ca_file}: {error.strerror}") from error


def read_media_path(folder: str | None) -> str | None:
    """Return the folder of media files on the server. Raises UsageError for a path that is not absolute.

    Only the server can tell whether an absolute path exists, and a relative one would depend on its working folder.
    """
    path = (folder or "").removeprefix("file://")
    if folder is None or PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute():
        return folder
    raise UsageError(
        f"invalid --media-path {folder!r}: expected the absolute path of a folder on the server, such as /data/media"
    )
