"""The pytest face of the suite: one item per (scenario, check), so that -k, -x, --junitxml and plugins work.

    pytest --pyargs conformance.suite --base-url https://host:port --dialect siliconstorm --api-key-env KEY

Exchanges are made once, concurrently, before the first item runs, and only those that the selected items need. An
item fails where its exchange breaks a MUST (or a SHOULD, with --conformance-strict; else it is an expected failure);
a MAY passes and is recorded as a property. Without --base-url the embedded server is judged.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.cli import capability_option
from conformance.cli.pytest_options import DEFAULT_DIALECT
from conformance.client import headers
from conformance.client.secret import Secret
from conformance.errors import HarnessError, NobodyThere, Unreachable, UsageError
from conformance.plan.scenarios.schemathesis_cases import Draw
from conformance.report import waivers
from conformance.report.verdict import Outcome, row_fails
from conformance.report.writers import report_files as files
from conformance.run import embedded_server as embedded
from conformance.run.connection_settings import read_secret, read_verify
from conformance.run.run import Budget
from conformance.run.session import Wishes, contract_of, prepare_server, refuse_idle_patterns, send
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.judge.judgement import Judgement
    from conformance.plan.plan import Assertion
    from conformance.report.verdict import Row
    from conformance.run.session import Prepared

UNREACHABLE_EXIT = 3


class Judging:
    """What the items of one pytest session share: the plan, and after `send` the judgements and rows."""

    def __init__(self, config: pytest.Config) -> None:
        self.strict = bool(config.getoption("conformance_strict"))
        self._stack = ExitStack()
        self._config = config
        self._secret: Secret | None = None
        self._whole = True
        self._judgements: dict[str, Judgement] = {}
        self._rows: dict[str, Row] = {}
        self._reports = files.read(config.getoption("conformance_report"))
        try:
            self.prepared: Prepared = asyncio.run(prepare_server(self._wishes(), self._secret))
        except BaseException:
            self.close()
            raise

    def _wishes(self) -> Wishes:
        option = self._config.getoption
        contract = contract_of(option("dialect") or DEFAULT_DIALECT)
        url = option("base_url")
        self._secret = read_secret(option("api_key_env"))
        extra = headers.read(option("header"), option("header_env"))
        only, topics = tuple(option("only")), tuple(option("topic"))
        wanted = Draw(option("coverage"), option("fuzz"), option("fuzz_seed"))
        refuse_idle_patterns(contract, only, topics, wanted)
        waived = waivers.read(Path(option("waivers"))) if option("waivers") else ()
        verify = read_verify(option("insecure"), Path(option("ca_file")) if option("ca_file") else None)
        if url is None:
            server = self._stack.enter_context(embedded.serve(contract))
            url, self._secret = server.url, Secret(server.key) if server.key else None
        return Wishes(
            url=url,
            dialect=contract.name,
            model=option("model"),
            only=only,
            topics=topics,
            draw=wanted,
            capabilities=capability_option.read(option("capability")),
            strict=self.strict,
            budget=_budget(option),
            verify=verify,
            waivers=waived,
            wait_s=option("wait_for_server"),
            headers=extra,
        )

    def send(self, assertions: list[Assertion]) -> None:
        """Makes the exchanges that these assertions need, judges them, and writes the reports."""
        plan = self.prepared.plan
        wanted = {assertion.scenario.id for assertion in assertions}
        scenarios = tuple(scenario for scenario in plan.scenarios if scenario.id in wanted)
        narrowed = replace(plan, scenarios=scenarios, assertions=tuple(assertions), uncovered=())
        outcome = asyncio.run(send(replace(self.prepared, plan=narrowed), self._secret))
        self._judgements = {judgement.assertion.id: judgement for judgement in outcome.judgements}
        self._rows = {row.id: row for row in outcome.report.rows}
        self._whole = len(assertions) == len(plan.assertions)
        files.save(self._reports, outcome.results)

    @property
    def idle_waivers(self) -> list[Row]:
        """Waivers that have expired, or that nothing needs; the latter only where no item was left out."""
        rows = [row for row in self._rows.values() if row.check == "waivers.needed"]
        return rows if self._whole else [row for row in rows if "expired" in row.note]

    def of(self, assertion: Assertion) -> tuple[Judgement, Row]:
        """The judgement of an item and the row of its requirement."""
        return self._judgements[assertion.id], self._rows[assertion.requirement.id]

    def close(self) -> None:
        """Ends the embedded server."""
        self._stack.close()


JUDGING = pytest.StashKey[Judging]()


def open_judging(config: pytest.Config) -> None:
    """Reaches the server and makes the plan. Ends the session in one line when it cannot."""
    _clear(lambda: config.stash.__setitem__(JUDGING, Judging(config)))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item per assertion of the plan."""
    if "assertion" not in metafunc.fixturenames:
        return
    plan = metafunc.config.stash[JUDGING].prepared.plan
    metafunc.parametrize("assertion", plan.assertions, ids=[assertion.id for assertion in plan.assertions])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Makes the exchanges of the selected items."""
    if JUDGING not in session.config.stash or session.config.option.collectonly:
        return
    assertions = [item.callspec.params["assertion"] for item in session.items if hasattr(item, "callspec")]
    if assertions:
        _clear(lambda: session.config.stash[JUDGING].send(assertions))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Ends the embedded server."""
    if JUDGING in config.stash:
        config.stash[JUDGING].close()


@pytest.fixture(scope="session")
def judging(request: pytest.FixtureRequest) -> Judging:
    """The shared judgements."""
    return request.config.stash[JUDGING]


def settle(assertion: Assertion, judging: Judging, properties: list[tuple[str, object]]) -> None:
    """Turns the judgement of one assertion into the outcome of its item, and says in its properties what it was."""
    judgement, row = judging.of(assertion)
    properties += [(f"requirement_{name}", str(getattr(row, name))) for name in ("id", "keyword", "source")]
    if judgement.error:
        raise HarnessError(judgement.error)
    if row.outcome is Outcome.WAIVED and (judgement.findings or judgement.unobserved):
        pytest.xfail(row.note)
    if judgement.unobserved:
        if row_fails(row.outcome, row.keyword, strict=judging.strict) and row.outcome is Outcome.UNTESTABLE:
            pytest.fail(f"{row.keyword} {row.id} could not be tested: {judgement.unobserved}", pytrace=False)
        pytest.skip(judgement.unobserved)
    if not judgement.findings:
        return
    lines = [f"{row.keyword} {row.id}: {assertion.summary}", f"source {row.source}"]
    lines += [f"{found.where}: expected {found.expected}, got {found.got}" for found in judgement.findings]
    text = "\n".join(lines)
    if row.keyword is Keyword.MAY:
        properties.append(("observed", text))
    elif row.keyword is Keyword.MUST or judging.strict:
        pytest.fail(text, pytrace=False)
    else:
        pytest.xfail(text)


def settle_waivers(judging: Judging) -> None:
    """Fails where a waiver has expired or is no longer needed."""
    idle = judging.idle_waivers
    if idle:
        pytest.fail("\n".join(f"{row.source}: {row.note}" for row in idle), pytrace=False)


def _budget(option: Callable[[str], Any]) -> Budget:
    limits = {name: option(name) for name in ("max_requests", "max_tokens", "max_time", "rate", "concurrency")}
    for name, value in limits.items():
        if value is not None and value <= 0:
            raise UsageError(f"--{name.replace('_', '-')} {value}: a limit that allows nothing")
    limits["max_time_s"] = limits.pop("max_time")
    return Budget(**limits)


def _clear(act: Callable[[], None]) -> None:
    """Says in one line what the user can mend."""
    try:
        act()
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    except Unreachable as error:
        line = error.told("--wait-for-server") if isinstance(error, NobodyThere) else str(error)
        pytest.exit(f"chatproof: {line}", returncode=UNREACHABLE_EXIT)
