"""Engine parameters that the gateway can pass on, and how it handles each of them for a kind of upstream."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.contract.contract import Contract

Form = Literal[
    "same", "asked", "bias", "floored", "capped", "json", "texts", "ids", "count", "folded", "alternatives", "nothing"
]


@dataclass(frozen=True, slots=True)
class ParameterHandling:
    """How the gateway handles one engine parameter. Exactly one of passed, emulated and refused is not None.

    passed: name under which the parameter is passed on.
    emulated: how the gateway emulates it.
    refused: why it is refused, unless its value is neutral.
    form: how the value is written (see words.yaml).
    cut: the parameter is passed, and the gateway cuts the text too.
    least, most: bounds of the upstream's contract, for a number or for the number of strings.
    longest: maximum length of each string.
    """

    passed: str | None = None
    emulated: Literal["cut", "requests", "ranked"] | None = None
    refused: str | None = None
    form: Form = "same"
    cut: bool = False
    least: float | None = None
    most: int | None = None
    longest: int | None = None


@dataclass(frozen=True, slots=True)
class EngineParameter:
    """One parameter of the engine.

    names: its names in the documents.
    also: parameters with the same effect that are never sent to an upstream.
    form: how its value is written on the wire.
    capability: capability that it belongs to in every contract that has it.
    """

    names: tuple[str, ...]
    also: tuple[str, ...]
    form: Form = "same"
    capability: str | None = None

    def capabilities(self, contract: Contract) -> frozenset[str]:
        """Return the capabilities that the parameter belongs to: its own, and that of a condition in the contract."""
        named = {contract.parameters[name].capability for name in self.names if name in contract.parameters}
        return frozenset(capability for capability in (*named, self.capability) if capability is not None)


@cache
def engine_parameters() -> Mapping[str, EngineParameter]:
    """Return every engine parameter that an upstream can be asked for."""
    return {
        key: EngineParameter(
            tuple(row["names"]), tuple(row.get("also", ())), row.get("form", "same"), row.get("capability")
        )
        for key, row in _words()["parameters"].items()
    }


def own_capabilities() -> frozenset[str]:
    """Return the capabilities that the gateway itself provides with every upstream."""
    return frozenset(_words()["own"])


def too_long_phrases() -> tuple[str, ...]:
    """Return the words by which a refusal of too many tokens is recognised."""
    return tuple(_words()["too_long"])


def local_parameters() -> frozenset[str]:
    """Return the parameters that only a local engine supports although their capability is available."""
    return frozenset(_words()["beyond"])


def read_yaml(name: str) -> dict[str, Any]:
    """Read a YAML file of this package."""
    text = files("reference_server.upstream").joinpath(name).read_text(encoding="utf-8")
    rows: dict[str, Any] = yaml.safe_load(text)
    return rows


@cache
def _words() -> dict[str, Any]:
    return read_yaml("words.yaml")
