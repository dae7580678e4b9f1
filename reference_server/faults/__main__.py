"""`python -m reference_server.faults`: the same command as `chatproof faults serve`."""

from __future__ import annotations

import sys

try:
    from reference_server.faults.fault_host import command

    command(prog_name="python -m reference_server.faults")
except KeyboardInterrupt:  # Ctrl-C while modules are imported
    sys.stderr.write("interrupted\n")
    raise SystemExit(130) from None
