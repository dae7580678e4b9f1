"""The locustfile: run it with `locust -f`, or with `chatproof load`, which has better defaults."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import gevent
from locust import LoadTestShape, User, constant, events, task
from locust.exception import RescheduleTaskImmediately
from locust.runners import STATE_INIT

from loadtests.errors import UsageError
from loadtests.measure.locust_rows import widen_buckets
from loadtests.run.csv_writer import use_ending_writer
from loadtests.run.finalization import register_handlers
from loadtests.run.options import add_options
from loadtests.run.session import Session
from loadtests.run.settings import build_settings

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from locust.env import Environment

USAGE = 2
IDLE_S = 1.0
POLL_S = 0.05


class LoadUser(User):
    """One user of a closed loop. In an open loop users wait, and the session sends requests by its plan."""

    wait_time = constant(0)

    def on_start(self) -> None:
        """Create a connection for this user."""
        while not hasattr(self.environment, "chatproof"):  # a worker gets users as soon as it is connected
            gevent.sleep(POLL_S)
        self._session: Session = self.environment.chatproof
        self._caller = self._session.generator.create_caller()

    @task
    def load(self) -> None:
        """Send the next request.

        The load generator waits for the think time: Locust's own wait would cost a turn of the event loop each time.
        """
        if self._session.settings.open_loop:
            gevent.sleep(IDLE_S)
        else:
            self._session.generator.send_next(self._caller)
        raise RescheduleTaskImmediately

    def on_stop(self) -> None:
        """Close the connection."""
        self._caller.close()

    def stop(self, force: bool = False) -> bool:
        """End this user: with the test, or before it if there are fewer users or another worker takes them over."""
        if "_caller" in vars(self):
            self._session.generator.count_interrupted(self._caller)
        return bool(super().stop(force))


@events.init_command_line_parser.add_listener
def _options(parser: ArgumentParser, **_: Any) -> None:
    use_ending_writer()
    add_options(parser)


@events.init.add_listener
def _init(environment: Environment, **_: Any) -> None:
    widen_buckets()
    if environment.parsed_options is None:
        return
    try:
        session = Session(environment, build_settings(environment.parsed_options))
        register_handlers(environment, session)
    except UsageError as error:
        print(f"chatproof: {error}", file=sys.stderr)  # noqa: T201 - Locust has not set up logging yet
        raise SystemExit(USAGE) from None
    environment.chatproof = session  # type: ignore[attr-defined]
    session.register_handlers()
    if session.settings.shape != "steady" and not session.settings.open_loop:
        environment.shape_class = _Shape(session)
    if getattr(environment.runner, "worker_state", STATE_INIT) != STATE_INIT:
        session.start()


@events.test_start.add_listener
def _start(environment: Environment, **_: Any) -> None:
    if hasattr(environment, "chatproof"):  # missing on a worker whose test began before it was ready
        environment.chatproof.start()


@events.test_stopping.add_listener
def _stop(environment: Environment, **_: Any) -> None:
    environment.chatproof.stop()  # type: ignore[attr-defined]


class _Shape(LoadTestShape):
    """The number of users over time, by the profile of the session."""

    abstract = True

    def __init__(self, session: Session) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._session = session
        self._users = 1

    def tick(self) -> tuple[int, float]:
        """Return the current number of users and the spawn rate.

        After the end of the profile the number stays: the session ends the test when the answers in flight have ended.
        """
        level = self._session.settings.profile.level(self.get_run_time())  # type: ignore[no-untyped-call]
        if level is not None:
            self._users = max(1, round(level))
        return self._users, 100.0
