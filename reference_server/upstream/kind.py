"""Kind: what one kind of upstream takes as it is, what the gateway does in its place, and what it has to refuse.

All of it is data: a YAML file for each kind beside this module, or a dialect of `openapi`, which says itself what it
takes. `words.yaml` holds the names of the parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from math import inf, nextafter
from typing import TYPE_CHECKING, Any, Final, Literal

import yaml

from openapi.contract.contract import load, names

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from openapi.contract.contract import Contract
    from openapi.schema.json_schema import Schema

FILES: Final = ("vllm", "sglang", "transformers")
INEXACT: Final = "it has no such parameter, and nothing exact can stand in for it"
NO_STREAMED_LOGPROBS: Final = "logprobs-in-streams"
NO_STOPS_BESIDE_TOOLS: Final = "tools-without-stop"
"""Rules of contracts whose streams carry no log-probabilities, and whose stop texts exclude tools."""
BY_BEST_OF: Final = "best_of"
"""The parameter that starts a beam search where use_beam_search is none (ovms-2024.4#request/unsupported)."""

Form = Literal["same", "asked", "bias", "floored", "json", "texts", "ids", "count", "folded", "alternatives", "nothing"]


@dataclass(frozen=True, slots=True)
class Way:
    """What becomes of one parameter of the engine. Exactly one of passed, emulated and refused is not None.

    passed: under this name. emulated: by this means. refused: for this reason, unless it asks for nothing.
    cut: passed, but the gateway cuts the text too.
    least, most: bounds of the upstream, where its contract has some: of the number, or of how many texts there are.
    """

    passed: str | None = None
    emulated: Literal["cut", "requests", "ranked"] | None = None
    refused: str | None = None
    form: Form = "same"
    cut: bool = False
    least: float | None = None
    most: int | None = None

    @property
    def word(self) -> str:
        """passed, emulated or refused."""
        return "passed" if self.passed is not None else "emulated" if self.emulated is not None else "refused"


@dataclass(frozen=True, slots=True)
class Word:
    """One parameter of the engine: its names in the documents, its form on the wire, and what it belongs to.

    also: parameters that come to the same, and by which no upstream is asked.
    """

    names: tuple[str, ...]
    also: tuple[str, ...]
    form: Form = "same"
    capability: str | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of upstream.

    path, models_path: of its endpoints. ways: for every parameter of the engine.
    usage: which chunks tell how many tokens there are: each its choice's so far, the one that finishes a choice, or
    one for the whole. usage_on_request: whether stream_options has to ask for it.
    template, parallel: whether it takes chat_template_kwargs and parallel_tool_calls. streams_logprobs: whether its
    streams do. stops_beside_tools: whether it takes stop texts beside tools. roles: of messages, where its contract
    names them. too_long: words that tell the refusal of a prompt that is too long from others. always: members of
    every request.
    """

    name: str
    title: str
    path: str
    models_path: str
    ways: Mapping[str, Way]
    usage: Literal["each-chunk", "with-finish", "whole"]
    usage_on_request: bool
    template: bool
    parallel: bool
    streams_logprobs: bool
    stops_beside_tools: bool = True
    roles: frozenset[str] | None = None
    too_long: tuple[str, ...] = ("the prompt has",)
    always: Mapping[str, Any] = field(default_factory=dict)

    def capabilities(self, contract: Contract) -> frozenset[str]:
        """What of a contract's capabilities can be offered through it: nothing that nobody has thought of here.

        A capability is lacking where a parameter is refused that the dialect counts to it, or that has no name of its
        own.
        """
        known = {word.capability for word in words().values() if word.capability is not None}
        refused = {
            word.capability
            for key, word in words().items()
            if self.ways[key].refused is not None
            and (not word.names or contract.parameters.keys() & {*word.names, *word.also})
        }
        if not self.parallel and "parallel_tool_calls" in contract.parameters:
            refused.add("tools")
        return frozenset((known | set(_words()["own"])) - refused)

    def refused(self) -> frozenset[str]:
        """Parameters by their names in the documents that are refused unless they ask for nothing."""
        ways = self.ways.items()
        gone = [words()[key] for key, way in ways if way.refused is not None]
        return frozenset(_words()["beyond"]).union(*((*word.names, *word.also) for word in gone))


BARE: Final = Kind("", "", "/v1/chat/completions", "/v1/models", {}, "whole", True, False, False, True)
"""What is taken for granted of servers that are like OpenAI's."""


@cache
def words() -> Mapping[str, Word]:
    """Every parameter of the engine that can be asked of an upstream."""
    return {
        key: Word(tuple(row["names"]), tuple(row.get("also", ())), row.get("form", "same"), row.get("capability"))
        for key, row in _words()["parameters"].items()
    }


def kinds() -> tuple[str, ...]:
    """Every name that `kind` takes."""
    return (*FILES, *(name for name in names() if name not in FILES))


@cache
def kind(name: str) -> Kind:
    """The kind of this name: a file of this package, else a dialect, which a server of its vendor speaks.

    Raises ContractError for a name that stands for neither.
    """
    if name not in FILES:
        return kind_of(load(name))
    row = _read(f"{name}.yaml")
    contract = load(row["contract"]) if "contract" in row else None
    if contract is not None:
        return _told(kind_of(contract), row, {name: each.schema for name, each in contract.parameters.items()})
    return _told(BARE, {"name": name, **row}, {name: {} for name in row["takes"]})


def kind_of(contract: Contract) -> Kind:
    """A server that keeps a contract, or what is left of it: a parameter that it lacks is not taken."""
    taken = {name: each.schema for name, each in contract.parameters.items() if not each.lacking}
    ways = {key: _way(key, word, taken, contract.capabilities) for key, word in words().items()}
    if contract.stream.stop_text == "included":  # its streams may not do without: what nobody wants is cut here
        ways["stop"] = replace(ways["stop"], cut=True)
        ways["include_stop_str_in_output"] = replace(ways["include_stop_str_in_output"], form="asked")
    return Kind(
        name=contract.name,
        title=contract.title,
        path=contract.path,
        models_path=contract.models_path,
        ways=ways,
        usage="with-finish" if contract.stream.usage == "with-finish" else "whole",
        usage_on_request="stream_options" in taken,
        template="chat_template_kwargs" in taken,
        parallel="parallel_tool_calls" in taken,
        streams_logprobs=NO_STREAMED_LOGPROBS not in contract.rules,
        stops_beside_tools=NO_STOPS_BESIDE_TOOLS not in contract.rules,
        roles=_roles(contract),
    )


def _roles(contract: Contract) -> frozenset[str] | None:
    """Who may speak: by the schema's branches, or by the role's own."""
    message = contract.schemas["Message"]
    branches = message.get("discriminator", {}).get("mapping") or message.get("properties", {}).get("role", {}).get(
        "enum"
    )
    return frozenset(branches) if branches else None


def _told(found: Kind, row: Mapping[str, Any], taken: Mapping[str, Schema]) -> Kind:
    """The kind with what a file says of it."""
    ways = {key: _way(key, word, taken, ("thinking",)) for key, word in words().items()}
    ways |= {key: Way(**way, form=words()[key].form) for key, way in row["ways"].items()}
    return replace(
        found,
        name=row.get("name", found.name),
        title=row["title"],
        ways=ways,
        usage=row["usage"],
        usage_on_request=row["usage"] != "with-finish",
        template="chat_template_kwargs" in taken,
        parallel="parallel_tool_calls" in taken,
        too_long=tuple(row.get("too_long", ())),
        always=row.get("always", {}),
    )


def marks(name: str) -> Mapping[str, str]:
    """By what a kind with a file of its own is recognised."""
    return dict(_read(f"{name}.yaml").get("recognised", {}))


def _way(field: str, word: Word, taken: Mapping[str, Schema], capabilities: Collection[str]) -> Way:
    name = next((name for name in word.names if name in taken), None)
    if name is not None:
        schema = taken[name]
        items = [branch.get("maxItems") for branch in (schema, *schema.get("anyOf", ())) if branch.get("maxItems")]
        most = items[0] if items else schema.get("maximum")
        above = schema.get("exclusiveMinimum")
        least = schema.get("minimum") if above is None else nextafter(above, inf)
        return Way(passed=name, form=word.form, least=least, most=most)
    if field == "beam_search" and BY_BEST_OF in taken and "length_penalty" in taken:
        return Way(passed=BY_BEST_OF, form="nothing")
    if field in {"stop", "include_stop_str_in_output"}:
        return Way(emulated="cut")
    if field == "n":
        return Way(emulated="requests")
    if field == "best_of" and "logprobs" in taken:
        return Way(emulated="ranked")
    if field == "reasoning":
        if word.capability in capabilities:
            return Way(passed="", form=word.form)  # it is the upstream's way of answering, not a parameter
        return Way(refused="it does not tell thoughts from answers")
    return Way(refused=INEXACT)


@cache
def _words() -> dict[str, Any]:
    return _read("words.yaml")


def _read(name: str) -> dict[str, Any]:
    text = files("reference_server.upstream").joinpath(name).read_text(encoding="utf-8")
    rows: dict[str, Any] = yaml.safe_load(text)
    return rows
