"""Run the suite as pytest items, one per (scenario, check), so that -k, -x, --junitxml and other plugins work.

    pytest --pyargs conformance.suite --base-url https://host:port --dialect siliconstorm --api-key-env KEY

All exchanges are made concurrently before the first item runs, and only those that the selected items need. An item
fails if its exchange violates a MUST. A violated SHOULD is an expected failure, or a failure with
--conformance-strict. A MAY always passes, and what was observed is recorded as a property. Without --base-url the
embedded server is judged.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from conformance.cli import capability_option
from conformance.cli.exit_codes import UNREACHABLE
from conformance.cli.options import DEFAULT_DIALECT
from conformance.cli.pytest_options import read_option
from conformance.client import headers
from conformance.client.secret import Secret
from conformance.errors import HarnessError, ServerNotListening, Unreachable, UsageError
from conformance.plan.scenarios.schemathesis_cases import Draw
from conformance.record import BudgetLimits
from conformance.report import waivers
from conformance.report.outcome import Outcome, row_fails
from conformance.report.writers import report_files
from conformance.report.writers.cause_groups import describe_causes, describe_document
from conformance.run import embedded_server
from conformance.run.connection_settings import read_media_path, read_secret, read_verify, shell_variable
from conformance.run.drafting import require_matching_patterns
from conformance.run.session.conclusion import describe_unreachable
from conformance.run.session.options import RunOptions
from conformance.run.session.preparation import prepare_server
from conformance.run.session.sending import send
from conformance.run.session.target import load_contract
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.judge.judgement import Judgement
    from conformance.plan.assertion import Assertion
    from conformance.report.requirement_row import RequirementRow
    from conformance.run.session.preparation import PreparedRun


class JudgingSession:
    """The state that all items of a pytest session share: the plan, and after `send` the judgements and the rows."""

    def __init__(self, config: pytest.Config) -> None:
        self.strict = bool(read_option(config, "--strict"))
        self._stack = ExitStack()
        self._config = config
        self._secret: Secret | None = None
        self._complete = True
        self._judgements: dict[str, Judgement] = {}
        self._rows: dict[str, RequirementRow] = {}
        self.results: dict[str, Any] | None = None
        self._reports = report_files.parse_options(read_option(config, "--report"))
        try:
            options = self._read_options()
            try:
                self.prepared: PreparedRun = asyncio.run(prepare_server(options, self._secret))
            except Unreachable as error:
                report_files.write_reports(self._reports, describe_unreachable(options, str(error)))
                raise
        except BaseException:
            self.close()
            raise

    def _read_options(self) -> RunOptions:
        """Read the options, and start the embedded server if no URL is given."""

        def option(name: str) -> Any:
            return read_option(self._config, name)

        contract = load_contract(option("--dialect") or DEFAULT_DIALECT)
        url = option("--base-url")
        self._secret = read_secret(option("--api-key-env"))
        given_headers = headers.read(option("--header"), option("--header-env"))
        only, topics = tuple(option("--only")), tuple(option("--topic"))
        draw = Draw(option("--coverage"), option("--fuzz"), option("--seed") or 0)
        require_matching_patterns(contract, only, topics, draw)
        accepted = waivers.read(Path(option("--waivers"))) if option("--waivers") else ()
        verify = read_verify(option("--insecure"), Path(option("--ca-file")) if option("--ca-file") else None)
        media_host, media_path = option("--media-host"), read_media_path(option("--media-path"))
        if url is None:
            media_host, media_path = media_host or embedded_server.MEDIA_HOST, media_path or embedded_server.MEDIA_PATH
            server = self._stack.enter_context(embedded_server.serve(contract))
            url, self._secret = server.url, Secret(server.key) if server.key else None
        return RunOptions(
            url=url,
            dialect=contract.location,
            model=option("--model"),
            only=only,
            topics=topics,
            depth=option("--depth"),
            draw=draw,
            capabilities=capability_option.parse(option("--capability")),
            media_host=media_host,
            media_path=media_path,
            strict=self.strict,
            budget=BudgetLimits(
                max_requests=option("--max-requests"),
                max_tokens=option("--max-tokens"),
                max_time_s=option("--max-time"),
                rate=option("--rate"),
                concurrency=option("--concurrency"),
            ),
            verify=verify,
            waivers=accepted,
            wait_s=option("--wait"),
            headers=given_headers,
            key_variable=shell_variable(option("--api-key-env")),
        )

    def send(self, assertions: list[Assertion]) -> None:
        """Make the exchanges that these assertions need, judge them, and write the reports."""
        plan = self.prepared.plan
        needed = {assertion.scenario.id for assertion in assertions}
        scenarios = tuple(scenario for scenario in plan.scenarios if scenario.id in needed)
        partial = plan.partial or len(assertions) < len(plan.assertions)
        narrowed = replace(plan, scenarios=scenarios, assertions=tuple(assertions), uncovered=(), partial=partial)
        outcome = asyncio.run(send(replace(self.prepared, plan=narrowed), self._secret))
        self._judgements = {judgement.assertion.id: judgement for judgement in outcome.judgements}
        self._rows = {row.id: row for row in outcome.report.rows}
        self._complete = len(assertions) == len(plan.assertions)
        self.results = outcome.results
        report_files.write_reports(self._reports, outcome.results)

    @property
    def failing_waivers(self) -> list[RequirementRow]:
        """The rows of expired waivers, and of stale ones if no item was deselected."""
        rows = [row for row in self._rows.values() if row.check == "waivers.needed"]
        return rows if self._complete else [row for row in rows if "expired" in row.note]

    def find(self, assertion: Assertion) -> tuple[Judgement, RequirementRow]:
        """Return the judgement of an item, and the row of its requirement."""
        return self._judgements[assertion.id], self._rows[assertion.requirement.id]

    def close(self) -> None:
        """Stop the embedded server."""
        self._stack.close()


JUDGING = pytest.StashKey[JudgingSession]()


def open_judging(config: pytest.Config) -> None:
    """Reach the server and make the plan. End the session with one line if that fails."""
    _report_errors(lambda: config.stash.__setitem__(JUDGING, JudgingSession(config)))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one item per assertion of the plan."""
    if "assertion" not in metafunc.fixturenames:
        return
    plan = metafunc.config.stash[JUDGING].prepared.plan
    metafunc.parametrize("assertion", plan.assertions, ids=[assertion.id for assertion in plan.assertions])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Make the exchanges of the selected items."""
    if JUDGING not in session.config.stash or session.config.option.collectonly:
        return
    assertions = [item.callspec.params["assertion"] for item in session.items if hasattr(item, "callspec")]
    if assertions:
        _report_errors(lambda: session.config.stash[JUDGING].send(assertions))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print how many causes the failures have, and how much of the document was judged."""
    judging = config.stash.get(JUDGING, None)
    results = judging.results if judging is not None else None
    if results is not None:
        terminalreporter.section("conformance")
        for line in (describe_causes(results), *describe_document(results)):
            if line:
                terminalreporter.line(line)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the embedded server."""
    if JUDGING in config.stash:
        config.stash[JUDGING].close()


@pytest.fixture(scope="session")
def judging(request: pytest.FixtureRequest) -> JudgingSession:
    """Return the state that all items share."""
    return request.config.stash[JUDGING]


def check_assertion(assertion: Assertion, judging: JudgingSession, properties: list[tuple[str, object]]) -> None:
    """Pass, fail or skip the item of an assertion by its judgement, and add the requirement to its properties."""
    judgement, row = judging.find(assertion)
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
    if row.causes:
        lines.insert(0, f"consequence of {', '.join(row.causes)}")
        properties.append(("requirement_causes", ", ".join(row.causes)))
    lines += [f"{finding.where}: expected {finding.expected}, got {finding.got}" for finding in judgement.findings]
    text = "\n".join(lines)
    if row.keyword is Keyword.MAY:
        properties.append(("observed", text))
    elif row.keyword is Keyword.MUST or judging.strict:
        pytest.fail(text, pytrace=False)
    else:
        pytest.xfail(text)


def check_waivers(judging: JudgingSession) -> None:
    """Fail if a waiver has expired or is no longer needed."""
    rows = judging.failing_waivers
    if rows:
        pytest.fail("\n".join(f"{row.source}: {row.note}" for row in rows), pytrace=False)


def _report_errors(action: Callable[[], None]) -> None:
    """Run an action, and report errors that the user can fix on one line."""
    try:
        action()
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    except click.ClickException as error:  # in chatproof.toml, or in a variable
        raise pytest.UsageError(" ".join(error.format_message().split())) from error
    except Unreachable as error:
        line = error.with_hint("--wait-for-server") if isinstance(error, ServerNotListening) else str(error)
        pytest.exit(f"chatproof: {line}", returncode=UNREACHABLE)
