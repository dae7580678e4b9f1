"""The C library's allocator, told to keep what was freed."""

from __future__ import annotations

import ctypes
import sys
from typing import Final

M_TRIM_THRESHOLD: Final = -1  # malloc.h
M_MMAP_THRESHOLD: Final = -3
KEPT_BYTES: Final = 1 << 30
LARGEST_BYTES: Final = 1 << 25  # the most that glibc takes


def keep_freed_memory() -> bool:
    """Let the process keep freed memory for its next tensors, up to 1 GiB; whether its C library can.

    Every step frees and allocates temporaries of megabytes. glibc gives those back to the system at once, and the
    next step pays for every page again: at 32 rows of a small vocabulary that was three quarters of the sampling.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    return mallopt is not None and bool(
        mallopt(M_MMAP_THRESHOLD, LARGEST_BYTES) and mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
    )
