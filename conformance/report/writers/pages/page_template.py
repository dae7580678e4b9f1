"""Render a page with its own style and script, and a content security policy that allows only these two.

All values are escaped by Jinja. A page is one file that loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from jinja2 import Template

STYLE: Final = "report.css"
SHARED_SCRIPT: Final = "page.js"
_CODE: Final = re.compile(r"`([^`]+)`")


def render_page(name: str, **values: Any) -> str:
    """Return the page of `templates/NAME.html` with the shared script and its own, `NAME.js`, and these values."""
    style = Markup(_read(STYLE))  # noqa: S704 - our own file
    script = Markup(_read(SHARED_SCRIPT) + _read(f"{name}.js"))  # noqa: S704 - our own files
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return _template(f"{name}.html").render(policy=policy, style=style, script=script, **values)


def mark_code(text: str) -> Markup:
    """Return a string as HTML, with the words between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before


@cache
def _template(name: str) -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["quantity"] = format_quantity
    environment.filters["code"] = mark_code
    return environment.from_string(_read(name))


@cache
def _read(name: str) -> str:
    return files("conformance.report.writers.pages").joinpath("templates", name).read_text("utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
