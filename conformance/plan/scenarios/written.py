"""Read the written scenarios: YAML files in this folder, each a list, and the scenarios of a dialect's own file.

    - id: stop-text
      summary: a stop string that the answer is known to contain
      needs: {parameters: [stop], capabilities: []}
      together: false
      steps:
        - {name: baseline, ask: Count from 1 to 9, body: {max_tokens: 32, temperature: 0}}
        - name: stopped
          ask: Count from 1 to 9
          body: {max_tokens: 32, temperature: 0}
          stop_from: {step: baseline, length: 4}

In a step, `ask` is short for one user message. `times: N` repeats it N times, and `pieces` lists the texts that it
consists of instead, each alone or in a list with the number of times that it is repeated. In `messages`, a part
`{media: NAME}` stands for a file of `conformance/plan/media`, in the form of the contract. `below: {name: N}` sets a
field to the list of the numbers from 0 to N - 1, or with `bias: B` to an object with B for each of them. `raw` (a
string) or `raw_hex` replaces the body. In a raw body `{model}` stands for the model, `{model-cut}` for its name without
the last character, `{model-swapped}` for its name in the other case, `deep: N` appends N nested lists, and `blanks: N`
prepends N spaces. `continues: STEP` puts the messages of an earlier step and the message of its answer in front of
those of the step; of these, a message of the role `tool` without an id is sent for each call. `form` changes how the
body is serialized. `cookie_bytes: N` adds a cookie of N bytes.

Some keys adapt a scenario to the dialect. `prune: true` leaves out fields that the contract does not have or the server
does not support, and nulls that it does not accept, but never `stream: true`. `defaults` lists parameters that are sent
with the default of the contract, unless it depends on the configuration. A step whose `needs`, a list of parameters,
are not all supported is left out, and so is a step that uses a parameter which the server lacks, unless it expects a
refusal. A step with `only_for: CHECK` is left out where the dialect does not have that requirement. A step with
`thorough: true` is only sent at that depth, since others show nearly the same. `fitting.py` holds the remaining steps
against the contract.

With `rounds: 8` the steps are sent up to eight times, until every trial is decided. Steps with `once: true` are sent
once, before the rounds; `vary` lists the values of fields, or of `ask`, one for each round. A step that varies beyond
the maximum of a parameter is left out. The steps of a scenario with `alone: true` are sent one after another, and no
other request is sent meanwhile: a server that keeps state of one request may use it in the next.

`copies: N` sends a step N times, as parts of that name: `-1`, `-2` and so on are added to it. `crowd: N` sends N more,
all at the same time as those of the other steps, after everything else (`-crowd-1` and so on). The rounds of a scenario
with `spread: true` are spread over the run.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml

from conformance.errors import HarnessError
from conformance.plan.media import MediaParts
from conformance.plan.scenarios.fitting import NEUTRAL, Fitting
from conformance.scenario import OMITTED, Scenario, Step, StopFrom
from openapi.contract.contract import ABSENT
from openapi.contract.tree.companion_files import FILE
from openapi.contract.tree.scenario_keys import SCENARIO_KEYS, STEP_KEYS
from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openapi.contract.contract import Contract

Rows: TypeAlias = tuple[tuple[str, dict[str, Any]], ...]
"""Scenarios as data, each with its file."""
STREAMED = ("stream", True)  # never left out, because the answer would have another form


def read_scenarios(contract: Contract) -> tuple[Scenario, ...]:
    """Return the written scenarios, without steps that the contract does not allow."""
    rows = _rows(contract)
    scenarios = (_scenario(row, contract, file) for file, row in rows)
    fitting = Fitting(contract, leave_out_defaults=_about_defaults(rows))
    return tuple(fitting.fit(scenario for scenario in scenarios if _fits(scenario, contract)))


def _about_defaults(rows: Rows) -> frozenset[str]:
    """Return the ids of the scenarios that compare a default with leaving it out, or with null."""

    def compares(step: dict[str, Any]) -> bool:
        return "defaults" in step or any(
            (step.get("body") or {}).get(name, value) is None for name, value in NEUTRAL.items()
        )

    return frozenset(row["id"] for _, row in rows if any(map(compares, row["steps"])))


def list_unfit(contract: Contract) -> Iterator[tuple[Scenario, str]]:
    """Yield each scenario that the contract does not allow as it is written, with the reason."""
    fitting = Fitting(contract)
    for file, row in _rows(contract):
        written = _scenario(row, None, file)
        candidates = [item for item in [_scenario(row, contract, file)] if _fits(item, contract)]
        kept = {step.name: step for scenario in fitting.fit(candidates) for step in scenario.steps}
        if reason := fitting.reasons.get(written.id) or _find_difference(written, kept, contract):
            yield written, f"scenario {written.id}, {reason}"


def _find_difference(written: Scenario, kept: Mapping[str, Step], contract: Contract) -> str | None:
    """Return which field of a scenario is not sent; None if all of them are."""
    for step in written.steps:
        sent = kept[step.name].body if step.name in kept else None
        for name, value in (step.body or {}).items():
            if name not in (sent or {}):
                what = "null for" if value is None and name in contract.parameters else "parameter"
                return f"step {step.name}: the contract has no {what} {name}"
    lacking = sorted(written.parameters - _known(contract))
    return f"which needs the parameter {lacking[0]}" if lacking else None


def _is_supported(step: Step, contract: Contract) -> bool:
    """Return whether the step uses no parameter that the server lacks, or expects a refusal anyway."""
    if step.expect == "refusal":
        return True
    lacking = {name: item for name, item in contract.parameters.items() if item.lacking}
    used = step.body or {}
    return not (step.stop_from and "stop" in lacking) and all(
        value in lacking[name].neutral for name, value in used.items() if name in lacking
    )


def check_scenarios(contract: Contract) -> None:
    """Raise HarnessError, with the file and the id, for an invalid scenario of the dialect's own files."""
    built_in = {row["id"] for _, row in _built_in_rows()}
    seen: set[str] = set()
    for file, row in _own_rows(contract):
        place = f"{file}: scenarios/{row['id']}"
        if row["id"] in built_in or row["id"] in seen:
            owner = "a built-in scenario" if row["id"] in built_in else "another scenario"
            raise HarnessError(f"{place}: duplicate id: {owner} has it, choose another one")
        seen.add(row["id"])
        try:
            _scenario(row, None, file)
        except HarnessError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise HarnessError(f"{place}: invalid scenario: {type(error).__name__}: {error}") from error


def _rows(contract: Contract) -> Rows:
    """Return every scenario as data, with the name of its file: the built-in ones, then those of the dialect."""
    return (*_built_in_rows(), *_own_rows(contract))


def _own_rows(contract: Contract) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in contract.scenarios:
        yield row[FILE], {key: value for key, value in row.items() if key != FILE}


@cache
def _built_in_rows() -> Rows:
    """Return every scenario as data, with the name of its file. Cached: reading the YAML takes a tenth of a second."""
    entries = sorted(files("conformance.plan.scenarios").iterdir(), key=lambda item: item.name)
    texts = ((entry.name, entry.read_text(encoding="utf-8")) for entry in entries if entry.name.endswith(".yaml"))
    return tuple((f"scenarios/{name}", row) for name, text in texts for row in yaml.load(text, Loader=yaml.CSafeLoader))


def _fits(scenario: Scenario, contract: Contract) -> bool:
    return scenario.parameters <= _known(contract) and scenario.capabilities <= set(contract.capabilities)


def _scenario(row: dict[str, Any], contract: Contract | None, file: str) -> Scenario:
    stray = set(row) - SCENARIO_KEYS
    if stray or not all(isinstance(row.get(name), str) for name in ("id", "summary")) or not row.get("steps"):
        place = f"{file}: scenarios/{row.get('id', row)}"
        raise HarnessError(
            f"{place}: invalid scenario: expected id and summary (both strings) and steps"
            f"{_describe_stray(stray, SCENARIO_KEYS)}"
        )
    needs = row.get("needs", {})
    return Scenario(
        id=row["id"],
        summary=row["summary"],
        steps=tuple(_steps(row, contract, f"{file}: scenarios/{row['id']}")),
        rounds=row.get("rounds", 0),
        together=row.get("together", False),
        one_connection=row.get("one_connection", False),
        alone=row.get("alone", False),
        spread=row.get("spread", False),
        capabilities=frozenset(needs.get("capabilities", ())),
        parameters=frozenset(needs.get("parameters", ())),
    )


def _describe_stray(stray: Iterable[str], known: Iterable[str]) -> str:
    """Return the unknown keys, to append to an error; empty without any."""
    names = sorted(stray)
    return f"; unknown key {', '.join(names)}{suggest(names[0], known)}" if names else ""


def _steps(row: dict[str, Any], contract: Contract | None, place: str) -> Iterator[Step]:
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
        if set(step.get("needs", ())) <= _known(contract) and media.supports(step.get("messages"))
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
        yield from (copy for step in rows for copy in _copies(step, _step(step, contract, place)))
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
                yield replace(made, name=f"{step['name']}.{number}", part=step["name"], round=number)


def _copies(row: dict[str, Any], step: Step) -> Iterator[Step]:
    """Yield the step, or its copies, which are parts of its name."""
    if "copies" not in row:
        yield step
    for number in range(1, row.get("copies", 0) + 1):
        yield replace(step, name=f"{step.name}-{number}", part=step.name)


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


def _known(contract: Contract) -> set[str]:
    """Return the parameters of the contract that the server supports."""
    return {name for name, parameter in contract.parameters.items() if not parameter.lacking}


def _is_nullable(name: str, contract: Contract) -> bool:
    """Return whether the contract allows null for the parameter."""
    return contract.parameters[name].null.expect == "accept"


def _firm_defaults(names: list[str], contract: Contract) -> dict[str, Any]:
    """Return the defaults of the parameters, without those that the configuration of the server or model may change."""
    known = {name: contract.parameters[name] for name in names if name in _known(contract)}
    return {
        name: item.default
        for name, item in known.items()
        if item.default is not ABSENT and item.default is not None and item.default_note is None
    }


def _text_of(row: dict[str, Any]) -> str:
    """Return the text of a step's only message."""
    if "pieces" not in row:
        return str(row["ask"] * row.get("times", 1))
    return "".join(piece if isinstance(piece, str) else piece[0] * piece[1] for piece in row["pieces"])


def _step(row: dict[str, Any], contract: Contract | None, place: str) -> Step:
    stray = set(row) - STEP_KEYS
    if stray:
        raise HarnessError(f"{place}: invalid step{_describe_stray(stray, STEP_KEYS)}")
    body = row.get("body")
    if not row.keys().isdisjoint(("ask", "pieces", "messages")):
        given = row.get("messages")
        messages = MediaParts(contract).insert(given) if given else [{"role": "user", "content": _text_of(row)}]
        body = {"messages": messages, **(body or {})}
    if body is not None:
        body |= {name: _first_tokens(number, row.get("bias")) for name, number in row.get("below", {}).items()}
    complete = body or {}
    if body is not None and contract is not None and row.get("prune"):
        body = {name: value for name, value in body.items() if name in _known(contract) or (name, value) == STREAMED}
        body = {name: value for name, value in body.items() if value is not None or _is_nullable(name, contract)}
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
        raw=_raw(row),
        headers={**row.get("headers", {}), **_cookie(row.get("cookie_bytes", 0))},
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


def _cookie(size: int) -> dict[str, str]:
    """Return a header field with a cookie of a number of bytes; nothing for 0."""
    return {"Cookie": f"session={'0123456789abcdef' * (size // 16)}"} if size else {}


def _first_tokens(number: int, bias: float | None) -> list[int] | dict[str, float]:
    """Return the token ids below a number, or the same bias for each of them."""
    return list(range(number)) if bias is None else {str(token): bias for token in range(number)}


def _raw(row: dict[str, Any]) -> bytes | None:
    """Return the raw body of a step; None if it has none."""
    if "raw_hex" in row:
        return bytes.fromhex(row["raw_hex"])
    if "raw" not in row:
        return None
    deep = row.get("deep", 0)
    lists = "[" * deep + "]" * deep + "}" if deep else ""
    return f"{' ' * row.get('blanks', 0)}{row['raw']}{lists}".encode()
