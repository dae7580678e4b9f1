"""Get what a vendor publishes: a file, or the description of a running server."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import yaml

from openapi.bounded_http import BoundedRequestError, send_bounded
from openapi.contract.tree.yaml_file import ContractError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES: Final = 16 * 1024 * 1024
TIMEOUT_S: Final = 20.0
DESCRIPTION: Final = "/openapi.json"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The bytes of a source, its name for messages, and its URL if it was fetched."""

    name: str
    content: bytes
    url: str | None = None


def read_source(source: str) -> SourceFile:
    """Read a file, or fetch a URL; of a server's root, its /openapi.json.

    Raises ContractError, in one line, if it cannot be read or is empty, binary or larger than 16 MiB.
    """
    found = _fetch(source) if source.startswith(("http://", "https://")) else _read_file(source)
    if not found.content.strip():
        raise ContractError(f"{found.name}: the file is empty: expected an OpenAPI description or a page")
    if b"\x00" in found.content[:8192]:
        raise ContractError(f"{found.name}: a binary file: expected an OpenAPI description or a page, as text")
    return found


def _read_file(source: str) -> SourceFile:
    path = Path(source)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ContractError(
            f"cannot read {source}: {error.strerror}: expected a file, or the URL of a server"
        ) from None
    if len(content) > MAX_BYTES:
        raise ContractError(f"{source}: larger than {MAX_BYTES >> 20} MiB: expected one description or page")
    return SourceFile(path.name, content)


def _fetch(source: str) -> SourceFile:
    parts = urlsplit(source)
    url = source if parts.path.strip("/") else parts._replace(path=DESCRIPTION).geturl()
    if not parts.hostname:
        raise ContractError(f"invalid URL {source!r}: expected http://host:port")
    try:
        answer = asyncio.run(
            send_bounded(
                "GET",
                url,
                headers=[("Host", parts.netloc.rpartition("@")[2]), ("Accept", "*/*")],
                body=b"",
                deadline_s=TIMEOUT_S,
                verify=True,
                max_bytes=MAX_BYTES,
            )
        )
    except BoundedRequestError as error:
        raise ContractError(f"cannot fetch {url}: {error}") from None
    if answer.status != 200:
        raise ContractError(f"cannot fetch {url}: status {answer.status}: expected 200 with an OpenAPI description")
    if not answer.complete:
        raise ContractError(f"cannot fetch {url}: longer than {MAX_BYTES >> 20} MiB, or not complete in {TIMEOUT_S} s")
    return SourceFile(url, answer.body, url)


def parse_mapping(text: str) -> Mapping[str, Any] | None:
    """Parse a mapping in JSON or YAML; None if the text is neither. Raises ContractError if it is nested too deeply."""
    try:
        parsed = json.loads(text) if text.lstrip().startswith("{") else yaml.load(text, Loader=yaml.CSafeLoader)
    except (ValueError, yaml.YAMLError):
        return None
    except RecursionError:
        raise ContractError("the file is nested too deeply: expected an OpenAPI description or a page") from None
    return parsed if isinstance(parsed, dict) else None
