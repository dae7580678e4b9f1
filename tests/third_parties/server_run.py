"""Everything that is done with one server: install, start, judge, confirm, and put the gateway in front of it."""

from __future__ import annotations

import shlex
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tests.third_parties import attribution
from tests.third_parties.confirmation import Confirmation, confirm
from tests.third_parties.environments import Environment, NotInstalledError, expand, install
from tests.third_parties.judging import Judgement, NotJudgedError, earlier, judge
from tests.third_parties.processes import NotStartedError, answers, free_port, our_server, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.third_parties.attribution import Attribution
    from tests.third_parties.catalogue import Server
    from tests.third_parties.judging import Row

GATEWAY_DIALECT: Final = "mindie-2.3"


@dataclass(frozen=True, slots=True)
class Finding:
    """One violated requirement in one run, its attribution, and the result of its confirmation."""

    dialect: str
    row: Row
    attribution: Attribution | None
    confirmation: Confirmation | None

    @property
    def is_only_recorded(self) -> bool:
        """Whether the recorded exchange is its confirmation, because it depends on chance, time or concurrency."""
        return self.attribution is not None and isinstance(self.attribution.confirm, str)

    def problem(self) -> str | None:
        """Return why this finding is not known to be true, or None."""
        if self.attribution is None:
            return "no attribution"
        if self.attribution.cause == "chatproof":
            return f"a false positive: {self.attribution.behaviour}"
        if self.confirmation is None or not self.confirmation.confirmed:
            return f"not confirmed: {self.confirmation.got if self.confirmation else 'not asked'}"
        return None


@dataclass(slots=True)
class ServerRun:
    """The results for one server.

    not_run: why it was not installed or started. not_judged: runs that ended without a verdict.
    gateway: the judgement of the gateway in front of it; gateway_problem: why it is missing.
    """

    server: Server
    version: str | None = None
    not_run: str | None = None
    judgements: list[Judgement] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    not_judged: list[str] = field(default_factory=list)
    gateway: Judgement | None = None
    gateway_problem: str | None = None

    @property
    def name(self) -> str:
        """Return the name of the server."""
        return self.server.name

    def problems(self) -> Iterator[str]:
        """Yield one line for everything that makes the command fail."""
        name = self.name
        if self.not_run is not None:
            return  # the page says so: a machine may lack npm or a wheel
        for reason in self.not_judged:
            yield f"{name}: {reason}"
        for finding in self.findings:
            if (problem := finding.problem()) is not None:
                yield f"{name} as {finding.dialect}: {finding.row.outcome} {finding.row.requirement}: {problem}"
        for judgement in self.judgements:
            for requirement in judgement.untestable:
                if not any(covers.covers(requirement, judgement.dialect) for covers in attribution.load(name)):
                    yield f"{name} as {judgement.dialect}: UNTESTABLE {requirement}: no attribution"
        if self.gateway_problem is not None:
            yield f"gateway in front of {name}: {self.gateway_problem}"
        if self.gateway is not None and self.gateway.exit_code != 0:
            failed = ", ".join(row.requirement for row in self.gateway.rows if row.outcome != "WARN")
            yield f"gateway in front of {name}: {self.gateway.verdict}: {failed or 'see the results file'}"


def run(server: Server, work: Path, say: Callable[[str], None], *, gateway_only: bool, again: bool) -> ServerRun:
    """Install, start and judge one server; with `again`, use the results files of an earlier run, if there are any."""
    result = ServerRun(server)
    say(f"{server.name}: installing")
    try:
        environment = install(server.software, work)
        result.version = environment.version
        if not gateway_only:
            _judge_all(server, environment, result, say, again=again)
        if server.gateway is not None:
            _judge_gateway(server, environment, result, say, again=again)
    except NotInstalledError as error:
        result.not_run = f"not installed: {error}"
    except NotStartedError as error:
        result.not_run = f"not started: {error}"
    return result


def _judge_all(
    server: Server, environment: Environment, result: ServerRun, say: Callable[[str], None], *, again: bool
) -> None:
    for dialect in server.dialects:
        judgement = earlier(environment.folder, dialect) if again else None
        if judgement is None:
            with started(server, environment) as url:
                say(f"{server.name}: judging as {dialect}")
                try:
                    judgement = judge(url, dialect, model(server, environment), environment.folder, dialect)
                except NotJudgedError as error:
                    result.not_judged.append(f"not judged as {dialect}: {error}")
                    continue
        result.judgements.append(judgement)
        say(f"{server.name}: {judgement.verdict}, {len(judgement.rows)} findings to confirm")
        _confirm_all(server, environment, judgement, result)


def _confirm_all(server: Server, environment: Environment, judgement: Judgement, result: ServerRun) -> None:
    """Confirm the findings of a run on a fresh server, which is started again whenever it no longer answers."""
    known = attribution.load(server.name)
    name = model(server, environment)
    rows = list(judgement.rows)
    while rows:
        with started(server, environment) as url:
            moved = judgement.at(url)
            while rows:
                row = rows.pop(0)
                found = attribution.find(known, row, judgement.dialect)
                confirmation = confirm(url, name, row, moved, found.confirm) if found else None
                result.findings.append(Finding(judgement.dialect, row, found, confirmation))
                if not answers(url + server.ready):
                    break


def _judge_gateway(
    server: Server, environment: Environment, result: ServerRun, say: Callable[[str], None], *, again: bool
) -> None:
    if again and (judgement := earlier(environment.folder, "gateway")) is not None:
        result.gateway = judgement
        return
    with started(server, environment) as url:
        options = ["--dialect", GATEWAY_DIALECT, "--upstream", url]
        options += [environment.expand(option) for option in server.gateway or ()]
        say(f"{server.name}: judging the gateway as {GATEWAY_DIALECT}")
        try:
            with our_server(options, environment.folder / "gateway.log", with_key=False) as gateway:
                result.gateway = judge(gateway, GATEWAY_DIALECT, "mindie", environment.folder, "gateway")
        except (NotStartedError, NotJudgedError) as error:
            result.gateway_problem = str(error)


def model(server: Server, environment: Environment) -> str:
    """Return the name of a server's model in requests."""
    return environment.expand(server.model)


@contextmanager
def started(server: Server, environment: Environment) -> Iterator[str]:
    """Run a server, and the reference server behind it if it forwards to one; yield its URL."""
    with ExitStack() as stack:
        upstream = ""
        if server.behind is not None:
            log = environment.folder / "upstream.log"
            arguments = ["--dialect", server.behind, "--model", server.model]
            upstream = stack.enter_context(our_server(arguments, log, with_key=True))
        port = str(free_port())
        url = f"http://127.0.0.1:{port}"
        folder = environment.folder
        command = shlex.split(expand(server.start, folder, port=port, upstream=upstream))
        variables = {
            name: expand(value, folder, port=port, upstream=upstream) for name, value in server.variables.items()
        }
        ready = url + server.ready
        stack.enter_context(running(command, ready, folder, folder / "server.log", server.start_s, variables))
        yield url
