"""Explain requirements: why they matter, who is affected, and how to fix a server. The texts are data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

SERVERS: Final = {"vllm": "vLLM", "sglang": "SGLang", "mindie": "MindIE", "fastapi": "your own server (FastAPI)"}
"""The servers for which there is advice, and their names."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a requirement matters, who is affected by its failure, and how to fix it, by server."""

    matters: str
    affects: str
    fix: Mapping[str, str]


def find_explanation(check: str) -> Explanation | None:
    """Return the explanation of a check: its own words, and those of its topic; None for an unknown topic."""
    content = _read()
    general, own = content["topics"].get(check.partition(".")[0]), content["checks"].get(check, {})
    if general is None:
        return None
    return Explanation(
        own.get("matters", general["matters"]),
        own.get("affects", general["affects"]),
        {**general["fix"], **own.get("fix", {})},
    )


@cache
def _read() -> dict[str, Any]:
    path = files("conformance.report").joinpath("explanations.yaml")
    content: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return content
