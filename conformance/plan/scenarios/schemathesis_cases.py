"""Draw scenarios from the cases that schemathesis generates for the dialect's description.

The cases complement those of `boundaries` and are written by other authors. Coverage cases are the same in every run;
fuzz cases depend on a seed. Each is one request to the chat endpoint. It asks for few tokens and for the model under
test, unless that would change what the case tests. A case that our own validator judges differently is left out,
because then the description is wrong and not the server.
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
"""The number of tokens that a drawn request asks for."""
MANY: Final = 16
"""Cases with more tokens are left out; a written scenario covers them with one request."""
LIMITS: Final = ("max_tokens", "max_completion_tokens")
MOST_BYTES: Final = 64 * 1024
"""Largest drawn body; the description does not define size limits."""
ROLES: Final = ("system", "user", "assistant")
WEAKEST: Final = (Keyword.MUST, Keyword.SHOULD, Keyword.MAY)


@dataclass(frozen=True, slots=True)
class Draw:
    """How many cases to draw: `coverage` deterministic ones, and `fuzz` random ones by `seed`."""

    coverage: int = 0
    fuzz: int = 0
    seed: int = 0


NOTHING: Final = Draw()


def draw(contract: Contract, wanted: Draw) -> tuple[Scenario, ...]:
    """Return the drawn scenarios for a contract that is narrowed to the declared capabilities."""
    if not wanted.coverage and not wanted.fuzz:
        return ()
    try:
        import schemathesis  # takes a quarter of a second, so only if it is needed
    except ModuleNotFoundError as error:
        reason = f"{error.name} is not installed: install chatproof with its extra [fuzz]"
        raise UsageError(f"--coverage and --fuzz need schemathesis, but {reason}") from error

    validators = Validator(contract), Validator(contract.with_server_limits())
    schema = schemathesis.openapi.from_dict(describe(contract))
    operation = schema[contract.path]["POST"]
    scenarios: dict[str, Scenario] = {}
    if wanted.coverage:
        made = (_scenario(case, contract, *validators) for case in _coverage(schema, operation))
        unique = {scenario.id: scenario for scenario in made if scenario}
        scenarios |= {scenario.id: scenario for scenario in _spread(unique.values(), wanted.coverage)}
    if wanted.fuzz:
        drawn = (_scenario(case, contract, *validators) for case in draw_random_cases(contract, wanted))
        different = {scenario.steps[0].payload("m"): scenario for scenario in drawn if scenario}
        for number, scenario in enumerate(list(different.values())[: wanted.fuzz], 1):
            name = f"fuzz-{wanted.seed}-{number:04}"
            scenarios[name] = replace(scenario, id=name)
    return tuple(scenarios.values())


def _without_rules(description: dict[str, Any]) -> dict[str, Any]:
    """Return the description without rules across fields: with many of them schemathesis takes four times as long.

    Our validator still leaves out the cases that violate such a rule.
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


def draw_coverage_bodies(contract: Contract) -> list[Any]:
    """Return the bodies of all cases of the coverage phase, valid and invalid ones; the same in every run."""
    import schemathesis

    schema = schemathesis.openapi.from_dict(describe(contract))
    return [case.body for case in _coverage(schema, schema[contract.path]["POST"])]


def draw_random_cases(contract: Contract, wanted: Draw) -> list[Any]:
    """Return random cases of schemathesis by seed, `wanted.fuzz` valid and as many invalid ones in turn.

    Hypothesis also uses constants from the loaded modules, so a seed yields the same cases only for the same version of
    chatproof and the same command.
    """
    import hypothesis
    import schemathesis
    from schemathesis.generation import GenerationMode

    loose = schemathesis.openapi.from_dict(_without_rules(describe(contract)))
    operation = loose[contract.path]["POST"]
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
        collect: Any = hypothesis.given(strategy)(_collect_into(drawn))  # type: ignore[no-untyped-call]
        run: Any = hypothesis.seed(wanted.seed)(settings(collect))
        run()
    return [case for pair in zip(*cases.values(), strict=False) for case in pair]


def _collect_into(drawn: list[Any]) -> Callable[[Any], None]:
    def collect(case: Any) -> None:
        drawn.append(case)

    return collect


def _spread(scenarios: Iterable[Scenario], most: int) -> list[Scenario]:
    """Return at most `most` scenarios, taking one of each requirement in turn; the same ones in every run."""
    groups: dict[tuple[str, str], list[Scenario]] = {}
    for scenario in scenarios:
        subject = scenario.subject
        if subject is not None:
            groups.setdefault((subject.expect, subject.requirement), []).append(scenario)
    chosen: list[Scenario] = []
    depth = 0
    while len(chosen) < most and any(len(group) > depth for group in groups.values()):
        chosen += [group[depth] for group in groups.values() if len(group) > depth]
        depth += 1
    return chosen[:most]


def _scenario(case: Any, contract: Contract, validator: Validator, limited: Validator) -> Scenario | None:
    """Return a case as a scenario; None if it cannot be sent, costs too much, or our validator disagrees with it."""
    negative = case.meta.generation.mode.is_negative
    place = getattr(case.meta.phase.data, "location", None) or ""
    name = _parameter(place, getattr(case.meta.phase.data, "description", "") or "", contract)
    body = case.body
    if isinstance(body, dict):
        small = _limit_tokens(body, name)
        if small is None:
            return None
        body = small
        if name != "model" and "model" in body:
            body = {key: value for key, value in body.items() if key != "model"}
        elif "model" not in body:
            body = {"model": OMITTED, **body}
    judged = {"model": "m", **body} if isinstance(body, dict) else body
    judged = {key: value for key, value in judged.items() if value is not OMITTED} if isinstance(judged, dict) else body
    try:
        raw = json.dumps(judged, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError):
        return None
    if negative and not name:
        return None  # concerns the whole body, which written scenarios test, and not one parameter
    if len(raw) > MOST_BYTES or bool(validator.request_problems(judged)) != negative:
        return None
    if not negative and limited.request_problems(judged):
        return None  # the document allows it, and our own server does not
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
    """Return the parameter that a case tests: by the path of the violated keyword, else by its description."""
    parts = place.split("/")
    named = [parts[at + 1] for at, part in enumerate(parts[:-1]) if part in ("properties", "dependentSchemas")]
    quoted = re.findall(r"'(\w+)'|property: (\w+)$", words)
    quoted = [first or second for first, second in quoted]
    return next((name for name in (*named[:1], *quoted[:1]) if name in contract.parameters), "")


def _limit_tokens(body: dict[str, Any], tested: str) -> dict[str, Any] | None:
    """Return the body with a small token limit; None if the case tests a large one."""
    limited = dict(body)
    if tested in LIMITS:
        asked = limited.get(tested)
        return None if (type(asked) is int and asked > MANY) or asked is None else limited
    least = limited.get("min_tokens")
    few = max(FEW, least) if type(least) is int else FEW
    if few > MANY:
        return None
    given = [name for name in LIMITS if name in limited] or ["max_tokens"]
    return {**limited, **dict.fromkeys(given, few)}


def _binding(contract: Contract, name: str, rule: str, body: Any, *, negative: bool) -> Keyword:
    """Return how binding the expectation is: at most as binding as the contract's statements on the parameter."""
    fields = body if isinstance(body, dict) else {}
    known = [contract.parameters[key] for key in fields if key in contract.parameters]
    if negative:
        parameter = contract.parameters.get(name)
        if parameter is None:
            return Keyword.SHOULD
        keywords = [parameter.level(rule), *(item.keyword for item in contract.rules.values() if item.trigger == name)]
        keywords += [probe.keyword for probe in parameter.probes if probe.expect == "reject"]
        keywords += [parameter.null.keyword] if fields.get(name, "") is None else []
        if name in fields:
            keywords = [parameter.limit_level(keyword, fields[name], "reject") for keyword in keywords]
    elif name == "model" or not _is_plain(fields.get("messages")):
        return Keyword.MAY  # a model that is not served, or a conversation that the chat template may not support
    else:
        keywords = [_acceptance_keyword(parameter, fields[parameter.name]) for parameter in known]
    return max(keywords, key=WEAKEST.index, default=Keyword.MUST)


def _is_plain(messages: Any) -> bool:
    """Return whether every chat model accepts the conversation: strings, the usual roles, the user last."""
    if not isinstance(messages, list) or not messages:
        return False
    for message in messages:
        if not isinstance(message, dict) or set(message) != {"role", "content"} or message["role"] not in ROLES:
            return False
        if not isinstance(message["content"], str) or not message["content"].strip():
            return False
    return bool(messages[-1]["role"] == "user")


def _acceptance_keyword(parameter: Parameter, value: Any) -> Keyword:
    if value is None:
        return parameter.null.keyword
    same = [probe.keyword for probe in parameter.probes if probe.value == value and probe.expect == "accept"]
    level = max(same, key=WEAKEST.index, default=parameter.acceptance("type"))
    return parameter.limit_level(level, value, "accept")


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:24] or "valid"


def require_fuzz_for_seed(fuzz: int, seed: int | None) -> None:
    """Raise UsageError for a seed without fuzz cases."""
    if seed is not None and not fuzz:
        raise UsageError("--seed requires --fuzz N")
