"""Build the requests of a load test from a scenario and a seed, valid for the dialect's contract.

A scenario file is YAML; docs/design/load-tests.md lists its fields. Does no I/O except to read the scenario and its
prompts.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final

from loadtests.errors import UsageError
from loadtests.shape.images import check_number, draw_image_parts
from loadtests.shape.lengths import LengthDistribution, parse_length
from loadtests.shape.prompts import CANARY, PromptFile, read_prompts
from openapi.contract.contract import ContractError
from openapi.contract.tree.yaml_file import parse as parse_yaml
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
ONE_TURN: Final = LengthDistribution("choice", (1.0,))
PROMPT_WORDS: Final = LengthDistribution("uniform", (10, 40))
ANSWER_TOKENS: Final = LengthDistribution("choice", (64.0,))
PREFIX_WORDS: Final = LengthDistribution("choice", (100.0,))
ONE_IMAGE: Final = LengthDistribution("choice", (1.0,))
IMAGE_SIDE: Final = LengthDistribution("choice", (512.0,))
IMAGE_KILOBYTES: Final = LengthDistribution("choice", (1.0,))
DEPENDS_ON: Final = {
    "tool_choice": "tool_share",
    **dict.fromkeys(("prefixes", "prefix_words"), "prefix_share"),
    **dict.fromkeys(("images", "image_side", "image_kilobytes", "different_images"), "image_share"),
}
"""Fields of a scenario that have no effect without another one."""
GENERATED_PROMPTS: Final = ("prompt_words", "turns", "prefix_share", "image_share")
"""Fields that describe generated prompts, and do not apply to the prompts of a file."""
NO_PROMPTS: Final = PromptFile()


@dataclass(frozen=True, slots=True)
class WorkloadScenario:
    """The properties of the requests; shares are from 0 to 1.

    turns: the number of user messages in a conversation. tool_choice: applies to requests with the tool, of which
    there are `tool_share`. prefixes: the number of different system messages of `prefix_words` words, used by
    `prefix_share` of the requests. images: the number of images in the last user message, in `image_share` of the
    requests. image_side: width and height in pixels. image_kilobytes: the least size of a file. different_images: how
    many are drawn. prompts: the user's own prompts, sent instead of generated ones. body: further fields of every
    request.
    """

    prompt_words: LengthDistribution = PROMPT_WORDS
    max_tokens: LengthDistribution = ANSWER_TOKENS
    turns: LengthDistribution = ONE_TURN
    stream_share: float = 1.0
    tool_share: float = 0.0
    tool_choice: str = "auto"
    prefix_share: float = 0.0
    prefix_words: LengthDistribution = PREFIX_WORDS
    prefixes: int = 4
    image_share: float = 0.0
    images: LengthDistribution = ONE_IMAGE
    image_side: LengthDistribution = IMAGE_SIDE
    image_kilobytes: LengthDistribution = IMAGE_KILOBYTES
    different_images: int = 32
    prompts: PromptFile = NO_PROMPTS
    body: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkloadRequest:
    """One request as it is sent.

    canary: the word that only its answer may repeat. tools: the names that a tool call may have. must_call: an answer
    without a tool call is wrong.
    """

    body: bytes
    streamed: bool
    canary: str
    tools: tuple[str, ...] = ()
    must_call: bool = False


def read_scenario(path: Path) -> WorkloadScenario:
    """Read a scenario file. Raise UsageError that names the file and the field."""
    try:
        content = parse_yaml(path.read_text(encoding="utf-8"), f"--scenario {path}")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--scenario {path}: {getattr(error, 'strerror', error)}") from error
    except ContractError as error:
        raise UsageError(" ".join(str(error).split())) from error
    except (TypeError, RecursionError) as error:  # a name that is a list, or endless nesting
        raise UsageError(f"--scenario {path}: {error}") from error
    if not isinstance(content, dict):
        raise UsageError(f"--scenario {path}: expected `name: value` lines with the names {', '.join(_NAMES)}")
    values: dict[str, Any] = {}
    for name, value in content.items():
        if name not in _NAMES:
            raise UsageError(f"--scenario {path}: unknown field {name!r}: expected one of {', '.join(_NAMES)}")
        values[name] = _parse_value(name, value, f"--scenario {path}, {name}", path)
    for name, share in DEPENDS_ON.items():
        if name in values and not values.get(share):
            raise UsageError(f"--scenario {path}: {name} has no effect without {share}: set {share} above 0")
    if "prompts" in values:
        for name in values:
            if name in GENERATED_PROMPTS or (name == "body" and "messages" in values[name]):
                raise UsageError(f"--scenario {path}: {name} and prompts are mutually exclusive")
    return WorkloadScenario(**values)


_NAMES: Final = tuple(declared.name for declared in fields(WorkloadScenario))


def _parse_value(name: str, value: Any, where: str, path: Path) -> Any:
    if isinstance(getattr(WorkloadScenario(), name), LengthDistribution):
        return parse_length(value, where)
    if name.endswith("_share"):
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
            raise UsageError(f"{where}: invalid share: expected a number from 0 to 1, got {value!r}")
        return float(value)
    if name == "prompts":
        if not isinstance(value, str) or not value:
            raise UsageError(
                f"{where}: invalid file name: expected a path relative to the scenario's folder, got {value!r}"
            )
        return read_prompts(path.parent / value)
    if name == "tool_choice":
        if value not in (AUTO, REQUIRED):
            raise UsageError(f"{where}: invalid value: expected {AUTO} or {REQUIRED}, got {value!r}")
        return value
    if name == "body":
        if not isinstance(value, dict):
            raise UsageError(f"{where}: invalid value: expected an object with request fields, got {value!r}")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"{where}: the value cannot be written as JSON: {error}") from error
        return value
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{where}: invalid value: expected a whole number from 1, got {value!r}")
    return value


def _functions(tools: Any) -> list[dict[str, Any]]:
    """Return the functions that a request offers; invalid tools are left for the contract to reject."""
    offered = tools if isinstance(tools, list) else []
    functions = (tool.get("function") for tool in offered if isinstance(tool, dict))
    return [function for function in functions if isinstance(function, dict)]


class Workload:
    """Builds the requests of a scenario for one dialect. Request k depends only on the seed and k."""

    def __init__(self, contract: Contract, scenario: WorkloadScenario, model: str, seed: int) -> None:
        """Raise UsageError if the scenario's requests are invalid for the contract."""
        self.contract = contract
        self.scenario = scenario
        self.model = model
        self.seed = seed
        self._requests_usage = contract.stream.usage == "on-request"
        self._prefixes = [
            self._generate_words(random.Random(f"{seed}/prefix/{number}"), scenario.prefix_words)
            for number in range(scenario.prefixes if scenario.prefix_share else 0)
        ]
        self._images = self._draw_images() if scenario.image_share else []
        self._validate()

    def build_request(
        self, number: int, *, prompt_words: int | None = None, max_tokens: int | None = None
    ) -> WorkloadRequest:
        """Build the request with a number; a trace may state its lengths."""
        rng = random.Random(f"{self.seed}/{number}")
        scenario = self.scenario
        if prompt_words is not None:
            scenario = replace(scenario, prompt_words=LengthDistribution("choice", (float(prompt_words),)))
        canary = f"{CANARY}{rng.getrandbits(32):08x}"
        streamed = rng.random() < scenario.stream_share
        body: dict[str, Any] = {
            "model": self.model,
            "messages": self._generate_messages(rng, scenario, canary),
            "max_tokens": max_tokens or scenario.max_tokens.draw(rng),
            "stream": streamed,
        }
        if streamed and self._requests_usage:
            body["stream_options"] = {"include_usage": True}
        if rng.random() < scenario.tool_share:
            body["tools"] = [TOOL]
            if scenario.tool_choice != AUTO:
                body["tool_choice"] = scenario.tool_choice
        body.update(scenario.body)
        data = json.dumps(body, separators=(",", ":")).encode()
        tools = tuple(function.get("name", "") for function in _functions(body.get("tools")))
        must_call = bool(tools) and body.get("tool_choice") == REQUIRED
        return WorkloadRequest(data, bool(body["stream"]), canary, tools, must_call)

    def _generate_messages(self, rng: random.Random, scenario: WorkloadScenario, canary: str) -> list[dict[str, Any]]:
        if scenario.prompts.prompts:
            return rng.choice(scenario.prompts.prompts).with_canary(canary)
        messages: list[dict[str, Any]] = []
        if self._prefixes and rng.random() < scenario.prefix_share:
            messages.append({"role": "system", "content": rng.choice(self._prefixes)})
        for turn in range(scenario.turns.draw(rng)):
            if turn:
                messages.append({"role": "assistant", "content": self._generate_words(rng, scenario.max_tokens)})
            messages.append({"role": "user", "content": self._generate_words(rng, scenario.prompt_words)})
        messages[-1]["content"] += f" {canary}"
        if self._images and rng.random() < scenario.image_share:
            shown = rng.choices(self._images, k=scenario.images.draw(rng))
            messages[-1]["content"] = [*shown, {"type": "text", "text": messages[-1]["content"]}]
        return messages

    def _draw_images(self) -> list[dict[str, Any]]:
        scenario = self.scenario
        check_number(self.contract, scenario.images.greatest)
        return draw_image_parts(
            self.contract, self.seed, scenario.different_images, scenario.image_side, scenario.image_kilobytes
        )

    def _generate_words(self, rng: random.Random, length: LengthDistribution) -> str:
        return " ".join(rng.choice(WORDS) for _ in range(length.draw(rng)))

    def _validate(self) -> None:
        """Validate requests of each kind, so that a rejected request is never an error of the scenario."""
        validator = Validator(self.contract)
        scenario = "the scenario"
        trials = [
            (prompt.where, self._build_with(prompts=PromptFile((prompt,)))) for prompt in self.scenario.prompts.longest
        ]
        trials += [(scenario, self.build_request(number).body) for number in range(5)]
        if self.scenario.tool_share:
            trials.append((scenario, self._build_with(tool_share=1.0)))
        if self.scenario.image_share:
            trials.append((scenario, self._build_with(image_share=1.0)))
        for where, trial in trials:
            problems = validator.request_problems(json.loads(trial))
            if problems:
                first = problems[0]
                source = where if first.where.startswith("/messages") else scenario
                raise UsageError(
                    f"{source} is invalid for the dialect {self.contract.name}: "
                    f"{first.where or 'the body'}: {first.message}"
                )

    def _build_with(self, **changes: Any) -> bytes:
        """Build a request of the scenario with some fields changed."""
        scenario, self.scenario = self.scenario, replace(self.scenario, **changes)
        try:
            return self.build_request(0).body
        finally:
            self.scenario = scenario
