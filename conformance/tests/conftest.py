"""Fixtures: a recorded good run and a running server for each dialect.

The recorded runs are made by judging the embedded server. `pytest conformance/tests --re-record` records them again,
which is necessary after changes to the scenarios or to the answers of the server.
"""

from __future__ import annotations

import asyncio
import gc
import json
import lzma
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from chatproof import main
from conformance import view_cache
from conformance.client.secret import Secret
from conformance.proof.recorded_run import RECORDINGS, RecordedRun, read_recorded_run, recording_path
from conformance.proof.scenario_selection import narrow
from conformance.record import Record
from conformance.report import verdict
from conformance.report.outcome import Outcome as RequirementOutcome
from conformance.report.results import to_json
from conformance.run import embedded_server as embedded
from conformance.run.drafting import draft
from conformance.run.session.conclusion import RunOutcome, conclude
from conformance.run.session.options import RunOptions
from conformance.run.session.preparation import PreparedRun, prepare_server
from conformance.run.session.sending import send
from openapi.address import parse
from openapi.contract.contract import load, names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from conformance.exchange import Exchange
    from conformance.judge.judgement import Judgement
    from conformance.plan.assertion import Assertion
    from conformance.plan.depth import Depth
    from conformance.proof.mutants.mutant import Mutant
    from conformance.proof.recorded_run import Exchanges
    from conformance.run.embedded_server import EmbeddedServer
    from conformance.scenario import Scenario, Step

DIALECTS = tuple(sorted(set(names().values())))
VIEWS_BYTES = 2**28
"""Estimated bytes of the views of all recorded runs that are kept; a user's run needs those of one only."""
PARTS = 3
"""How many parts a recorded run has for tests that need only some of it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that records the good runs again."""
    parser.addoption("--re-record", action="store_true", help="record the good runs of conformance/tests again")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Record the good runs if requested, before tests are collected; search seldom for garbage, and keep all views.

    The recorded runs are some million objects, which are in use until the end, and are judged again and again.
    """
    gc.set_threshold(200_000, 20, 100)
    pytest.MonkeyPatch().setattr(view_cache, "MAX_COST", VIEWS_BYTES)
    if session.config.getoption("re_record"):
        failed = [f"{dialect}: {', '.join(broken)}" for dialect in DIALECTS if (broken := record(dialect))]
        if failed:
            pytest.exit(f"not recorded, because requirements failed: {'; '.join(failed)}", returncode=1)


@dataclass(frozen=True, repr=False)
class Good(RecordedRun):
    """A recorded run with methods that judge changed copies of it. depth: at which the plan was drafted."""

    depth: Depth = "thorough"

    @cached_property
    def judgements(self) -> tuple[Judgement, ...]:
        """The judgements of the recorded run."""
        return self.judge({})

    @cached_property
    def results(self) -> str:
        """The results of the quick run as a JSON string, so that each test can change its own copy."""
        return self.quick.all_results

    @cached_property
    def all_results(self) -> str:
        """The results of the whole run as a JSON string."""
        return "".join(to_json(self.outcome({}).results))

    @cached_property
    def quick(self) -> Good:
        """The few requests of a quick run, for tests of what is made of any run."""
        if self.depth == "quick":
            return self
        plan = draft(load(self.contract.name), self.declaration, depth="quick")
        sent = {(scenario.id, step.name) for scenario in plan.scenarios for step in scenario.steps}
        exchanges = {key: exchange for key, exchange in self.exchanges.items() if key in sent}
        return replace(self, plan=plan, exchanges=exchanges, depth="quick")

    @cached_property
    def parts(self) -> tuple[Good, ...]:
        """The run in three parts, of which each has every third scenario."""
        kept = [frozenset(scenario.id for scenario in self.plan.scenarios[at::PARTS]) for at in range(PARTS)]
        return tuple(self._with_scenarios(scenarios) for scenarios in kept if scenarios)

    def _with_scenarios(self, kept: frozenset[str]) -> Good:
        exchanges = {key: exchange for key, exchange in self.exchanges.items() if key[0] in kept}
        return replace(self, plan=narrow(self.plan, kept), exchanges=exchanges)

    @property
    def part(self) -> Good:
        """One of these parts, for properties that are tested in every dialect: three dialects show all scenarios."""
        return self.parts[DIALECTS.index(self.contract.name) % len(self.parts)]

    def around(self, scenario: str) -> Good:
        """The run with one scenario and every fiftieth of the others, for tests that judge it again and again."""
        others = (item.id for item in self.plan.scenarios[::50])
        return self._with_scenarios(frozenset((scenario, *others)))

    def outcomes(self, judgements: Iterable[Judgement]) -> dict[str, RequirementOutcome]:
        """Return the outcome of every requirement."""
        report = verdict.build_report(self.plan, judgements, strict=False, exhausted=None)
        return {row.id: row.outcome for row in report.rows}

    def outcome(self, changed: Mapping[tuple[str, str], Exchange], *, strict: bool = False) -> RunOutcome:
        """Return the outcome of the run with some exchanges replaced."""
        contract = load(self.contract.name)
        target = parse("http://127.0.0.1:1", contract.path, contract.models_path)
        options = RunOptions(url=target.base, dialect=contract.name, depth=self.depth, strict=strict)
        prepared = PreparedRun(options, contract, target, self.model, self.declaration, self.plan)
        record = Record({**self.exchanges, **changed}, requests=len(self.exchanges))
        return conclude(prepared, record, "2026-11-20T00:00:00+00:00", 1.0)

    def of(self, check: str, scenario: str = "*") -> list[Assertion]:
        """Return the assertions of a check that were observed, in the order of the plan.

        Without any, return those whose exchanges meet the preconditions of the check.
        """
        matching = [
            judgement
            for judgement in self._of_check.get(check, ())
            if fnmatchcase(judgement.assertion.scenario.id, scenario) and not self._lacks(judgement.assertion)
        ]
        observed = [judgement.assertion for judgement in matching if judgement.unobserved is None]
        return observed or [judgement.assertion for judgement in matching]

    @cached_property
    def _of_check(self) -> dict[str, list[Judgement]]:
        judged: dict[str, list[Judgement]] = {}
        for judgement in self.judgements:
            judged.setdefault(judgement.assertion.check.id, []).append(judgement)
        return judged

    def _lacks(self, assertion: Assertion) -> bool:
        made = {name for identity, name in self.exchanges if identity == assertion.scenario.id}
        names = assertion.check.steps(assertion.scenario, assertion.step, made)
        exchanges = [self.exchanges.get((assertion.scenario.id, name)) for name in names]
        return any(exchange is None or assertion.check.on.unmet(exchange) for exchange in exchanges)

    def broken(self, mutant: Mutant, assertion: Assertion) -> Exchanges:
        """Return the exchanges of an assertion as a mutant changes them."""
        pattern = assertion.step.name if mutant.steps is None else mutant.steps
        scenario = assertion.scenario
        answered = [(step, self._answered(scenario, step)) for step in scenario.steps]
        return {
            (scenario.id, step.name): mutant.change(exchange) if fnmatchcase(step.name, pattern) else exchange
            for step, exchange in answered
            if exchange is not None
            and (fnmatchcase(step.name, pattern) or (scenario.id, step.name) not in self.exchanges)
        }

    def _answered(self, scenario: Scenario, step: Step) -> Exchange | None:
        """Return the exchange of a step; for a round that was not sent, that of the first round."""
        first = {other.part: other.name for other in scenario.steps if other.round == 1}
        name = step.name if (scenario.id, step.name) in self.exchanges else first.get(step.part, step.name)
        exchange = self.exchanges.get((scenario.id, name))
        if exchange is None or name == step.name:
            return exchange
        return replace(exchange, id=f"{scenario.id}/{step.name}")

    def changed(self, change: Callable[[Exchange], Exchange]) -> Exchanges:
        """Return every recorded exchange, changed."""
        return {key: change(exchange) for key, exchange in self.exchanges.items()}


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[str], EmbeddedServer]]:
    """A function that returns the embedded server of a dialect, started at the first call."""
    with ExitStack() as stack:
        yield cache(lambda dialect: stack.enter_context(embedded.serve(load(dialect))))


@dataclass(frozen=True)
class CommandResult:
    """The result of one run of the command line."""

    code: int
    stdout: str
    stderr: str
    folder: Path

    @property
    def results(self) -> dict[str, Any]:
        """The content of results.json."""
        content: dict[str, Any] = json.loads((self.folder / "results.json").read_text(encoding="utf-8"))
        return content


@pytest.fixture
def chatproof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., CommandResult]:
    """A function that runs `chatproof` in a temporary folder. Exceptions other than exit codes are raised."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # use the default width

    def run(*arguments: str) -> CommandResult:
        result = CliRunner(catch_exceptions=False).invoke(main, arguments)
        return CommandResult(result.exit_code, result.stdout, result.stderr, tmp_path)

    return run


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace the waits of a run by yielding to the event loop, and return the list of waits."""
    waited: list[float] = []
    pause = asyncio.sleep

    async def sleep(delay_s: float) -> None:
        waited.extend([delay_s] if delay_s else [])
        await pause(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return waited


@pytest.fixture(scope="session")
def recorded() -> Path:
    """The folder of the recorded runs."""
    return RECORDINGS


@pytest.fixture(scope="session")
def honest(serve: Callable[[str], EmbeddedServer]) -> str:
    """The URL of the reference server for MindIE 2.3."""
    return serve("mindie-2.3").url


@pytest.fixture(scope="session")
def read_good() -> Callable[[str], Good]:
    """A function that reads the recorded run of a dialect."""

    @cache
    def read(dialect: str) -> Good:
        run = read_recorded_run(dialect)
        return Good(**{field.name: getattr(run, field.name) for field in fields(run)})

    return read


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests with the fixture `good` for each recorded dialect, or for those in the module's `GOODS`."""
    if "good" in metafunc.fixturenames:
        metafunc.parametrize("good", getattr(metafunc.module, "GOODS", _recorded()), indirect=True)


def _recorded() -> list[str]:
    return [dialect for dialect in DIALECTS if recording_path(dialect).exists()]


@pytest.fixture
def good(request: pytest.FixtureRequest, read_good: Callable[[str], Good]) -> Good:
    """The recorded run of each dialect in turn."""
    return read_good(request.param)


@pytest.fixture
def goods(read_good: Callable[[str], Good]) -> list[Good]:
    """The recorded runs of all dialects."""
    return [read_good(dialect) for dialect in _recorded()]


def record(dialect: str) -> list[str]:
    """Judge the embedded server and save the exchanges; if requirements fail, return them instead."""
    with embedded.serve(load(dialect)) as server:
        outcome = asyncio.run(_judge(dialect, server))
    report, declaration = outcome.report, outcome.prepared.declaration
    faulty = [
        row.id for row in report.rows if row.outcome is RequirementOutcome.WARN or report.fails(row, strict=False)
    ]
    if not faulty:
        content = {
            "model": outcome.prepared.model,
            "declared": sorted(declaration.declared),
            "denied": sorted(declaration.denied),
            "exchanges": [exchange.to_dict() for exchange in outcome.record.exchanges.values()],
        }
        data = json.dumps(content, ensure_ascii=False).encode()
        recording_path(dialect).write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    return faulty


async def _judge(dialect: str, server: EmbeddedServer) -> RunOutcome:
    secret = Secret(server.key) if server.key else None
    options = RunOptions(
        url=server.url,
        dialect=dialect,
        depth="thorough",
        media_host=embedded.MEDIA_HOST,
        media_path=embedded.MEDIA_PATH,
    )
    return await send(await prepare_server(options, secret), secret)
