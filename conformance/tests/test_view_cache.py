"""Views of exchanges are cached within a limit, also while several threads judge."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from conformance import view_cache
from conformance.view_cache import view

if TYPE_CHECKING:
    import pytest


class Viewed:
    """An object with one view."""

    @view
    def seen(self) -> str:
        """A value that is computed."""
        return f"the view of {id(self)}"

    def estimate_view_cost(self) -> int:
        """Return so much that a few objects exceed the limit."""
        return view_cache.MAX_COST // 20


def look_at_many(_worker: int) -> None:
    for _ in range(300):
        exchanges = [Viewed() for _ in range(60)]
        for exchange in (*exchanges, *exchanges):
            assert f"the view of {id(exchange)}" == exchange.seen


def test_threads_that_drop_each_others_views_do_not_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_cache, "MAX_COST", 2000)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(look_at_many, range(4)))
    finally:
        sys.setswitchinterval(interval)
