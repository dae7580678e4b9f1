"""The `chatproof` command, and the functions `check` and `judge`. Other packages are imported when they are used."""

from __future__ import annotations

import sys

try:
    import importlib
    from pathlib import Path
    from typing import TYPE_CHECKING, Any, Final

    import click

    from chatproof.command_table import COMMANDS
    from chatproof.embedded import start_embedded
    from chatproof.lazy_group import LazyGroup
except KeyboardInterrupt:  # Ctrl-C right after the start
    sys.stderr.write("chatproof: interrupted\n")
    raise SystemExit(130) from None

if TYPE_CHECKING:
    from conformance.cli.library import check as check
    from conformance.cli.library import judge as judge
    from conformance.errors import Unreachable as Unreachable
    from conformance.errors import UsageError as UsageError
    from conformance.report.outcome import Outcome as Outcome
    from conformance.report.verdict import Report as Report
    from conformance.report.verdict import Verdict as Verdict

PUBLIC: Final = {
    **dict.fromkeys(("check", "judge"), "conformance.cli.library"),
    "Outcome": "conformance.report.outcome",
    **dict.fromkeys(("Report", "Verdict"), "conformance.report.verdict"),
    **dict.fromkeys(("Unreachable", "UsageError"), "conformance.errors"),
}
"""The names that users of Python import from this package, and the modules that define them."""


@click.group(cls=LazyGroup, entries=COMMANDS)
@click.version_option(package_name="chatproof", prog_name="chatproof")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Test chat-completions servers for conformance with the documents of their vendors."""
    ctx.obj = start_embedded


def import_own_packages() -> None:
    """Import the packages that are installed with this package, whatever other packages of their names are on the path.

    Raises ImportError if a package of another distribution is already imported under one of these names.
    """
    folder = Path(__file__).resolve().parent.parent
    sys.path.insert(0, str(folder))
    try:
        for name in ("openapi", "conformance"):
            found_at = importlib.import_module(name).__file__
            if found_at is None or Path(found_at).resolve().parent.parent != folder:
                raise ImportError(f"chatproof needs its package {name}, but {found_at} is already imported")
    finally:
        sys.path.remove(str(folder))


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"package 'chatproof' has no attribute {name!r}")
    import_own_packages()
    return getattr(importlib.import_module(PUBLIC[name]), name)
