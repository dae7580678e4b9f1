"""The choice of the fastest attention that a device has, by trying each one."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.model.accelerator.device_runner import DeviceRunner

TIMED_ROWS: Final = 8
TIMED_POSITION: Final = 2047
LEAST_GAIN: Final = 0.05
"""Share of the time by which another attention than the model's must be faster: the choice should not follow noise."""
REPEATS: Final = 5
_log = logging.getLogger(__name__)


def choose_attention(runner: DeviceRunner, is_right: Callable[[], bool]) -> None:
    """Let a runner attend in the fastest way whose logits are right; the model's own is kept if no other is.

    is_right: runs the passes with a test, and returns whether their logits are as expected.
    """
    times_s = {name: _time(runner) for name in ("plain", "grouped") if _can_use(runner, name, is_right)}
    is_faster = "grouped" in times_s and times_s["grouped"] < (1 - LEAST_GAIN) * times_s.get("plain", float("inf"))
    fastest = "grouped" if is_faster else "plain"
    runner.use_attention(fastest)
    if _can_use(runner, "lengths", is_right):
        runner.use_attention("lengths")
    else:
        runner.use_attention(fastest)
    listed = ", ".join(f"{name} {seconds * 1e3:.2f} ms" for name, seconds in times_s.items())
    _log.info("attention of steps: %s of %s", fastest, listed)


def _can_use(runner: DeviceRunner, name: str, is_right: Callable[[], bool]) -> bool:
    try:
        runner.use_attention(name, always=True)
        if is_right():
            return True
        reason = "its logits differ"
    except Exception as error:  # a backend without the kernel, or a model that it does not fit
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    _log.info("attention of steps: %s is not possible: %.120s", name, reason)
    return False


def _time(runner: DeviceRunner) -> float:
    """Return the seconds of a step."""
    count = min(TIMED_ROWS, runner.rows)
    times_s = []
    for _ in range(REPEATS):
        began_s = time.perf_counter()
        position = min(TIMED_POSITION, runner.max_model_len - 1)
        runner.decode([0] * count, [position] * count, range(count))[0, 0].item()  # waits for the device
        times_s.append(time.perf_counter() - began_s)
    return min(times_s)
