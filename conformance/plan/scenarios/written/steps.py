"""The steps of a written scenario, from its keys and the contract."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.errors import HarnessError
from conformance.plan.media import MediaParts
from conformance.plan.scenarios.written.payload import cookie_field, first_tokens, message_text, raw_body
from conformance.plan.scenarios.written.turns import write_turns
from conformance.scenario import OMITTED, Step
from conformance.stop_string import StopFrom
from openapi.contract.contract import ABSENT
from openapi.contract.tree.scenario_keys import STEP_KEYS
from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi.contract.contract import Contract

STREAMED = ("stream", True)  # never left out, because the answer would have another form


def _is_supported(step: Step, contract: Contract) -> bool:
    """Return whether the step uses no parameter that the server lacks, or expects a refusal anyway."""
    if step.expect == "refusal":
        return True
    lacking = {name: item for name, item in contract.parameters.items() if item.lacking}
    used = step.body or {}
    return not (step.stop_from and "stop" in lacking) and all(
        value in lacking[name].neutral for name, value in used.items() if name in lacking
    )


def describe_stray(stray: Iterable[str], known: Iterable[str]) -> str:
    """Return the unknown keys, to append to an error; empty without any."""
    names = sorted(stray)
    return f"; unknown key {', '.join(names)}{suggest(names[0], known)}" if names else ""


def list_steps(row: dict[str, Any], contract: Contract | None, place: str) -> Iterator[Step]:
    """Yield the steps of a scenario; with rounds, first those that are sent once, then the others round by round.

    Without a contract these are all steps as they are written.
    """
    if contract is None:
        yield from _all_steps(row, row["steps"], None, place)
        return
    media = MediaParts(contract)
    needed = [
        step
        for step in row["steps"]
        if set(step.get("needs", ())) <= known_parameters(contract) and media.supports(step.get("messages"))
    ]
    rows = [step for step in needed if _is_in_range(step, contract) and _is_demanded(step, contract)]
    kept: set[str] = set()
    for step in _all_steps(row, rows, contract, place):
        has_source = step.source is None or step.source in kept
        if has_source and _is_supported(step, contract):
            kept.add(step.name)
            yield step


def _all_steps(
    row: dict[str, Any], rows: list[dict[str, Any]], contract: Contract | None, place: str
) -> Iterator[Step]:
    if not row.get("rounds"):
        yield from (copy for step in rows for copy in _copies(step, _step(step, contract, place), contract))
        yield from (copy for step in rows for copy in _crowd(step, _step(step, contract, place)))
        return
    for step in rows:
        if step.get("once"):
            yield replace(_step(step, contract, place), part=step["name"])
    for number in range(1, row["rounds"] + 1):
        for step in rows:
            if not step.get("once"):
                varied = {name: values[(number - 1) % len(values)] for name, values in step.get("vary", {}).items()}
                ask = {"ask": varied.pop("ask")} if "ask" in varied else {}
                made = _step({**step, **ask, "body": {**step["body"], **varied}}, contract, place)
                made = replace(made, name=f"{step['name']}.{number}", part=step["name"], round=number)
                yield made
                if step.get("also_streamed"):
                    part = f"{step['name']}-streamed"
                    yield replace(_stream(made, contract), name=f"{part}.{number}", part=part)


def _copies(row: dict[str, Any], step: Step, contract: Contract | None) -> Iterator[Step]:
    """Yield the step, and the same streamed if it is sent in both forms; or its copies, which are parts of its name."""
    if "copies" not in row:
        yield step
    if row.get("also_streamed"):
        yield replace(_stream(step, contract), name=f"{step.name}-streamed")
    for number in range(1, row.get("copies", 0) + 1):
        yield replace(step, name=f"{step.name}-{number}", part=step.name)


def _stream(step: Step, contract: Contract | None) -> Step:
    """Return the step as a stream, with usage if the dialect can request it."""
    counted = contract is None or "stream_options" in known_parameters(contract)
    options = {"stream_options": {"include_usage": True}} if counted else {}
    return replace(step, body={**(step.body or {}), "stream": True, **options}, streams_as=step.name)


def _crowd(row: dict[str, Any], step: Step) -> Iterator[Step]:
    """Yield the copies of the step that are sent at the same time as those of others."""
    for number in range(1, row.get("crowd", 0) + 1):
        yield replace(step, name=f"{step.name}-crowd-{number}", part=step.name, crowd=True)


def _is_in_range(row: dict[str, Any], contract: Contract) -> bool:
    """Return whether no varied value is above the maximum of its parameter."""
    if not row.get("vary"):
        return True
    limited = contract.with_server_limits().parameters
    greatest = {name: item.schema.get("maximum", math.inf) for name, item in limited.items()}
    varied = {name: values for name, values in row.get("vary", {}).items() if name in greatest}
    return all(value <= greatest[name] for name, values in varied.items() for value in values if type(value) is int)


def _is_demanded(row: dict[str, Any], contract: Contract) -> bool:
    """Return whether the dialect has the requirement that a step is sent for, if there is one."""
    return row.get("only_for") is None or row["only_for"] in contract.requirements


def known_parameters(contract: Contract) -> set[str]:
    """Return the parameters of the contract that the server supports."""
    return {name for name, parameter in contract.parameters.items() if not parameter.lacking}


def _is_nullable(name: str, contract: Contract) -> bool:
    """Return whether the contract allows null for the parameter."""
    return contract.parameters[name].null.expect == "accept"


def _firm_defaults(names: list[str], contract: Contract) -> dict[str, Any]:
    """Return the defaults of the parameters, without those that the configuration of the server or model may change."""
    known = {name: contract.parameters[name] for name in names if name in known_parameters(contract)}
    return {
        name: item.default
        for name, item in known.items()
        if item.default is not ABSENT and item.default is not None and item.default_note is None
    }


def _step(row: dict[str, Any], contract: Contract | None, place: str) -> Step:
    stray = set(row) - STEP_KEYS
    if stray:
        raise HarnessError(f"{place}: invalid step{describe_stray(stray, STEP_KEYS)}")
    body = row.get("body")
    if not row.keys().isdisjoint(("ask", "pieces", "messages")):
        given = row.get("messages")
        messages = MediaParts(contract).insert(given) if given else [{"role": "user", "content": message_text(row)}]
        body = {"messages": messages, **(body or {})}
    if body is not None:
        body |= {name: first_tokens(number, row.get("bias")) for name, number in row.get("below", {}).items()}
    complete = body or {}
    if body is not None and contract is not None and row.get("prune"):
        body = {
            name: value
            for name, value in body.items()
            if name in known_parameters(contract) or (name, value) == STREAMED
        }
        body = {name: value for name, value in body.items() if value is not None or _is_nullable(name, contract)}
    if body is not None and row.get("after_turns"):
        body["messages"] = write_turns(message_text(row), contract, calls="tools" in body)
    if contract is not None and "defaults" in row:
        body = {**(body or {}), **_firm_defaults(row["defaults"], contract)}
    if row.get("omit_model"):
        body = {"model": OMITTED, **(body or {})}
    stop_from = row.get("stop_from")
    return Step(
        name=row.get("name", "main"),
        method=row.get("method", "POST"),
        path=row.get("path"),
        body=body,
        raw=raw_body(row),
        headers={**row.get("headers", {}), **cookie_field(row.get("cookie_bytes", 0))},
        credentials=row.get("credentials", "given"),
        expect=row.get("expect", "answer"),
        stop_from=StopFrom(**stop_from) if stop_from else None,
        stop_after_events=row.get("stop_after_events"),
        form=row.get("form", "plain"),
        pruned=frozenset(complete) - frozenset(body or ()),
        only_for=row.get("only_for"),
        continues=row.get("continues"),
        thorough=row.get("thorough", False),
    )
