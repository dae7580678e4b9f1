"""Pages beside the API: its description, Swagger UI from local files, and whether the server is well."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Final

import orjson
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import Response

from reference_server.errors import ApiError, unavailable

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
PATHS: Final = frozenset({"/health", "/openapi.json", "/docs", *(f"/docs/{name}" for name in ASSETS)})
"""Everything that is open without a key. It tells nothing that is not published with the server."""


def description(document: Mapping[str, object]) -> Handler:
    """GET /openapi.json: the description of what is served."""
    body = orjson.dumps(document)

    async def handle(_request: Request) -> Response:
        return Response(body, media_type="application/json")

    return handle


def documentation(title: str) -> Handler:
    """GET /docs: Swagger UI over the description; neither the page nor its scripts load anything from elsewhere."""
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title=title,
        swagger_js_url="/docs/swagger-ui-bundle.js",
        swagger_css_url="/docs/swagger-ui.css",
        swagger_favicon_url="/docs/favicon-32x32.png",
        swagger_ui_parameters={"validatorUrl": None},  # or the page would ask validator.swagger.io for its opinion
    )

    async def handle(_request: Request) -> Response:
        return page

    return handle


async def asset(request: Request) -> Response:
    """GET /docs/{name}: one of the three files of Swagger UI."""
    name = request.path_params["name"]
    if name not in ASSETS:
        raise ApiError("not_found", "there is no such file")
    return Response(files("reference_server").joinpath("static", name).read_bytes(), media_type=ASSETS[name])


def health(engine: Engine) -> Handler:
    """GET /health: 200 while requests can be answered; the refusal of an overloaded server while the engine is down."""

    async def handle(_request: Request) -> Response:
        if not engine.alive:
            raise unavailable()
        return Response(b'{"status":"ok"}', media_type="application/json")

    return handle
