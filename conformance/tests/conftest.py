"""Recorded good runs, one per dialect, and one running server per dialect for those tests that need a socket.

The records are made by judging the embedded server: `pytest conformance/tests --re-record` makes them anew, which is
due when the scenarios or the server's answers change.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from chatproof import main
from conformance.client.secret import Secret
from conformance.exchange import Exchange
from conformance.judge.judgement import judge
from conformance.plan.capabilities import DeclaredCapabilities, narrow_to_declared
from conformance.record import Record
from conformance.report import verdict
from conformance.report.results import to_json
from conformance.report.verdict import Outcome as Word
from conformance.run import embedded_server as embedded
from conformance.run.drafting import draft
from conformance.run.session import PreparedRun, RunOptions, RunOutcome, conclude, prepare_server, send
from openapi.address import parse
from openapi.contract.contract import load, names
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from conformance.judge.judgement import Judgement
    from conformance.plan.plan import Assertion, Plan
    from conformance.proof.mutants.mutant import Mutant
    from conformance.run.embedded_server import EmbeddedServer
    from conformance.scenario import Scenario, Step
    from openapi.contract.contract import Contract

RECORDED = Path(__file__).parent / "recorded"
DIALECTS = tuple(sorted(set(names().values())))

Exchanges = dict[tuple[str, str], Exchange]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The switch that makes the recorded runs anew."""
    parser.addoption("--re-record", action="store_true", help="record the good runs of conformance/tests anew")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Records where that is wanted, before anything is collected."""
    if session.config.getoption("re_record"):
        faults = [f"{dialect}: {', '.join(found)}" for dialect in DIALECTS if (found := record(dialect))]
        if faults:
            pytest.exit(f"not recorded, for the server breaks what it should keep: {'; '.join(faults)}", returncode=1)


@dataclass(frozen=True)
class Good:
    """A recorded run without fault: what was planned, what came back, and a judge for changed copies of it."""

    contract: Contract
    declaration: DeclaredCapabilities
    plan: Plan
    model: str
    validator: Validator
    exchanges: Mapping[tuple[str, str], Exchange]

    def __repr__(self) -> str:  # pytest shows it with a failed test, and all of it would be megabytes
        return f"Good({self.contract.name})"

    def judge(
        self, changed: Mapping[tuple[str, str], Exchange], assertions: Iterable[Assertion] | None = None
    ) -> tuple[Judgement, ...]:
        """What the judges say when some exchanges stand in for the recorded ones."""
        recorded = {**self.exchanges, **changed}
        wanted = self.plan.assertions if assertions is None else assertions
        return judge(wanted, recorded, self.contract, self.validator, self.model, {})

    @cached_property
    def judgements(self) -> tuple[Judgement, ...]:
        """What the judges say of the recorded run."""
        return self.judge({})

    @cached_property
    def results(self) -> str:
        """The results of the recorded run, as written: whoever changes them reads a copy of his own."""
        return to_json(self.outcome({}).results)

    def outcomes(self, judgements: Iterable[Judgement]) -> dict[str, Word]:
        """What became of every requirement."""
        report = verdict.build_report(self.plan, judgements, strict=False, exhausted=None)
        return {row.id: row.outcome for row in report.rows}

    def outcome(self, changed: Mapping[tuple[str, str], Exchange], *, strict: bool = False) -> RunOutcome:
        """The whole outcome of a run in which some exchanges stand in for the recorded ones."""
        contract = load(self.contract.name)
        target = parse("http://127.0.0.1:1", contract.path, contract.models_path)
        wishes = RunOptions(url=target.base, dialect=contract.name, strict=strict)
        prepared = PreparedRun(wishes, contract, target, self.model, self.declaration, self.plan)
        record = Record({**self.exchanges, **changed}, requests=len(self.exchanges))
        return conclude(prepared, record, "2026-11-20T00:00:00+00:00", 1.0)

    def of(self, check: str, scenario: str = "*") -> list[Assertion]:
        """The assertions of a check whose exchanges show what it is about, in the order of the plan.

        If there are none, those whose exchanges are at least of the kind.
        """
        fitting = [each for each in self._of_check.get(check, ()) if fnmatchcase(each.assertion.scenario.id, scenario)]
        found = [each for each in fitting if not self._lacks(each.assertion)]
        return [each.assertion for each in found if each.unobserved is None] or [each.assertion for each in found]

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
        """The exchanges that a mutant puts in place of the assertion's good ones."""
        pattern = assertion.step.name if mutant.steps is None else mutant.steps
        scenario = assertion.scenario
        answered = [(step, self._answered(scenario, step)) for step in scenario.steps]
        return {
            (scenario.id, step.name): mutant.change(found) if fnmatchcase(step.name, pattern) else found
            for step, found in answered
            if found is not None and (fnmatchcase(step.name, pattern) or (scenario.id, step.name) not in self.exchanges)
        }

    def _answered(self, scenario: Scenario, step: Step) -> Exchange | None:
        """The exchange of a step; of a round that was not needed, that of the first one."""
        first = {each.part: each.name for each in scenario.steps if each.round == 1}
        name = step.name if (scenario.id, step.name) in self.exchanges else first.get(step.part, step.name)
        found = self.exchanges.get((scenario.id, name))
        return replace(found, id=f"{scenario.id}/{step.name}") if found is not None and name != step.name else found

    def changed(self, change: Callable[[Exchange], Exchange]) -> Exchanges:
        """Every recorded exchange, changed."""
        return {key: change(exchange) for key, exchange in self.exchanges.items()}


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[str], EmbeddedServer]]:
    """The embedded server of a dialect, started when first asked for and kept for the session."""
    with ExitStack() as stack:
        yield cache(lambda dialect: stack.enter_context(embedded.serve(load(dialect))))


@dataclass(frozen=True)
class Said:
    """What one run of the console command left behind."""

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
def chatproof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """Runs `chatproof` with some arguments in a folder of its own. Anything but an exit code is raised."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # as wide as where nobody looks on

    def run(*arguments: str) -> Said:
        result = CliRunner(catch_exceptions=False).invoke(main, arguments)
        return Said(result.exit_code, result.stdout, result.stderr, tmp_path)

    return run


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits of a run, noted and not waited for."""
    found: list[float] = []
    pause = asyncio.sleep

    async def sleep(delay_s: float) -> None:
        found.extend([delay_s] if delay_s else [])
        await pause(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return found


@pytest.fixture(scope="session")
def recorded() -> Path:
    """The folder of the recorded runs."""
    return RECORDED


@pytest.fixture(scope="session")
def honest(serve: Callable[[str], EmbeddedServer]) -> str:
    """The address of the reference server for MindIE 2.3."""
    return serve("mindie-2.3").url


@pytest.fixture(scope="session")
def read_good() -> Callable[[str], Good]:
    """The recorded run of a dialect."""

    @cache
    def read(dialect: str) -> Good:
        content = json.loads(gzip.decompress(path_of(dialect).read_bytes()))
        contract = load(dialect)
        declaration = DeclaredCapabilities(frozenset(content["declared"]), frozenset(content["denied"]), "the record")
        narrowed = narrow_to_declared(contract, declaration.declared)
        found = [Exchange.from_dict(exchange) for exchange in content["exchanges"]]
        return Good(
            narrowed,
            declaration,
            draft(contract, declaration),
            content["model"],
            Validator(narrowed),
            {(each.scenario, each.step): each for each in found},
        )

    return read


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test that wants a good run once for each recorded dialect; a module with `GOODS` names those it wants."""
    if "good" in metafunc.fixturenames:
        metafunc.parametrize("good", getattr(metafunc.module, "GOODS", _recorded()), indirect=True)


def _recorded() -> list[str]:
    return [dialect for dialect in DIALECTS if path_of(dialect).exists()]


def path_of(dialect: str) -> Path:
    """The file of a recorded run."""
    return RECORDED / f"{dialect}.json.gz"


@pytest.fixture
def good(request: pytest.FixtureRequest, read_good: Callable[[str], Good]) -> Good:
    """The recorded run of each dialect in turn."""
    return read_good(request.param)


@pytest.fixture
def goods(read_good: Callable[[str], Good]) -> list[Good]:
    """The recorded runs of all dialects."""
    return [read_good(dialect) for dialect in _recorded()]


def record(dialect: str) -> list[str]:
    """Judges the embedded server and keeps the exchanges, or returns the requirements that it breaks."""
    with embedded.serve(load(dialect)) as server:
        outcome = asyncio.run(_judge(dialect, server))
    report, declaration = outcome.report, outcome.prepared.declaration
    faulty = [row.id for row in report.rows if row.outcome is Word.WARN or report.fails(row, strict=False)]
    if not faulty:
        content = {
            "model": outcome.prepared.model,
            "declared": sorted(declaration.declared),
            "denied": sorted(declaration.denied),
            "exchanges": [exchange.to_dict() for exchange in outcome.record.exchanges.values()],
        }
        path_of(dialect).write_bytes(gzip.compress(json.dumps(content, ensure_ascii=False).encode(), mtime=0))
    return faulty


async def _judge(dialect: str, server: EmbeddedServer) -> RunOutcome:
    secret = Secret(server.key) if server.key else None
    return await send(await prepare_server(RunOptions(url=server.url, dialect=dialect), secret), secret)
