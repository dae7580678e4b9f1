"""The preparation of a run: ask the server for its models and capabilities, and draft the plan."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from conformance.client.untimed_client import UntimedClient
from conformance.errors import UsageError
from conformance.plan.capabilities import DeclaredCapabilities, capabilities_from_description, default_capabilities
from conformance.record import Spent
from conformance.run.drafting import draft
from conformance.run.preflight import Preflight
from conformance.run.session.target import load_contract, parse_target

if TYPE_CHECKING:
    from conformance.client.secret import Secret
    from conformance.plan.expected_time import AnswerPace
    from conformance.plan.plan import Plan
    from conformance.run.session.options import RunOptions
    from openapi.address import Target
    from openapi.contract.contract import Contract

NOTHING_SPENT: Final = Spent()


@dataclass(frozen=True, slots=True, repr=False)  # asyncio.run writes the repr of a task's result: 228 MB
class PreparedRun:
    """Everything that is known before the plan is sent.

    also: the same for each further dialect.
    answered: whether the chat request of the preflight was answered with a completion.
    failed: whether it was answered with a status of 5xx.
    spent: what the chat requests of the preflight have cost.
    pace: how fast the server answered them.
    """

    options: RunOptions
    contract: Contract
    target: Target
    model: str
    declaration: DeclaredCapabilities
    plan: Plan
    also: tuple[PreparedRun, ...] = ()
    answered: bool = True
    failed: bool = False
    spent: Spent = NOTHING_SPENT
    pace: AnswerPace | None = None

    @property
    def requests(self) -> int:
        """The most chat requests of the whole run, with the preflight; a request that two plans share is sent once."""
        shared = {scenario.request_key(self.model) for scenario in self.plan.scenarios}
        return (
            self.spent.requests
            + self.plan.requests
            + sum(
                len(scenario.steps)
                for other in self.also
                for scenario in other.plan.scenarios
                if scenario.request_key(self.model) not in shared
            )
        )

    @property
    def tokens(self) -> int:
        """The most completion tokens of the whole run, with the preflight."""
        return self.spent.tokens + self.plan.tokens


async def prepare_server(options: RunOptions, secret: Secret | None, *, timed: bool = False) -> PreparedRun:
    """Connect to the server, ask for its models and capabilities, and draft the plan.

    timed: whether to measure the time of a token, too, for an estimate of the duration.
    Raises Unreachable if the server does not answer or refuses the API key, UsageError for an invalid setting.
    """
    contract = load_contract(options.dialect)
    target = parse_target(options.url, contract)
    if options.model and not options.model.isprintable():
        raise UsageError(f"invalid --model {options.model!a}: expected printable characters only")
    client = UntimedClient(target.base, secret, headers=options.headers, verify=options.verify)
    limits = options.budget
    until_s = math.inf if limits.sending_s is None else options.started_s + limits.sending_s
    preflight = Preflight(client, target, contract, timeout_s=limits.deadline_s, until_s=until_s, limits=limits)
    if options.wait_s:
        await preflight.wait(options.wait_s)
    model = options.model or await preflight.find_model()
    description = await preflight.fetch_description()
    capabilities = _read_capabilities(contract, description, options, options.capabilities, key=client.has_key)
    answered = await preflight.check_chat(model, named=bool(options.model))
    if timed and answered:
        await preflight.measure_pace(model)
    capabilities = await preflight.probe(model, capabilities)

    def prepare_dialect(dialect: Contract, capabilities: DeclaredCapabilities) -> PreparedRun:
        plan = draft(dialect, capabilities, options.only, options.topics, options.draw, options.depth)
        plan = replace(plan, denials={} if options.only or options.topics else capabilities.denials)
        return PreparedRun(
            options,
            dialect,
            target,
            model,
            capabilities,
            plan,
            answered=answered,
            failed=preflight.failed,
            pace=preflight.pace,
        )

    others = []
    for other in map(load_contract, dict.fromkeys(options.also)):
        if other is not contract:
            # An override is a capability of the first dialect, and perhaps not of this one.
            overrides = tuple(pair for pair in options.capabilities if pair[0] in other.capabilities)
            declared = _read_capabilities(other, description, options, overrides, key=client.has_key)
            refused = set(capabilities.denied) & set(declared.list_conditional(other))
            others.append(prepare_dialect(other, declared.with_refusals(other, refused)))
    return replace(prepare_dialect(contract, capabilities), also=tuple(others), spent=preflight.spent)


def _read_capabilities(
    contract: Contract,
    description: object,
    options: RunOptions,
    overrides: tuple[tuple[str, bool], ...],
    *,
    key: bool,
) -> DeclaredCapabilities:
    """Return the capabilities by dialect or description, overrides, API key and places of media, in this order."""
    capabilities = capabilities_from_description(contract, description) or default_capabilities(contract)
    known = capabilities.with_overrides(contract, overrides).with_key(contract, key=key)
    given = {"media_urls": options.media_host is not None, "media_paths": options.media_path is not None}
    return known.with_media_places(contract, given)
