"""Our page as a tab of Locust's web interface; alone it is at `/chatproof`.

Locust's own tabs hold tables, and ours has one, of the latencies so far. A script on its index page makes the tab show
the whole page in place of it; a Locust for which that does not work shows the table.
"""

from __future__ import annotations

import logging
import socket
import sys
import time
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import gevent
from flask import Blueprint, Response, request, url_for
from gevent.lock import BoundedSemaphore

from loadtests.errors import UsageError
from loadtests.measure import locust_rows as rows
from loadtests.measure.latency import DEFINITIONS
from loadtests.report.results import quantile

if TYPE_CHECKING:
    from collections.abc import Callable

    from locust.env import Environment

NAME: Final = "chatproof"
"""Of the tab, of its table and of the address."""
TITLE: Final = "Streams"
COLUMNS: Final = (50, 95, 99)
REFRESH_S: Final = 3
INDEX: Final = "locust.index"
STATISTICS: Final = "locust.request_stats"
REST: Final = 20
"""How many times as long as the drawing of a page it is shown at least."""
SWITCH_S: Final = 0.0005
"""How long the thread that draws may keep the loop that reads streams waiting; Python's own is ten times as much."""


def add(environment: Environment, so_far: Callable[[], dict[str, Any]], progress: Callable[[], str]) -> None:
    """Adds the tab and the page where there is a web interface. `progress`: how far a test is that has not ended.
    Raises UsageError where the interface's port is taken: Locust would say so in a traceback, later."""
    interface: Any = environment.web_ui
    if interface is None or interface.app is None:
        return
    try:
        socket.create_server((interface.host or "", interface.port)).close()
    except OSError as error:
        raise UsageError(f"--web-port {interface.port}: {error.strerror}; name another") from error
    heads = [("name", "ms"), ("count", "count"), *((f"p{column}", f"p{column}") for column in COLUMNS)]
    table = {"key": NAME, "structure": [{"key": key, "title": title} for key, title in heads]}
    interface.template_args |= {"extended_tabs": [{"key": NAME, "title": TITLE}], "extended_tables": [table]}
    script = f"<script>{files('loadtests.run').joinpath('tab.js').read_text(encoding='utf-8')}</script>"
    options: Any = environment.parsed_options
    if not logging.getLogger("locust.main").isEnabledFor(logging.INFO):  # else Locust says it
        where = f"{'https' if interface.tls_cert else 'http'}://{interface.host or '127.0.0.1'}:{interface.port}"
        sys.stderr.write(f"The web interface is at {where}{options.web_base_path or ''}/; Ctrl-C ends it\n")
    sys.setswitchinterval(SWITCH_S)
    from loadtests.report.html import page  # nobody waits for it but who opens the page

    drawn = _Drawn(lambda: page(so_far(), progress()))
    pages = Blueprint(NAME, __name__, url_prefix=options.web_base_path or None)

    @pages.route(f"/{NAME}")
    @interface.auth_required_if_enabled
    def show() -> Response:
        return Response(drawn.text(), headers={"Refresh": str(REFRESH_S), "Cache-Control": "no-store"})

    def extend(response: Response) -> Response:
        if response.status_code != 200 or response.direct_passthrough:
            return response
        if request.endpoint == INDEX:
            head, end, tail = response.get_data(as_text=True).rpartition("</body>")
            if end:
                response.set_data(f"{head}{script}{end}{tail}")
        elif request.endpoint == STATISTICS and isinstance(response.json, dict):
            response.set_data(interface.app.json.dumps({**response.json, "extended_stats": [_table(environment)]}))
        return response

    interface.app.register_blueprint(pages)
    interface.app.after_request(extend)


class _Drawn:
    """A page as it was last drawn: by a thread, as it takes a moment in long tests, and streams must be read."""

    def __init__(self, draw: Callable[[], str]) -> None:
        self._draw = draw
        self._lock = BoundedSemaphore(1)
        self._text = ""
        self._shown_until_s = 0.0

    def text(self) -> str:
        """The page, anew unless it has just been drawn."""
        with self._lock:
            began_s = time.monotonic()
            if began_s >= self._shown_until_s:
                self._text = gevent.get_hub().threadpool.apply(self._draw)
                ended_s = time.monotonic()
                self._shown_until_s = ended_s + REST * (ended_s - began_s)
            return self._text


def _table(environment: Environment) -> dict[str, Any]:
    """The rows of Locust's own table; its last says where the rest is."""
    found: list[dict[str, Any]] = []
    for name in DEFINITIONS:
        entry: Any = environment.stats.entries.get((name, rows.METHOD))
        if entry is not None and entry.num_requests:
            buckets = [(float(value), count) for value, count in entry.response_times.items()]
            percentiles = {f"p{column}": quantile(buckets, column / 100) for column in COLUMNS}
            found.append({"name": name, "count": entry.num_requests, **percentiles})
    return {"key": NAME, "data": [*found, {"name": f"charts and verdicts: {url_for(f'{NAME}.show')}"}]}
