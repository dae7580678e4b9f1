"""Drawn scenarios: the cases that schemathesis makes of the dialect's description, sent by our client.

A second opinion on what to send, by another author than `boundaries`. Coverage cases are the same in every run; fuzzed
ones follow from a seed. Each is one request for the chat endpoint. Where that does not change what a case is about, it
asks for few tokens and for the model under test; a case that our own validator judges otherwise is left out, since
the description would then be at fault and not the server.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from conformance.errors import UsageError
from conformance.scenario import OMITTED, Scenario, Step, Subject
from openapi.contract.contract import Keyword
from openapi.description.description import REQUEST, describe
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from openapi.contract.contract import Contract, Parameter

FEW: Final = 2
"""Tokens that a drawn request asks for."""
MANY: Final = 16
"""More tokens than these are left to the written plan, which asks for them once."""
LIMITS: Final = ("max_tokens", "max_completion_tokens")
MOST_BYTES: Final = 64 * 1024
"""Of a drawn body; size limits are no matter of the description."""
ROLES: Final = ("system", "user", "assistant")
WEAKEST: Final = (Keyword.MUST, Keyword.SHOULD, Keyword.MAY)


@dataclass(frozen=True, slots=True)
class Draw:
    """How much to draw: `coverage` cases of the deterministic corpus, `fuzz` cases by `seed`."""

    coverage: int = 0
    fuzz: int = 0
    seed: int = 0


NOTHING: Final = Draw()


def draw(contract: Contract, wanted: Draw) -> tuple[Scenario, ...]:
    """The scenarios of a contract that is narrowed to what the server declares."""
    if not wanted.coverage and not wanted.fuzz:
        return ()
    import schemathesis  # takes a quarter of a second, so only where it is asked for

    validator = Validator(contract)
    schema = schemathesis.openapi.from_dict(describe(contract))
    operation = schema[contract.path]["POST"]
    found: dict[str, Scenario] = {}
    if wanted.coverage:
        kept = [each for case in _coverage(schema, operation) if (each := _scenario(case, contract, validator))]
        unique = {each.id: each for each in kept}
        found |= {each.id: each for each in _spread(unique.values(), wanted.coverage)}
    if wanted.fuzz:
        loose = schemathesis.openapi.from_dict(_without_rules(describe(contract)))
        cases = _fuzzed(loose[contract.path]["POST"], wanted)
        drawn = (_scenario(case, contract, validator) for case in cases)
        different = {each.steps[0].payload("m"): each for each in drawn if each}
        for number, each in enumerate(list(different.values())[: wanted.fuzz], 1):
            name = f"fuzz-{wanted.seed}-{number:04}"
            found[name] = replace(each, id=name)
    return tuple(found.values())


def _without_rules(description: dict[str, Any]) -> dict[str, Any]:
    """The description without what it says across members: where that is much, schemathesis draws four times as long.

    What breaks such a rule is left out by our validator all the same.
    """
    request = description["components"]["schemas"][REQUEST]
    for name in ("allOf", "anyOf", "oneOf", "not", "dependentSchemas", "dependentRequired"):
        request.pop(name, None)
    return description


def _coverage(schema: Any, operation: Any) -> Iterator[Any]:
    from schemathesis.generation import GenerationMode

    modes = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
    config = schema.config.generation
    for case in schema.iter_coverage_cases(operation, generation_modes=modes, generation_config=config):
        if case.method == "POST" and case.media_type == "application/json":
            yield case


def _fuzzed(operation: Any, wanted: Draw) -> list[Any]:
    """Cases by seed, valid and invalid in turn; some more than are wanted, for some are left out.

    Hypothesis also draws constants of the modules that are loaded, so a seed gives the same cases for the same version
    of chatproof and the same command.
    """
    import hypothesis
    from schemathesis.generation import GenerationMode

    settings = hypothesis.settings(
        max_examples=wanted.fuzz,
        phases=[hypothesis.Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    cases: dict[str, list[Any]] = {}
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        drawn = cases.setdefault(mode.name, [])
        strategy = operation.as_strategy(generation_mode=mode)
        collect: Any = hypothesis.given(strategy)(_keeper(drawn))  # type: ignore[no-untyped-call]
        run: Any = hypothesis.seed(wanted.seed)(settings(collect))
        run()
    return [case for pair in zip(*cases.values(), strict=False) for case in pair]


def _keeper(drawn: list[Any]) -> Callable[[Any], None]:
    def keep(case: Any) -> None:
        drawn.append(case)

    return keep


def _spread(scenarios: Iterable[Scenario], most: int) -> list[Scenario]:
    """So many of them, of each parameter and rule in turn, the same in every run."""
    groups: dict[tuple[str, str], list[Scenario]] = {}
    for scenario in scenarios:
        subject = scenario.subject
        if subject is not None:
            groups.setdefault((subject.expect, subject.requirement), []).append(scenario)
    found: list[Scenario] = []
    depth = 0
    while len(found) < most and any(len(group) > depth for group in groups.values()):
        found += [group[depth] for group in groups.values() if len(group) > depth]
        depth += 1
    return found[:most]


def _scenario(case: Any, contract: Contract, validator: Validator) -> Scenario | None:
    """One case as a scenario; None where it cannot be sent, costs too much, or is not what it is taken for."""
    negative = case.meta.generation.mode.is_negative
    place = getattr(case.meta.phase.data, "location", None) or ""
    name = _parameter(place, getattr(case.meta.phase.data, "description", "") or "", contract)
    body = case.body
    if isinstance(body, dict):
        small = _small(body, name)
        if small is None:
            return None
        body = small
        if name != "model" and "model" in body:
            body = {member: value for member, value in body.items() if member != "model"}
        elif "model" not in body:
            body = {"model": OMITTED, **body}
    judged = {"model": "m", **body} if isinstance(body, dict) else body
    judged = {key: value for key, value in judged.items() if value is not OMITTED} if isinstance(judged, dict) else body
    try:
        raw = json.dumps(judged, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError):
        return None
    if negative and not name:
        return None  # about the body as a whole: written scenarios have that, and no parameter could be named
    if len(raw) > MOST_BYTES or bool(validator.request_problems(judged)) != negative:
        return None
    return _named(case, contract, name, place, body, raw)


def _named(case: Any, contract: Contract, name: str, place: str, body: Any, raw: bytes) -> Scenario:
    negative = case.meta.generation.mode.is_negative
    rule = place.rsplit("/", 1)[-1]
    keyword = _binding(contract, name, rule, body, negative=negative)
    parameter = contract.parameters.get(name)
    words = getattr(case.meta.phase.data, "description", "") or "drawn"
    kind = "invalid-refused" if negative else "valid-accepted"
    subject = Subject(
        requirement=f"drawn.{kind}.{name or 'body'}{'' if keyword is Keyword.MUST else f'-{keyword.lower()}'}",
        check=f"drawn.{kind}",
        parameter=name,
        keyword=keyword,
        source=parameter.source if parameter else f"{contract.document.id}#request",
        summary=f"{words[:120]}: {'refused' if negative else 'accepted'}",
        value=body,
        expect="reject" if negative else "accept",
        interpretation=parameter.interpretation if parameter else None,
    )
    expect = "either" if keyword is Keyword.MAY else "refusal" if negative else "answer"
    step = Step(body=body, expect=expect) if isinstance(body, dict) else Step(raw=raw, expect=expect)  # type: ignore[arg-type]
    digest = hashlib.sha256(raw + place.encode()).hexdigest()[:6]
    return Scenario(f"coverage-{name or 'body'}-{_slug(rule)}-{digest}", subject.summary, (step,), subject, case=case)


def _parameter(place: str, words: str, contract: Contract) -> str:
    """The parameter that a case is about: by the place of the broken keyword, else by the name in its description."""
    parts = place.split("/")
    named = [parts[at + 1] for at, part in enumerate(parts[:-1]) if part in ("properties", "dependentSchemas")]
    quoted = re.findall(r"'(\w+)'|property: (\w+)$", words)
    quoted = [first or second for first, second in quoted]
    return next((each for each in (*named[:1], *quoted[:1]) if each in contract.parameters), "")


def _small(body: dict[str, Any], about: str) -> dict[str, Any] | None:
    """The body with few tokens to answer with; None where that is what it is about and they are many."""
    found = dict(body)
    if about in LIMITS:
        asked = found.get(about)
        return None if (type(asked) is int and asked > MANY) or asked is None else found
    least = found.get("min_tokens")
    few = max(FEW, least) if type(least) is int else FEW
    if few > MANY:
        return None
    given = [name for name in LIMITS if name in found] or ["max_tokens"]
    return {**found, **dict.fromkeys(given, few)}


def _binding(contract: Contract, name: str, rule: str, body: Any, *, negative: bool) -> Keyword:
    """How sure the contract is: never surer than its interpretations of the parameter and of each null."""
    members = body if isinstance(body, dict) else {}
    known = [contract.parameters[member] for member in members if member in contract.parameters]
    if negative:
        parameter = contract.parameters.get(name)
        if parameter is None:
            return Keyword.SHOULD
        found = [parameter.level(rule), *(rules.keyword for rules in contract.rules.values() if rules.trigger == name)]
        found += [probe.keyword for probe in parameter.probes if probe.expect == "reject"]
        found += [parameter.null.keyword] if members.get(name, "") is None else []
    elif name == "model" or not _is_plain(members.get("messages")):
        return Keyword.MAY  # a name that is not served, a conversation that the model's chat template may not take
    else:
        found = [_accepting(each, members[each.name]) for each in known]
    return max(found, key=WEAKEST.index, default=Keyword.MUST)


def _is_plain(messages: Any) -> bool:
    """A conversation that every chat model takes: texts of the usual roles, the user last."""
    if not isinstance(messages, list) or not messages:
        return False
    for message in messages:
        if not isinstance(message, dict) or set(message) != {"role", "content"} or message["role"] not in ROLES:
            return False
        if not isinstance(message["content"], str) or not message["content"].strip():
            return False
    return bool(messages[-1]["role"] == "user")


def _accepting(parameter: Parameter, value: Any) -> Keyword:
    if value is None:
        return parameter.null.keyword
    same = [probe.keyword for probe in parameter.probes if probe.value == value and probe.expect == "accept"]
    return max(same, key=WEAKEST.index, default=Keyword.MUST)


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:24] or "valid"


def require_fuzz_for_seed(fuzz: int, seed: int | None) -> None:
    """Raises UsageError for a seed without anything to draw."""
    if seed is not None and not fuzz:
        raise UsageError("--seed is for --fuzz N: without it nothing is drawn by chance")
