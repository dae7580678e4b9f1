"""The scenarios of a plan: written ones in YAML files, and those that are generated from the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.plan.scenarios import (
    boundaries,
    client_headers,
    defaults,
    fitting,
    greedy_bounds,
    open_requests,
    printed_requests,
    undeclared_capabilities,
)
from conformance.plan.scenarios.combinations import (
    crowds,
    pairs,
    schema_features,
    tasks,
    tool_conversations,
    values_together,
)
from conformance.plan.scenarios.combinations.forms import forms
from conformance.plan.scenarios.prompts import prompt_parts, text_kinds
from conformance.plan.scenarios.written.reading import read_scenarios

if TYPE_CHECKING:
    from conformance.plan.capabilities import DeclaredCapabilities
    from conformance.scenario import Scenario
    from openapi.contract.contract import Contract


def list_scenarios(contract: Contract, narrowed: Contract, capabilities: DeclaredCapabilities) -> tuple[Scenario, ...]:
    """Return all scenarios for a server with these capabilities; `narrowed` is the contract without the others."""
    alone = boundaries.generate(narrowed)
    together = values_together.generate(alone, narrowed)
    scenarios = (
        *open_requests.mark_open_requests(read_scenarios(narrowed), narrowed),
        *client_headers.generate(narrowed),
        *printed_requests.generate(narrowed),
        *values_together.replace_shared(alone, together),
        *together,
        *open_requests.mark_open_requests(pairs.generate(narrowed), narrowed),
        *open_requests.mark_open_requests(tasks.generate(narrowed), narrowed),
        *open_requests.mark_open_requests(crowds.generate(narrowed), narrowed),
        *prompt_parts.generate(narrowed),
        *text_kinds.generate(narrowed),
        *schema_features.generate(narrowed),
        *tool_conversations.generate(narrowed),
        *open_requests.mark_open_requests(greedy_bounds.generate(narrowed), narrowed),
        *open_requests.mark_open_requests(defaults.generate(narrowed), narrowed),
        *undeclared_capabilities.generate(contract, capabilities),
    )
    return tuple(fitting.complete((*scenarios, *forms.generate(scenarios, narrowed)), narrowed))
