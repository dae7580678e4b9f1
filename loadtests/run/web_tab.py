"""Add the HTML report as a tab of Locust's web interface; by itself it is at `/chatproof`.

Locust's own tabs show tables, and ours has one with the latencies so far. A script on its index page makes the tab
show the whole report instead; in a Locust version where that does not work, the tab shows the table. The content that
is served is tested; its look is not, as no browser runs in the tests: check it after a change of Locust's version.
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
from loadtests.measure.latency import DEFINITIONS
from loadtests.measure.locust_rows import METHOD
from loadtests.report.results import quantile

if TYPE_CHECKING:
    from collections.abc import Callable

    from locust.env import Environment

NAME: Final = "chatproof"
"""The name of the tab, of its table and of the path."""
TITLE: Final = "Streams"
COLUMNS: Final = (50, 95, 99)
REFRESH_S: Final = 3
INDEX: Final = "locust.index"
STATISTICS: Final = "locust.request_stats"
CACHE_FACTOR: Final = 20
"""A report is shown for at least this many times as long as it took to render."""
SWITCH_S: Final = 0.0005
"""How long the rendering thread may delay the event loop, which reads streams; Python's default is ten times longer."""


def add_tab(
    environment: Environment, build_results: Callable[[], dict[str, Any]], describe_progress: Callable[[], str]
) -> None:
    """Add the tab and the report if there is a web interface.

    Raise UsageError if the port of the interface is in use: Locust would print a traceback, and later.
    """
    interface: Any = environment.web_ui
    if interface is None or interface.app is None:
        return
    try:
        socket.create_server((interface.host or "", interface.port)).close()
    except OSError as error:
        raise UsageError(f"--web-port {interface.port}: {error.strerror}: choose another port") from error
    heads = [("name", "ms"), ("count", "count"), *((f"p{column}", f"p{column}") for column in COLUMNS)]
    table = {"key": NAME, "structure": [{"key": key, "title": title} for key, title in heads]}
    interface.template_args |= {"extended_tabs": [{"key": NAME, "title": TITLE}], "extended_tables": [table]}
    script = f"<script>{files('loadtests.run').joinpath('tab.js').read_text(encoding='utf-8')}</script>"
    options: Any = environment.parsed_options
    if not logging.getLogger("locust.main").isEnabledFor(logging.INFO):  # otherwise Locust logs it
        where = f"{'https' if interface.tls_cert else 'http'}://{interface.host or '127.0.0.1'}:{interface.port}"
        sys.stderr.write(f"Web interface: {where}{options.web_base_path or ''}/ (Ctrl-C to quit)\n")
    sys.setswitchinterval(SWITCH_S)
    from loadtests.report.html import render_report  # imported late: only the web interface needs it now

    report = _CachedReport(lambda: render_report(build_results(), describe_progress()))
    pages = Blueprint(NAME, __name__, url_prefix=options.web_base_path or None)

    @pages.route(f"/{NAME}")
    @interface.auth_required_if_enabled
    def show() -> Response:
        return Response(report.get_text(), headers={"Refresh": str(REFRESH_S), "Cache-Control": "no-store"})

    def extend(response: Response) -> Response:
        if response.status_code != 200 or response.direct_passthrough:
            return response
        if request.endpoint == INDEX:
            head, end, tail = response.get_data(as_text=True).rpartition("</body>")
            if end:
                response.set_data(f"{head}{script}{end}{tail}")
        elif request.endpoint == STATISTICS and isinstance(response.json, dict):
            extended = {**response.json, "extended_stats": [_build_table(environment)]}
            response.set_data(interface.app.json.dumps(extended))
        return response

    interface.app.register_blueprint(pages)
    interface.app.after_request(extend)


class _CachedReport:
    """The report as it was last rendered.

    A thread renders it: in long tests that takes a moment, in which streams must be read.
    """

    def __init__(self, render: Callable[[], str]) -> None:
        self._render = render
        self._lock = BoundedSemaphore(1)
        self._text = ""
        self._valid_until_s = 0.0

    def get_text(self) -> str:
        """Return the report, rendered again unless it is recent."""
        with self._lock:
            began_s = time.monotonic()
            if began_s >= self._valid_until_s:
                self._text = gevent.get_hub().threadpool.apply(self._render)
                ended_s = time.monotonic()
                self._valid_until_s = ended_s + CACHE_FACTOR * (ended_s - began_s)
            return self._text


def _build_table(environment: Environment) -> dict[str, Any]:
    """Return the rows of the tab's table; the last one links to the report."""
    rows: list[dict[str, Any]] = []
    for name in DEFINITIONS:
        entry: Any = environment.stats.entries.get((name, METHOD))
        if entry is not None and entry.num_requests:
            buckets = [(float(value), count) for value, count in entry.response_times.items()]
            percentiles = {f"p{column}": quantile(buckets, column / 100) for column in COLUMNS}
            rows.append({"name": name, "count": entry.num_requests, **percentiles})
    return {"key": NAME, "data": [*rows, {"name": f"charts and verdicts: {url_for(f'{NAME}.show')}"}]}
