"""Make the evidence of a finding: the command that repeats the request, and the beginning of the answer."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from conformance.client.curl import KEY_VARIABLE, short_curl
from conformance.exchange import Exchange
from conformance.judge.check_registry import gather_checks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

RESULTS_FILE: Final = "results.json"
LONGEST_COMMAND: Final = 1500
"""Characters; a longer command is replaced by one that reads the request from the results."""
MOST_STEPS: Final = 6
"""How many exchanges of one comparison are repeated by a command each."""
COMPARED_FINDINGS: Final = 100
"""How many findings of a requirement are compared, to show the one with the shortest command."""
UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line and paragraph separators, bidirectional controls and lone surrogates."""


def neutralize(text: str, longest: int) -> str:
    """Return the text without unsafe characters, cut to the given length."""
    safe = UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)
    return safe if len(safe) <= longest else f"{safe[:longest]}..."


class ExchangeIndex:
    """Finds exchanges of results.json by their id. They are not all converted at the same time."""

    def __init__(self, exchanges: Sequence[Mapping[str, Any]]) -> None:
        self._exchanges = exchanges
        self._places = {exchange["id"]: at for at, exchange in enumerate(exchanges)}

    def __contains__(self, identity: object) -> bool:
        """Whether there is an exchange with an id."""
        return identity in self._places

    def __getitem__(self, identity: str) -> Mapping[str, Any]:
        """Return the exchange with an id."""
        return self._exchanges[self._places[identity]]


@dataclass(frozen=True, slots=True)
class ReproductionCommands:
    """The commands that show a recorded run again, and what they name: its results file, and the variable with its key.

    dialect_files: the file of each dialect that judged the run, the main one first; None for one of chatproof.
    """

    file: str = RESULTS_FILE
    variable: str | None = None
    dialect_files: tuple[str | None, ...] = ()

    @classmethod
    def of(cls, results: Mapping[str, Any], file: str = RESULTS_FILE) -> ReproductionCommands:
        """Return what commands about these results name."""
        targets = [judged["target"] for judged in (results, *results.get("also", ()))]
        files = tuple(target.get("dialect_file") for target in targets)
        return cls(file, results["target"].get("key_variable"), files)

    def judge_command(self, options: str) -> str:
        """Return the command that judges the run again."""
        return f"chatproof judge {shlex.quote(self.file)}{_dialect_options(self.dialect_files)} {options}"

    def replay_command(self, identity: str) -> str:
        """Return the command that sends an exchange, or all exchanges of a requirement, again."""
        key = f" --api-key-env {self.variable}" if self.variable else ""
        dialects = _dialect_options(self.dialect_files)
        return f"chatproof replay {shlex.quote(self.file)} --id {shlex.quote(identity)}{dialects}{key}"

    def explain_command(self, identity: str) -> str:
        """Return the command that explains a requirement of the main dialect."""
        return f"chatproof explain {shlex.quote(identity)}{_dialect_options(self.dialect_files[:1])}"


def _dialect_options(files: Iterable[str | None]) -> str:
    return "".join(f" --dialect {shlex.quote(file)}" for file in files if file is not None)


RECORDED: Final = ReproductionCommands()


def repeat_commands(results: dict[str, Any]) -> dict[str, str]:
    """Return the shell command that repeats each exchange, on one line, by the id of the exchange."""
    recorded = ReproductionCommands.of(results)
    return {exchange["id"]: repeat_command(exchange, recorded) for exchange in results["exchanges"]}


def repeat_command(exchange: Mapping[str, Any], recorded: ReproductionCommands = RECORDED) -> str:
    """Return the shortest shell command, on one line, that sends the request of an exchange again.

    recorded: the run, from whose results file `chatproof replay` reads a request that is too long for a command.
    """
    line = short_curl(Exchange.from_dict({**exchange, "response": None}).request, recorded.variable or KEY_VARIABLE)
    if len(line) > LONGEST_COMMAND or "\n" in line or UNSAFE.search(line):
        return recorded.replay_command(exchange["id"])
    return line


class Reproduction:
    """Finds the finding of a requirement that is reproduced by the shortest command, and this command.

    file: the results file that the commands name.
    """

    def __init__(self, results: dict[str, Any], file: str = RESULTS_FILE) -> None:
        self._exchanges = ExchangeIndex(results["exchanges"])
        self._checks = gather_checks()
        self.recorded = ReproductionCommands.of(results, file)

    def command(self, row: Mapping[str, Any]) -> str | None:
        """Return the command; None for a finding that rests on no recorded exchange."""
        first = self.first_finding(row)
        if first is None or first["exchange"] not in self._exchanges:
            return None
        if self._compares(row):
            return self.recorded.replay_command(row["id"])
        return repeat_command(self._exchanges[first["exchange"]], self.recorded)

    def steps(self, row: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return the name of each exchange that the first finding compares, and the command that sends it alone.

        Empty for a finding of one exchange, and for more exchanges than a person would send by hand: `command` sends
        them all.
        """
        first = self.first_finding(row)
        if first is None:
            return []
        names = next((names for names in row.get("compared", ()) if names and names[-1] == first["exchange"]), ())
        if not 1 < len(names) <= MOST_STEPS or not all(name in self._exchanges for name in names):
            return []
        return [(name, repeat_command(self._exchanges[name], self.recorded)) for name in names]

    def first_finding(self, row: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the finding to show first: of the exchange with the shortest command, among the first ones.

        What compares several answers is reproduced by `chatproof replay`, which sends all of their requests: its first
        finding is as good as another.
        """
        findings: list[Mapping[str, Any]] = row["findings"][:COMPARED_FINDINGS]
        if not findings or self._compares(row):
            return findings[0] if findings else None
        return min(findings, key=lambda finding: self._command_length(finding["exchange"]))

    def order(self, row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Return all findings of a requirement, the one to show first in front."""
        first = self.first_finding(row)
        return [] if first is None else [first, *(item for item in row["findings"] if item is not first)]

    def _compares(self, row: Mapping[str, Any]) -> bool:
        if row.get("compared"):
            return True
        check = self._checks.get(row["check"])
        return check is not None and check.is_relation

    def _command_length(self, exchange: str) -> float:
        if exchange not in self._exchanges:
            return math.inf
        request = Exchange.from_dict({**self._exchanges[exchange], "response": None}).request
        return len(short_curl(request, KEY_VARIABLE))


def show_shortest_first(results: dict[str, Any]) -> dict[str, Any]:
    """Return the results with the findings of each requirement in the order of `Reproduction.order`."""
    reproduction = Reproduction(results)
    return {
        **results,
        "requirements": [{**row, "findings": reproduction.order(row)} for row in results["requirements"]],
    }


def answer_excerpt(exchange: Mapping[str, Any], longest: int) -> str:
    """Return the status and the beginning of the answer, or the reason why it is missing."""
    response, failure = exchange["response"], exchange["failure"]
    if response is None:
        return f"no answer: {failure['detail']}" if failure else "no answer"
    text = ""
    for _, data in response["segments"]:
        text += data if isinstance(data, str) else f"[{len(data['base64'])} base64 characters that are not UTF-8]"
        if len(text) > longest:
            break
    cut = f"\n(cut: {failure['detail']})" if failure else ""
    return neutralize(f"{response['status']}\n{text}", longest) + cut
