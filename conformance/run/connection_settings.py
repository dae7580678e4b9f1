"""Settings: the key and TLS, as both faces of the suite read them from their options."""

from __future__ import annotations

import os
import ssl
from typing import TYPE_CHECKING

from conformance.client.secret import Secret
from conformance.errors import HarnessError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def read_secret(variable: str | None) -> Secret | None:
    """The key that an environment variable holds; None without a variable. Raises UsageError."""
    if not variable:
        return None
    value = os.environ.get(variable, "")
    if not value:
        raise UsageError(f"--api-key-env {variable}: the environment has no such variable, or it is empty")
    try:
        return Secret(value)
    except HarnessError as error:
        raise UsageError(f"--api-key-env {variable}: {error}") from error


def read_verify(insecure: bool, ca_file: Path | None) -> bool | ssl.SSLContext:
    """How the server's certificate is verified. Raises UsageError for a file that holds no authorities."""
    if insecure:
        return False
    if ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(ca_file))
    except ssl.SSLError as error:
        raise UsageError(f"--ca-file {ca_file}: it holds no certificates in PEM: {error.reason}") from error
    except OSError as error:
        raise UsageError(f"--ca-file {ca_file}: {error.strerror}") from error
