"""Find the chat operation of an OpenAPI description: the POST whose path ends in /chat/completions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from openapi.contract.tree.yaml_file import ContractError
from openapi.importing.schemas.references import follow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CHAT: Final = "/chat/completions"
MODELS: Final = "/models"


@dataclass(frozen=True, slots=True)
class ChatOperation:
    """The operation, the path at which a server has it, its JSON pointer, and the paths of others like it."""

    operation: Mapping[str, Any]
    path: str
    pointer: str
    others: tuple[str, ...] = ()


def find_chat_operation(document: Mapping[str, Any], name: str, path: str | None = None) -> ChatOperation:
    """Return the chat operation with the shortest path, or the one at `path`, which may have any name.

    Raises ContractError without such an operation.
    """
    operations = _operations(document, CHAT if path is None else path)
    found = sorted(operations, key=lambda item: (len(item[0]), item[0]))
    if path is not None:
        found = [item for item in found if item[0] == path.rstrip("/")]
    if not found:
        wanted = f"path {path}" if path else f"path that ends in {CHAT} or is named by --path"
        raise ContractError(
            f"{name}: no chat operation: expected a POST with a {wanted}, got {_paths(document) or 'no paths'}"
        )
    chosen, operation, pointer = found[0]
    others = tuple(other for other, _, _ in found[1:])
    return ChatOperation(operation, _server_prefix(document, operation) + chosen, pointer, others)


def find_models_path(document: Mapping[str, Any], chat: ChatOperation) -> str | None:
    """Return the path of the list of models that belongs to a chat operation; None if the description has none."""
    paths = document.get("paths")
    expected = chat.path.removesuffix(CHAT) + MODELS
    prefix = _server_prefix(document, chat.operation)
    known = (prefix + str(path).rstrip("/") for path, item in (paths or {}).items() if "get" in (item or {}))
    return expected if expected in known else None


def _operations(document: Mapping[str, Any], ending: str) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """Yield each POST whose path has an ending: its path, the operation and its JSON pointer."""
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        pointer = f"#/paths/{str(path).replace('~', '~0').replace('/', '~1')}"
        if str(path).rstrip("/").endswith(ending.rstrip("/")):
            item, _ = follow(document, item, pointer)
            if isinstance(item, dict) and isinstance(item.get("post"), dict):
                yield str(path).rstrip("/"), item["post"], f"{pointer}/post"


def _server_prefix(document: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    """Return the path of the first server's URL, such as `/v1`; variables have their defaults."""
    servers = operation.get("servers") or document.get("servers") or [{}]
    server = servers[0] if isinstance(servers, list) and servers and isinstance(servers[0], dict) else {}
    url = str(server.get("url") or "")
    variables = server.get("variables")
    for name, variable in variables.items() if isinstance(variables, dict) else ():
        url = url.replace(f"{{{name}}}", str((variable or {}).get("default", "")))
    return urlsplit(url).path.rstrip("/")


def _paths(document: Mapping[str, Any]) -> str:
    paths = document.get("paths")
    named = sorted(map(str, paths)) if isinstance(paths, dict) else []
    return ", ".join(named[:5]) + (f" and {len(named) - 5} more" if len(named) > 5 else "")
