"""A thread for the work before the first request, so that its OpenMP threads end with it."""

from __future__ import annotations

import ctypes
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final, TypeVar

from reference_server.engine.device import torch

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")
PATIENCE_S: Final = 0.1


def run_on_passing_thread(work: Callable[[], Result]) -> Result:
    """Return what a function returns, or raise what it raises; it runs on a thread of its own.

    Each thread that computes has its own team of OpenMP threads until it ends. If all teams of a process have more
    threads than the machine has processors, waiting threads sleep after about a microsecond, and every operator of a
    step wakes them again: on two cores, a step of a model with 0.6 billion parameters took a third longer.

    The number of threads that the function sets counts for the calling thread as well. Ctrl-C interrupts the function.
    """
    outcome: Future[Result] = Future()
    finished = threading.Event()
    threads = torch.get_num_threads()

    def run() -> None:
        nonlocal threads
        try:
            outcome.set_result(work())
        except BaseException as error:  # the calling thread raises it
            outcome.set_exception(error)
        finally:
            threads = torch.get_num_threads()
            finished.set()

    thread = threading.Thread(target=run, name="loading")
    try:
        thread.start()
        while not finished.wait(PATIENCE_S):
            pass  # a signal that arrives just before a wait does not end it
    except KeyboardInterrupt as interrupt:
        if thread.ident is not None:
            raised = ctypes.py_object(type(interrupt))
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), raised)
            finished.wait()
        raise
    thread.join()
    torch.set_num_threads(threads)
    return outcome.result()
