"""The workload: what is sent. Bodies are made from a scenario and a seed, and fit the dialect's contract. Pure."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

from loadtests.errors import UsageError
from loadtests.shape import lengths, prompts
from loadtests.shape.lengths import Lengths
from loadtests.shape.prompts import CANARY, Prompts
from openapi.contract.contract import ContractError
from openapi.contract.resolution import parsed
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from pathlib import Path

    from openapi.contract.contract import Contract

WORDS: Final = (
    *("apple", "river", "stone", "cloud", "green", "table", "window", "music", "garden", "silver", "morning"),
    *("bridge", "paper", "coffee", "mountain", "letter", "winter", "yellow", "market", "bottle", "forest"),
    *("engine", "island", "pocket", "summer", "orange", "carpet", "basket", "candle", "harbor"),
)
TOOL: Final[dict[str, Any]] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Report the weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


AUTO, REQUIRED = "auto", "required"
ONE: Final = Lengths("choice", (1.0,))
SHORT: Final = Lengths("uniform", (10, 40))
ANSWER: Final = Lengths("choice", (64.0,))
PREFIX: Final = Lengths("choice", (100.0,))


GO_WITH: Final = {"tool_choice": "tool_share", "prefixes": "prefix_share", "prefix_words": "prefix_share"}
"""Names of a scenario that do nothing without another."""
MADE: Final = ("prompt_words", "turns", "prefix_share")
"""What made prompts are like: those of a file are as they stand."""
NONE: Final = Prompts()


@dataclass(frozen=True, slots=True)
class Scenario:
    """What requests are like. Shares are from 0 to 1; `turns` counts the user's messages of a conversation.

    `tool_choice` goes with the tool of `tool_share`; `prefixes` counts the different system messages of `prefix_words`
    words, used by `prefix_share`. `prompts` are a user's own, sent in place of made ones.
    """

    prompt_words: Lengths = SHORT
    max_tokens: Lengths = ANSWER
    turns: Lengths = ONE
    stream_share: float = 1.0
    tool_share: float = 0.0
    tool_choice: str = "auto"
    prefix_share: float = 0.0
    prefix_words: Lengths = PREFIX
    prefixes: int = 4
    prompts: Prompts = NONE
    body: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it is sent. `canary` is the word that only its answer may repeat, `tools` are the names that a
    call may have; `must_call`: an answer without a call is wrong."""

    body: bytes
    streamed: bool
    canary: str
    tools: tuple[str, ...] = ()
    must_call: bool = False


def read(path: Path) -> Scenario:
    """Reads a scenario file. Raises UsageError with file and place."""
    try:
        found = parsed(path.read_text(encoding="utf-8"), f"--scenario {path}")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--scenario {path}: {getattr(error, 'strerror', error)}") from error
    except ContractError as error:
        raise UsageError(" ".join(str(error).split())) from error
    except (TypeError, RecursionError) as error:  # a name that is a list, or names without end
        raise UsageError(f"--scenario {path}: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"--scenario {path}: write `name: value` lines; there are {', '.join(_NAMES)}")
    values: dict[str, Any] = {}
    for name, value in found.items():
        if name not in _NAMES:
            raise UsageError(f"--scenario {path}: there is no {name!r}; there are {', '.join(_NAMES)}")
        values[name] = _value(name, value, f"--scenario {path}, {name}", path)
    for name, share in GO_WITH.items():
        if name in values and not values.get(share):
            raise UsageError(f"--scenario {path}: {name} goes with {share}, which is 0 unless it is given")
    if "prompts" in values:
        for name in values:
            if name in MADE or (name == "body" and "messages" in values[name]):
                raise UsageError(f"--scenario {path}: {name} says what is asked, and so do prompts: give one")
    return Scenario(**values)


_NAMES: Final = tuple(each.name for each in fields(Scenario))


def _value(name: str, value: Any, where: str, path: Path) -> Any:
    if isinstance(getattr(Scenario(), name), Lengths):
        return lengths.parse(value, where)
    if name.endswith("_share"):
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
            raise UsageError(f"{where}: {value!r} is no share; write a number from 0 to 1")
        return float(value)
    if name == "prompts":
        if not isinstance(value, str) or not value:
            raise UsageError(f"{where}: {value!r} is no file; write its name, as seen from the scenario's folder")
        return prompts.read(path.parent / value)
    if name == "tool_choice":
        if value not in (AUTO, REQUIRED):
            raise UsageError(f"{where}: {value!r} is not known; write {AUTO} or {REQUIRED}")
        return value
    if name == "body":
        if not isinstance(value, dict):
            raise UsageError(f"{where}: {value!r} is no object of request members")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"{where}: cannot be written as JSON: {error}") from error
        return value
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{where}: {value!r} is no number from 1 on")
    return value


def _functions(tools: Any) -> list[dict[str, Any]]:
    """The functions that a request offers; what is none is left to the contract to refuse."""
    offered = tools if isinstance(tools, list) else []
    found = (each.get("function") for each in offered if isinstance(each, dict))
    return [each for each in found if isinstance(each, dict)]


class Workload:
    """Makes the requests of a scenario for one dialect. The k-th request depends on seed and k alone."""

    def __init__(self, contract: Contract, scenario: Scenario, model: str, seed: int) -> None:
        """Raises UsageError when what the scenario asks for is against the contract."""
        self.contract = contract
        self.scenario = scenario
        self.model = model
        self.seed = seed
        self._asks_usage = contract.stream.usage == "on-request"
        self._prefixes = [self._words(random.Random(f"{seed}/prefix/{at}"), scenario.prefix_words)
                          for at in range(scenario.prefixes if scenario.prefix_share else 0)]  # fmt: skip
        self._check()

    def request(self, number: int, *, prompt_words: int | None = None, max_tokens: int | None = None) -> Request:
        """The request of this number; a trace may state its lengths."""
        rng = random.Random(f"{self.seed}/{number}")
        scenario = self.scenario
        if prompt_words is not None:
            scenario = replace(scenario, prompt_words=Lengths("choice", (float(prompt_words),)))
        canary = f"{CANARY}{rng.getrandbits(32):08x}"
        streamed = rng.random() < scenario.stream_share
        body: dict[str, Any] = {
            "model": self.model,
            "messages": self._messages(rng, scenario, canary),
            "max_tokens": max_tokens or scenario.max_tokens.draw(rng),
            "stream": streamed,
        }
        if streamed and self._asks_usage:
            body["stream_options"] = {"include_usage": True}
        if rng.random() < scenario.tool_share:
            body["tools"] = [TOOL]
            if scenario.tool_choice != AUTO:
                body["tool_choice"] = scenario.tool_choice
        body.update(scenario.body)
        data = json.dumps(body, separators=(",", ":")).encode()
        tools = tuple(function.get("name", "") for function in _functions(body.get("tools")))
        return Request(data, bool(body["stream"]), canary, tools, bool(tools) and body.get("tool_choice") == REQUIRED)

    def _messages(self, rng: random.Random, scenario: Scenario, canary: str) -> list[dict[str, Any]]:
        if scenario.prompts.each:
            return rng.choice(scenario.prompts.each).carrying(canary)
        messages = []
        if self._prefixes and rng.random() < scenario.prefix_share:
            messages.append({"role": "system", "content": rng.choice(self._prefixes)})
        for turn in range(scenario.turns.draw(rng)):
            if turn:
                messages.append({"role": "assistant", "content": self._words(rng, scenario.max_tokens)})
            messages.append({"role": "user", "content": self._words(rng, scenario.prompt_words)})
        messages[-1]["content"] += f" {canary}"
        return messages

    def _words(self, rng: random.Random, length: Lengths) -> str:
        return " ".join(rng.choice(WORDS) for _ in range(length.draw(rng)))

    def _check(self) -> None:
        """Holds requests of both forms against the contract, so that a refusal is never of our making."""
        validator = Validator(self.contract)
        ours = "the scenario"
        trials = [(kind.where, self._like(prompts=Prompts((kind,)))) for kind in self.scenario.prompts.kinds]
        trials += [(ours, self.request(at).body) for at in range(5)]
        if self.scenario.tool_share:
            trials.append((ours, self._like(tool_share=1.0)))
        for whose, trial in trials:
            problems = validator.request_problems(json.loads(trial))
            if problems:
                first = problems[0]
                who = whose if first.where.startswith("/messages") else ours
                raise UsageError(
                    f"{who} does not fit {self.contract.name}: {first.where or 'the body'}: {first.message}"
                )

    def _like(self, **others: Any) -> bytes:
        """A request of the scenario with something else in it."""
        scenario, self.scenario = self.scenario, replace(self.scenario, **others)
        try:
            return self.request(0).body
        finally:
            self.scenario = scenario
