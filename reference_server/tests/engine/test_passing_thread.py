"""Work on a thread of its own: nothing of it remains, and it ends as it would on the calling thread."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reference_server.engine.device import torch
from reference_server.engine.passing_thread import run_on_passing_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGE = 1 << 20


@pytest.fixture(autouse=True)
def _same_threads() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def list_threads() -> set[str]:
    """Return the numbers of the threads of this process, those of OpenMP included."""
    return {entry.name for entry in Path("/proc/self/task").iterdir()}


def compute() -> None:
    """Use two threads."""
    torch.set_num_threads(2)
    torch.ones(LARGE).exp()


def compute_and_list() -> set[str]:
    """Use two threads, and return those of the process meanwhile."""
    compute()
    return list_threads()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="only Linux lists the threads of a process")
def test_the_threads_of_openmp_end_with_the_work() -> None:
    torch.set_num_threads(2)  # the first time, another pool of torch gets its threads
    before = list_threads()
    own = run_on_passing_thread(compute_and_list) - before
    deadline = time.monotonic() + 10
    while own & list_threads() and time.monotonic() < deadline:
        time.sleep(0.01)  # the system ends a thread shortly after it has finished
    assert len(own) >= 2
    assert set() == own & list_threads()


def test_the_number_of_threads_counts_for_the_caller_too() -> None:
    torch.set_num_threads(1)
    run_on_passing_thread(compute)
    assert torch.get_num_threads() == 2


def test_the_result_or_the_error_of_the_work_is_that_of_the_call() -> None:
    assert run_on_passing_thread(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        run_on_passing_thread(lambda: 1 // 0)


def test_an_interrupt_ends_the_work() -> None:
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)  # processes that share tests ignore it
    started = threading.Event()
    slept = 0

    def work() -> None:
        nonlocal slept
        started.set()
        for _ in range(1_000):
            time.sleep(0.01)
            slept += 1

    def interrupt() -> None:
        started.wait()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_on_passing_thread(work)
    finally:
        signal.signal(signal.SIGINT, ignored)
    assert slept < 1_000
