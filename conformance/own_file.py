"""Import the Python files that a dialect outside this package brings with it: its checks and their counterexamples.

Importing a file runs its code. Only the files that a contract names are imported, and a contract names them only if its
own file was chosen by the user: by its path, or as an installed entry point.
"""

from __future__ import annotations

import sys
import traceback
from functools import cache
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import UsageError

if TYPE_CHECKING:
    from types import ModuleType


@cache
def import_file(path: str) -> ModuleType:
    """Import a Python file under a name of its own. Raises UsageError, with the file and the line, if that fails."""
    name = f"chatproof_own_{sha256(path.encode()).hexdigest()[:16]}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: cannot be imported: expected a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise UsageError(f"{locate(error, path)}: cannot be imported: {describe(error)}") from error
    return module


def locate(error: BaseException, path: str) -> str:
    """Return the file and the line of an error, if it was raised in the file."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f"{path}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == Path(path)]
    return f"{path}:{lines[-1]}" if lines else path


def describe(error: BaseException) -> str:
    """Return an error on one line."""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {' '.join(message.split())}"
