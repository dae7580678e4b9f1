"""Run `python -m reference_server`, the same command as `chatproof serve`."""

from __future__ import annotations

import sys

try:
    from reference_server.serve_command import command

    command(prog_name="python -m reference_server")
except KeyboardInterrupt:  # Ctrl-C while modules are imported
    sys.stderr.write("interrupted\n")
    raise SystemExit(130) from None
