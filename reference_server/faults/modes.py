"""The modes in which the reference server can be run, so that the suite can be tested against each of them.

Every mode follows its document. A mode lacks one capability, all of them, or those that the document takes away under
one condition; or it has the full-text mode, or an API key; or several of these at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from reference_server.http.served_contract import served_contract

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract

PREFIX: Final = "mode:"
"""Begins the name of a mode where the fault host expects the name of a fault."""


@dataclass(frozen=True, slots=True)
class ServerMode:
    """Settings of one server, and whether it publishes its own description."""

    name: str
    lacking: frozenset[str] = frozenset()
    full_text: bool = False
    key: bool = False
    described: bool = True

    def as_data(self) -> Mapping[str, Any]:
        """Return what a client needs to know."""
        return {"name": f"{PREFIX}{self.name}", "key": self.key, "full_text": self.full_text}


@cache
def list_modes(contract: Contract) -> Mapping[str, ServerMode]:
    """Return the modes of a dialect by name, in addition to the server without any option."""
    return {f"{PREFIX}{mode.name}": mode for mode in _modes(contract)}


def _modes(contract: Contract) -> Iterator[ServerMode]:
    key = contract.auth == "bearer"
    names = sorted(served_contract(contract, bearer=False).capabilities)
    has_full_text = contract.stream.full_text == "optional"
    for name in names:
        yield ServerMode(f"without-{name}", frozenset({name}), key=key)
    yield ServerMode("without-all", frozenset(names), key=key)
    if not any(contract.capabilities[name].conditions for name in names):
        yield ServerMode("undescribed", key=key, described=False)
    conditions = {name: contract.capabilities[name].conditions for name in names}
    seen: set[frozenset[str]] = set()
    for condition in dict.fromkeys(item for items in conditions.values() for item in items):
        lacking = frozenset(name for name, items in conditions.items() if condition in items)
        if lacking not in seen:
            yield ServerMode(f"with-{condition.replace(' ', '-')}", lacking, key=key, described=False)
        seen.add(lacking)
    if has_full_text:
        yield ServerMode("full-text", full_text=True, key=key)
    if not key:
        yield ServerMode("with-key", key=True)
    yield ServerMode("first-half-with-key", frozenset(names[1::2]), full_text=has_full_text, key=True)
    yield ServerMode("second-half", frozenset(names[::2]), full_text=has_full_text, key=key)


class Undescribed:
    """An application without the description of its API."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/openapi.json":
            scope = {**scope, "path": "/undescribed", "raw_path": b"/undescribed"}
        await self._app(scope, receive, send)
