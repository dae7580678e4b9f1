"""Settings of the C library's allocator: it keeps freed memory until it is told to return it."""

from __future__ import annotations

import ctypes
import sys
from typing import Final

M_TRIM_THRESHOLD: Final = -1  # malloc.h
M_MMAP_THRESHOLD: Final = -3
KEPT_BYTES: Final = 1 << 30
LARGEST_BYTES: Final = 1 << 25  # the maximum of glibc


def keep_freed_memory() -> bool:
    """Let the process keep up to 1 GiB of freed memory for its next tensors; return whether the C library can.

    Every step frees and allocates temporary tensors of megabytes. glibc returns that memory to the system at once, and
    the next step has page faults for every page: with 32 rows of a small vocabulary, that was three quarters of the
    sampling time.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # missing in musl
    return mallopt is not None and bool(
        mallopt(M_MMAP_THRESHOLD, LARGEST_BYTES) and mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
    )


def return_freed_memory() -> None:
    """Return all freed memory to the operating system, if the C library can.

    The next steps have page faults for their tensors again, so this is for the end of requests of megabytes: the
    memory of a large conversation would otherwise be kept for tensors that never need it.
    """
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # missing in musl
        if trim is not None:
            trim(0)
