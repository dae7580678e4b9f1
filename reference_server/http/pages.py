"""Handlers of the pages besides the API: the OpenAPI description, Swagger UI from local files, and the health check."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import orjson
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import Response

from reference_server.errors import ApiError, overloaded_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    from reference_server.engine import Engine

    Handler = Callable[[Request], Awaitable[Response]]

ASSETS: Final = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "favicon-32x32.png": "image/png",
}
SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}
PUBLIC_PATHS: Final = frozenset({"/health", "/openapi.json", "/docs", *(f"/docs/{name}" for name in ASSETS)})
"""Paths that need no API key. Their content is published with the server anyway."""


def description(document: Mapping[str, object]) -> Handler:
    """GET /openapi.json: the OpenAPI description of the served API."""
    body = orjson.dumps(document)

    async def handle(_request: Request) -> Response:
        return Response(body, media_type="application/json", headers=SECURITY_HEADERS)

    return handle


def documentation(title: str) -> Handler:
    """GET /docs: Swagger UI for the description; the page and its scripts load nothing from other hosts."""
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title=title,
        swagger_js_url="/docs/swagger-ui-bundle.js",
        swagger_css_url="/docs/swagger-ui.css",
        swagger_favicon_url="/docs/favicon-32x32.png",
        swagger_ui_parameters={"validatorUrl": None},  # otherwise the page would send requests to validator.swagger.io
    )

    page.headers.update({**SECURITY_HEADERS, "Content-Security-Policy": _content_policy(page.body)})

    async def handle(_request: Request) -> Response:
        return page

    return handle


def _content_policy(page: bytes | memoryview) -> str:
    """Return the policy of the page: only the server's own files and the page's own inline script are loaded."""
    scripts = re.findall(rb"<script>(.*?)</script>", bytes(page), re.DOTALL)
    hashes = [f"'sha256-{b64encode(sha256(script).digest()).decode()}'" for script in scripts]
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' {' '.join(hashes)}",
            "style-src 'self' 'unsafe-inline'",  # Swagger UI sets styles of elements
            "img-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


async def asset(request: Request) -> Response:
    """GET /docs/{name}: one of the three files of Swagger UI."""
    name = request.path_params["name"]
    if name not in ASSETS:
        raise ApiError("not_found", "unknown file")
    content = files("reference_server").joinpath("static", name).read_bytes()
    return Response(content, media_type=ASSETS[name], headers=SECURITY_HEADERS)


def health(engine: Engine) -> Handler:
    """GET /health: 200 while the engine takes requests, otherwise the dialect's error for an overloaded server."""

    async def handle(_request: Request) -> Response:
        if not engine.alive:
            raise overloaded_error()
        return Response(b'{"status":"ok"}', media_type="application/json")

    return handle
