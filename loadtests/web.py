"""Our page as a tab of Locust's web interface; alone it is at `/chatproof`.

Locust's own tabs hold tables, and ours has one, of the latencies so far. A script on its index page makes the tab show
the whole page in place of it; a Locust for which that does not work shows the table.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from flask import Blueprint, Response, request, url_for

from loadtests.page import page

if TYPE_CHECKING:
    from collections.abc import Callable

    from locust.env import Environment

NAME: Final = "chatproof"
"""Of the tab, of its table and of the address."""
TITLE: Final = "Streams"
COLUMNS: Final = ("50", "90", "95", "99", "99.9")
REFRESH_S: Final = 3
INDEX: Final = "locust.index"
STATISTICS: Final = "locust.request_stats"


def add(environment: Environment, so_far: Callable[[], dict[str, Any]], progress: Callable[[], str]) -> None:
    """Adds the tab and the page where there is a web interface. `progress`: how far a test is that has not ended."""
    interface: Any = environment.web_ui
    if interface is None or interface.app is None:
        return
    heads = [("name", "ms"), ("count", "count"), *((f"p{each}", f"p{each}") for each in COLUMNS)]
    table = {"key": NAME, "structure": [{"key": key, "title": title} for key, title in heads]}
    interface.template_args |= {"extended_tabs": [{"key": NAME, "title": TITLE}], "extended_tables": [table]}
    script = f"<script>{files('loadtests').joinpath('tab.js').read_text(encoding='utf-8')}</script>"
    options: Any = environment.parsed_options
    pages = Blueprint(NAME, __name__, url_prefix=options.web_base_path or None)

    @pages.route(f"/{NAME}")
    @interface.auth_required_if_enabled
    def show() -> Response:
        return Response(page(so_far(), progress()), headers={"Refresh": str(REFRESH_S), "Cache-Control": "no-store"})

    def extend(response: Response) -> Response:
        if response.status_code != 200 or response.direct_passthrough:
            return response
        if request.endpoint == INDEX:
            head, end, tail = response.get_data(as_text=True).rpartition("</body>")
            if end:
                response.set_data(f"{head}{script}{end}{tail}")
        elif request.endpoint == STATISTICS and isinstance(response.json, dict):
            response.set_data(interface.app.json.dumps({**response.json, "extended_stats": [_table(so_far())]}))
        return response

    interface.app.register_blueprint(pages)
    interface.app.after_request(extend)


def _table(made: dict[str, Any]) -> dict[str, Any]:
    """The rows of Locust's own table; its last says where the rest is."""
    rows: list[dict[str, Any]] = [
        {"name": name, "count": row["count"]} | {f"p{each}": row["percentiles"][each] for each in COLUMNS}
        for name, row in made["latencies_ms"].items()
    ]
    return {"key": NAME, "data": [*rows, {"name": f"charts and verdicts: {url_for(f'{NAME}.show')}"}]}
