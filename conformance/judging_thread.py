"""Judge the runs of several servers in a thread, one after another, while other runs go on."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_THREAD: Final = ThreadPoolExecutor(1, "judging")
"""One thread: several would not judge faster, and would drop the views of each other's exchanges from the cache."""


async def judge_in_thread(
    judge: Callable[Parameters, Result], *arguments: Parameters.args, **options: Parameters.kwargs
) -> Result:
    """Call a function that judges, drafts or explains a run, after the calls before it, and return its result.

    The event loop goes on meanwhile: other runs measure arrival times in it.
    """
    return await asyncio.get_running_loop().run_in_executor(_THREAD, partial(judge, *arguments, **options))
