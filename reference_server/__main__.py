"""`python -m reference_server`: the same command as `chatproof serve`."""

from __future__ import annotations

from reference_server.serving import command

command(prog_name="python -m reference_server")
