"""Tell from the answer to one valid chat request whether the URL or the model is wrong.

Such a server cannot be judged: nothing that it answers shows how it serves chat completions. A server that answers the
request in any other way, even with a broken completion or with status 500, is judged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from conformance.judge.acceptance import is_refused_somehow
from conformance.judge.applicability import summarize
from conformance.judge.error_envelope import envelope_of, names_any
from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.exchange import Exchange
    from openapi.address import Target

NO_ENDPOINT: Final = (404, 405)
MODEL_CODES: Final = ("model_not_found", "model_not_exist", "invalid_model")
MODEL_WORDS: Final = ("model", "models", "模型")
OTHER_ENDPOINTS: Final = (
    "/chat/completions", "/completions", "/responses", "/embeddings", "/messages", "/models", "/openapi.json", "/docs",
    "/health", "/metrics", "/generate", "/chat", "/api",
)  # fmt: skip
"""Paths of other endpoints that users copy, in place of the address of the server."""
VERSION: Final = re.compile(r"/v\d+/")
TLS_PORT: Final = ("https server", "https port", "tls")
"""What a TLS port says about a request without TLS."""
MOST_SHOWN: Final = 5
"""Models of the server that an error message lists."""


def is_suspicious(exchange: Exchange) -> bool:
    """Tell whether the URL or the model may be wrong; the models of the server then decide."""
    return is_refused_somehow(exchange) or _is_elsewhere(exchange)


def explain(exchange: Exchange, target: Target, model: str, listed: Sequence[str], *, named: bool) -> str | None:
    """Return why a server cannot be judged, on one line, or None if it can.

    exchange: the answer to a valid chat request.
    listed: the models that the server lists.
    named: whether the user named the model.
    """
    if _refuses_model(exchange, model, listed, named=named):
        return _wrong_model(exchange, model, listed, named=named)
    return _wrong_url(exchange, target) if _is_elsewhere(exchange) else None


def _is_elsewhere(exchange: Exchange) -> bool:
    """Tell whether something else than a chat-completions endpoint answered."""
    status = exchange.status or 0
    return status in NO_ENDPOINT or 300 <= status < 400 or (status < 500 and envelope_of(exchange).name == "HTML")


def _refuses_model(exchange: Exchange, model: str, listed: Sequence[str], *, named: bool) -> bool:
    """Tell whether the server refuses the model: by its name, or it lists others and the user named this one."""
    if model in listed or exchange.status == 429 or not is_refused_somehow(exchange):
        return False
    envelope = envelope_of(exchange)
    if envelope.field("param") == "model" or envelope.field("code") in MODEL_CODES:
        return True
    if names_any(exchange, MODEL_WORDS) and (names_any(exchange, [model]) or exchange.status in NO_ENDPOINT):
        return True
    return named and bool(listed)


def _wrong_model(exchange: Exchange, model: str, listed: Sequence[str], *, named: bool) -> str:
    shown = ", ".join(listed[:MOST_SHOWN]) + (", ..." if len(listed) > MOST_SHOWN else "")
    origin = "" if named else ", the default of the dialect,"
    known = f"it lists {shown}" if listed else "it lists no models"
    advice = f"name a model that it serves with --model{suggest(model, listed)}"
    return (
        f"the server refuses the model {model!r}{origin} in a valid request: {summarize(exchange)}; {known}; {advice}"
    )


def _wrong_url(exchange: Exchange, target: Target) -> str:
    location = exchange.header("location")
    redirect = f" (redirects to {location})" if location and exchange.status in range(300, 400) else ""
    if exchange.status == 400 or (envelope_of(exchange).name == "HTML" and target.base.startswith("http://")):
        text = exchange.text.casefold()
        if any(words in text for words in TLS_PORT):
            return f"POST {target.chat_url}: {summarize(exchange)}{suggest_https(target)}"
    base = _likely_base(target)
    likely = f". Did you mean {base}?" if base else ""
    return (
        f"no chat-completions endpoint at this URL: POST {target.chat_url} was answered with"
        f" {summarize(exchange)}{redirect}; expected http://HOST:PORT, with a path prefix if the server has one, or the"
        f" full URL of the endpoint, which ends with {target.path}{likely}"
    )


def suggest_https(target: Target) -> str:
    """Return the end of an error about a server that closes the connection; empty for one with TLS."""
    plain, https = "http://", "https://"
    if not target.base.startswith(plain):
        return ""
    return f"; if the server uses TLS, write {https}{target.base.removeprefix(plain)}"


def _likely_base(target: Target) -> str | None:
    """Return the address of a server without an API version and the path of another endpoint; None without both.

    The path of the contract has a version of its own, or none.
    """
    if version := VERSION.search(f"{target.base}/"):
        return target.base[: version.start()]
    endings = (ending for ending in OTHER_ENDPOINTS if target.base.endswith(ending))
    return next((target.base.removesuffix(ending) for ending in endings), None)
