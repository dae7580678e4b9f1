"""Kinds of upstream servers: for each engine parameter, whether it is passed on, emulated by the gateway, or refused.

All of it is data. A kind is a YAML file in this package, or a dialect of `openapi`, whose contract says which
parameters it takes. `words.yaml` lists the engine parameters and their names in the documents.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from math import inf, nextafter
from typing import TYPE_CHECKING, Any, Final, Literal

from openapi.contract.contract import load, names
from reference_server.upstream.parameters import (
    EngineParameter,
    ParameterHandling,
    engine_parameters,
    local_parameters,
    own_capabilities,
    read_yaml,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from openapi.contract.contract import Contract
    from openapi.schema.json_schema import Schema

FILES: Final = ("vllm", "sglang", "transformers")
INEXACT: Final = "it has no such parameter and no exact equivalent"
NO_STREAMED_LOGPROBS: Final = "logprobs-in-streams"
NO_STOPS_WITH_TOOLS: Final = "tools-without-stop"
N_WITHIN_BEST_OF: Final = "n-within-best-of"
"""Rules of contracts whose streams carry no log-probabilities, whose stop strings exclude tools, and whose `n` needs a
`best_of`."""
TEMPLATE_OPTIONS: Final = "chat_template_kwargs"
BY_BEST_OF: Final = "best_of"
"""Parameter that starts a beam search in dialects without use_beam_search (ovms-2024.4#request/unsupported)."""


@dataclass(frozen=True, slots=True)
class UpstreamKind:
    """One kind of upstream.

    path, models_path: paths of its endpoints.
    handling: how each engine parameter is handled.
    usage: which chunks report token counts: each chunk for its choice so far, the last chunk of a choice, or one chunk
        for the whole answer.
    usage_on_request: whether usage must be requested with stream_options.
    template, parallel: whether it takes chat_template_kwargs and parallel_tool_calls.
    streams_logprobs: whether its streams carry log-probabilities.
    stops_with_tools: whether it takes stop strings together with tools.
    samples_one: whether it samples one choice for each request, and `n` is only the number of results of a beam search.
    roles: roles of messages, if its contract lists them.
    always: fields of every request.
    """

    name: str
    title: str
    path: str
    models_path: str
    handling: Mapping[str, ParameterHandling]
    usage: Literal["each-chunk", "with-finish", "whole"]
    usage_on_request: bool
    template: bool
    parallel: bool
    streams_logprobs: bool
    stops_with_tools: bool = True
    samples_one: bool = False
    roles: frozenset[str] | None = None
    always: Mapping[str, Any] = field(default_factory=dict)

    def capabilities(self, contract: Contract) -> frozenset[str]:
        """Return the capabilities of a contract that are available through this kind of upstream.

        Only capabilities of known engine parameters count, so a new capability is not served by accident. A capability
        is lacking if one of its parameters is refused and either has no name in the documents or is in the dialect.
        """
        belonging = {key: parameter.capabilities(contract) for key, parameter in engine_parameters().items()}
        known = {capability for capabilities in belonging.values() for capability in capabilities}
        refused = {
            capability
            for key, parameter in engine_parameters().items()
            if self.handling[key].refused is not None
            and (not parameter.names or contract.parameters.keys() & {*parameter.names, *parameter.also})
            for capability in belonging[key]
        }
        if not self.parallel and "parallel_tool_calls" in contract.parameters:
            refused.add("tools")
        if not self.template and TEMPLATE_OPTIONS in contract.parameters:  # they turn reasoning on and off
            refused.add("thinking")
        if BY_BEST_OF in contract.parameters and not self._searches_by_best_of(contract):
            refused.add("best_of")
        return frozenset((known | own_capabilities()) - refused)

    def _searches_by_best_of(self, contract: Contract) -> bool:
        """Whether best_of works if it starts a beam search in the dialect, which is then wider than its `n` choices."""
        if "use_beam_search" in contract.parameters or "length_penalty" not in contract.parameters:
            return True
        search = self.handling["beam_search"]
        return search.refused is None and (search.passed == BY_BEST_OF or self.handling["best_of"].passed is not None)

    def refused_parameters(self) -> frozenset[str]:
        """Return the parameters, by their names in the documents, that are refused unless their value is neutral."""
        refused = [engine_parameters()[key] for key, handling in self.handling.items() if handling.refused is not None]
        names_of_refused = ({*parameter.names, *parameter.also} for parameter in refused)
        template = () if self.template else (TEMPLATE_OPTIONS,)
        return local_parameters().union(template, *names_of_refused)


OPENAI_LIKE: Final = UpstreamKind("", "", "/v1/chat/completions", "/v1/models", {}, "whole", True, False, False, True)
"""Defaults for servers with an OpenAI-compatible API."""


def kind_names() -> tuple[str, ...]:
    """Return every name that `load_kind` takes."""
    return (*FILES, *(name for name in names() if name not in FILES))


@cache
def load_kind(name: str) -> UpstreamKind:
    """Load a kind from a YAML file of this package, else from the dialect of that name.

    Raises ContractError for an unknown name.
    """
    if name not in FILES:
        return kind_from_contract(load(name))
    row = read_yaml(f"{name}.yaml")
    contract = load(row["contract"]) if "contract" in row else None
    if contract is not None:
        taken = {name: parameter.schema for name, parameter in contract.parameters.items()}
        return _apply_file(kind_from_contract(contract), row, taken)
    return _apply_file(OPENAI_LIKE, {"name": name, **row}, {name: {} for name in row["takes"]})


def kind_from_contract(contract: Contract) -> UpstreamKind:
    """Return the kind of a server that implements a contract, which takes the parameters that are not lacking."""
    taken = {name: parameter.schema for name, parameter in contract.parameters.items() if not parameter.lacking}
    handling = {
        key: _default_handling(key, parameter, taken, contract.capabilities)
        for key, parameter in engine_parameters().items()
    }
    if contract.stream.stop_text == "included":  # streams may include stop strings, so the gateway cuts them
        handling["stop"] = replace(handling["stop"], cut=True)
        handling["include_stop_str_in_output"] = replace(handling["include_stop_str_in_output"], form="asked")
    return UpstreamKind(
        name=contract.name,
        title=contract.title,
        path=contract.path,
        models_path=contract.models_path,
        handling=handling,
        usage="with-finish" if contract.stream.usage == "with-finish" else "whole",
        usage_on_request="stream_options" in taken,
        template="chat_template_kwargs" in taken,
        parallel="parallel_tool_calls" in taken,
        streams_logprobs=NO_STREAMED_LOGPROBS not in contract.rules,
        stops_with_tools=NO_STOPS_WITH_TOOLS not in contract.rules,
        samples_one=N_WITHIN_BEST_OF in contract.rules and "use_beam_search" not in contract.parameters,
        roles=_roles(contract),
    )


def _roles(contract: Contract) -> frozenset[str] | None:
    """Return the roles of messages: the branches of the message schema, or the values of its `role`."""
    message = contract.schemas["Message"]
    branches = message.get("discriminator", {}).get("mapping") or message.get("properties", {}).get("role", {}).get(
        "enum"
    )
    return frozenset(branches) if branches else None


def _apply_file(base: UpstreamKind, row: Mapping[str, Any], taken: Mapping[str, Schema]) -> UpstreamKind:
    """Return the kind with the content of a YAML file applied to it."""
    handling = {
        key: _default_handling(key, parameter, taken, ("thinking",)) for key, parameter in engine_parameters().items()
    }
    handling |= {
        key: ParameterHandling(**{"form": engine_parameters()[key].form, **fields})
        for key, fields in row["ways"].items()
    }
    return replace(
        base,
        name=row.get("name", base.name),
        title=row["title"],
        handling=handling,
        usage=row["usage"],
        usage_on_request=row["usage"] != "with-finish",
        template="chat_template_kwargs" in taken,
        parallel="parallel_tool_calls" in taken,
        always=row.get("always", {}),
    )


def recognition_marks(name: str) -> Mapping[str, str]:
    """Return the marks by which a server of a kind with a YAML file is recognised."""
    return dict(read_yaml(f"{name}.yaml").get("recognised", {}))


def _default_handling(
    key: str, parameter: EngineParameter, taken: Mapping[str, Schema], capabilities: Collection[str]
) -> ParameterHandling:
    name = next((name for name in parameter.names if name in taken), None)
    if name is not None:
        schema = taken[name]
        branches = (schema, *schema.get("anyOf", ()))
        items = [branch["maxItems"] for branch in branches if "maxItems" in branch]
        strings = [branch.get("items", branch) for branch in branches]
        lengths = [string["maxLength"] for string in strings if "maxLength" in string]
        most = items[0] if items else schema.get("maximum")
        above = schema.get("exclusiveMinimum")
        least = schema.get("minimum") if above is None else nextafter(above, inf)
        return ParameterHandling(
            passed=name, form=parameter.form, least=least, most=most, longest=min(lengths, default=None)
        )
    if key == "beam_search" and BY_BEST_OF in taken and "length_penalty" in taken:
        return ParameterHandling(passed=BY_BEST_OF, form="nothing")
    if key in {"stop", "include_stop_str_in_output"}:
        return ParameterHandling(emulated="cut")
    if key == "n":
        return ParameterHandling(emulated="requests")
    if key == "best_of" and "logprobs" in taken:
        return ParameterHandling(emulated="ranked")
    if key == "reasoning":
        if parameter.capability in capabilities:
            return ParameterHandling(passed="", form=parameter.form)  # a property of the answers, not a parameter
        return ParameterHandling(refused="it does not separate reasoning from the answer")
    return ParameterHandling(refused=INEXACT)
