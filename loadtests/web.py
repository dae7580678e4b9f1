"""Our page in Locust's web interface: the report so far at `/chatproof`, and a link to it on every page.

Locust's own tabs hold tables only, so the charts have a page of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from loadtests.page import page

if TYPE_CHECKING:
    from collections.abc import Callable

    from locust.env import Environment

PATH: Final = "/chatproof"
LINK: Final = (
    f'<a href="{PATH}" target="_blank" style="position:fixed;right:1rem;bottom:1rem;z-index:9999;padding:.4rem .8rem;'
    'border-radius:.4rem;background:#0969da;color:#fff;font:14px system-ui,sans-serif;text-decoration:none">'
    "Streams: TTFT, ITL, goodput</a>"
)
REFRESH: Final = '<meta http-equiv="refresh" content="3">'


def add(environment: Environment, so_far: Callable[[], dict[str, Any]]) -> None:
    """Adds the page where there is a web interface."""
    app = environment.web_ui.app if environment.web_ui else None
    if app is None:
        return

    def show() -> str:
        return page(so_far()).replace("<title>", f"{REFRESH}<title>", 1)

    def link(response: Any) -> Any:
        if response.mimetype == "text/html" and not response.direct_passthrough:
            text = response.get_data(as_text=True)
            head, found, tail = text.rpartition("</body>")
            if found and LINK not in text and REFRESH not in text:
                response.set_data(f"{head}{LINK}{found}{tail}")
        return response

    app.add_url_rule(PATH, "chatproof", show)
    app.after_request(link)
