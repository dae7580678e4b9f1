"""`python -m reference_server.faults`: the same command as `chatproof faults serve`."""

from __future__ import annotations

from reference_server.faults.fault_host import command

command(prog_name="python -m reference_server.faults")
