"""The locustfile: `locust -f` this file, or `chatproof load`, which does so with better defaults."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import gevent
from locust import LoadTestShape, User, constant, events, task
from locust.exception import RescheduleTaskImmediately
from locust.runners import STATE_INIT

from loadtests.errors import UsageError
from loadtests.measure import locust_rows as rows
from loadtests.run import finalization as outcome
from loadtests.run import options
from loadtests.run.session import Session
from loadtests.run.settings import settings

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from locust.env import Environment

USAGE = 2
IDLE_S = 1.0
LOOK_S = 0.05


class Client(User):
    """One user of a closed loop. In an open one users wait, and the session sends by its plan."""

    wait_time = constant(0)

    def on_start(self) -> None:
        """Takes a connection of its own."""
        while not hasattr(self.environment, "chatproof"):  # a worker gets users as soon as it is connected
            gevent.sleep(LOOK_S)
        self._session: Session = self.environment.chatproof
        self._caller = self._session.sending.caller()

    @task
    def load(self) -> None:
        """Sends the next request. It is the session that lets users think: Locust's own wait, a turn of the loop for
        each request, is left out."""
        if self._session.settings.open:
            gevent.sleep(IDLE_S)
        else:
            self._session.sending.next_request(self._caller)
        raise RescheduleTaskImmediately

    def on_stop(self) -> None:
        """Gives the connection back."""
        self._caller.close()

    def stop(self, force: bool = False) -> bool:
        """Ends: with the test, or before it, as users become fewer or go to another worker."""
        if "_caller" in vars(self):
            self._session.sending.let_go(self._caller)
        return bool(super().stop(force))


@events.init_command_line_parser.add_listener
def _options(parser: ArgumentParser, **_: Any) -> None:
    options.add(parser)


@events.init.add_listener
def _init(environment: Environment, **_: Any) -> None:
    rows.widen_buckets()
    if environment.parsed_options is None:
        return
    try:
        session = Session(environment, settings(environment.parsed_options))
        outcome.listen(environment, session)
    except UsageError as error:
        print(f"Error: {error}", file=sys.stderr)  # noqa: T201 - before Locust logs anything
        raise SystemExit(USAGE) from None
    environment.chatproof = session  # type: ignore[attr-defined]
    session.listen()
    if session.settings.shape != "steady" and not session.settings.open:
        environment.shape_class = _Shape(session)
    if getattr(environment.runner, "worker_state", STATE_INIT) != STATE_INIT:
        session.begin()


@events.test_start.add_listener
def _start(environment: Environment, **_: Any) -> None:
    if hasattr(environment, "chatproof"):  # else this is a worker whose test began before it was ready
        environment.chatproof.begin()


@events.test_stopping.add_listener
def _stop(environment: Environment, **_: Any) -> None:
    environment.chatproof.stop()  # type: ignore[attr-defined]


class _Shape(LoadTestShape):
    """Users over time, by the profile of the session."""

    abstract = True

    def __init__(self, session: Session) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._session = session
        self._users = 1

    def tick(self) -> tuple[int, float]:
        """How many users there should be now, and how fast they may come. The end of the profile leaves them as they
        are: the session ends the test, when the answers on their way have come."""
        level = self._session.settings.profile.level(self.get_run_time())  # type: ignore[no-untyped-call]
        if level is not None:
            self._users = max(1, round(level))
        return self._users, 100.0
