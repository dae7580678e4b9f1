"""Run commands two at a time, in the order given, and print the output of each when it ends.

Usage: python lint/side_by_side.py "COMMAND WITH ARGUMENTS" ...

Each command uses little more than one processor, because it waits for a server that it judges. Exit code: 0 if every
command succeeds, 1 if one fails.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
import time
from typing import Final

AT_ONCE: Final = 2


async def run(command: str, free: asyncio.Semaphore) -> bool:
    """Run one command, and return whether it succeeds. It is terminated if this task is cancelled."""
    async with free:
        started_s = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *shlex.split(command), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        try:
            output, _ = await process.communicate()
        except asyncio.CancelledError:
            process.terminate()
            await process.wait()
            raise
    seconds = time.monotonic() - started_s
    sys.stdout.write(
        f"$ {command}\n{output.decode(errors='replace')}[exit code {process.returncode}, {seconds:.0f} s]\n"
    )
    sys.stdout.flush()
    return process.returncode == 0


async def run_all(commands: list[str]) -> bool:
    """Run all commands, and return whether all succeed."""
    free = asyncio.Semaphore(AT_ONCE)
    return all(await asyncio.gather(*(run(command, free) for command in commands)))


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    try:
        sys.exit(0 if asyncio.run(run_all(sys.argv[1:])) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
