"""Decorators: what makes a function a fault, and words for whom it fits and whom it edits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.fault import Fault, said
from reference_server.faults.fault_middleware import Faulty
from reference_server.faults.hooks import Seams

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.engine import Engine, Generation, SamplingParams
    from reference_server.faults.fault import Place
    from reference_server.faults.hooks import Json, Told


def always(_contract: Contract) -> bool:
    """Every dialect speaks to it."""
    return True


def demands(*checks: str) -> Callable[[Contract], bool]:
    """The dialect has one of these requirements."""
    return lambda contract: any(check in contract.requirements for check in checks)


def knows(*parameters: str) -> Callable[[Contract], bool]:
    """The dialect has all of these parameters."""
    return lambda contract: set(parameters) <= set(contract.parameters)


def fault(name: str, at: str, **options: Any) -> Callable[[Callable[..., Any]], Fault]:
    """Makes a function a fault at one seam (a field of Seams). Its docstring says what the server does.

    options: as `at_seams` has them.
    """

    def make(function: Callable[..., Any]) -> Fault:
        seam: dict[str, Any] = {at: function}
        return at_seams(name, said(function), **seam, **options)

    return make


def at_seams(
    name: str,
    line: str,
    *,
    bugs: Iterable[int] = (),
    fits: Callable[[Contract], bool] = always,
    declares: tuple[str, ...] = (),
    denies: tuple[str, ...] = (),
    about: str | None = None,
    benign: bool = False,
    patience_s: float | None = None,
    restless: bool = False,
    **seams: Any,
) -> Fault:
    """A fault that takes hold at several seams."""
    made = Seams(**seams)
    return Fault(
        name,
        line,
        fits,
        lambda app, contract: Faulty(app, contract, made),
        bugs=tuple(bugs),
        declares=declares,
        denies=denies,
        about=about,
        benign=benign,
        patience_s=patience_s,
        restless=restless,
        shows=made.shows,
    )


def allowed(name: str, line: str, **options: Any) -> Fault:
    """A variation: what the server does at these seams is allowed by every document."""
    return at_seams(name, line, benign=True, **options)


def around(
    name: str,
    *,
    bugs: Iterable[int] = (),
    fits: Callable[[Contract], bool] = always,
    declares: tuple[str, ...] = (),
    denies: tuple[str, ...] = (),
    benign: bool = False,
    patience_s: float | None = None,
    restless: bool = False,
    shows: Place = "anywhere",
) -> Callable[[Callable[[ASGIApp, Contract], Callable[[Scope, Receive, Send], Awaitable[None]]]], Fault]:
    """Makes a function from an application to another one a fault: for what a server does beyond a single answer."""

    def make(function: Callable[[ASGIApp, Contract], Callable[[Scope, Receive, Send], Awaitable[None]]]) -> Fault:
        return Fault(
            name,
            said(function),
            fits,
            function,
            bugs=tuple(bugs),
            declares=declares,
            denies=denies,
            benign=benign,
            patience_s=patience_s,
            restless=restless,
            shows=shows,
        )

    return make


def choices_of(holder: Json) -> Iterator[Json]:
    """The choices of an answer or a chunk."""
    yield from holder.get("choices") or ()


def spoken(choice: Json) -> Json:
    """The message of a choice, or its delta."""
    part: Json = choice["message"] if "message" in choice else choice["delta"]
    return part


def said_by(
    name: str,
    edit: Callable[[Json, Told], object],
    line: str,
    *,
    plain: bool = True,
    streamed: bool = True,
    **options: Any,
) -> Fault:
    """A fault of every choice, in plain answers and in chunks, or in one kind of them only."""

    def change(holder: Json, told: Told) -> None:
        for choice in choices_of(holder):
            edit(choice, told)

    return at_seams(name, line, answer=change if plain else None, chunk=change if streamed else None, **options)


def held_by(
    name: str,
    edit: Callable[[Json, Told], object],
    line: str,
    *,
    plain: bool = True,
    streamed: bool = True,
    **options: Any,
) -> Fault:
    """A fault of the envelope of plain answers and of chunks, or of one kind of them only."""
    return at_seams(name, line, answer=edit if plain else None, chunk=edit if streamed else None, **options)


class OtherEngine:
    """An engine that is asked for something else than it was."""

    def __init__(self, engine: Engine, edit: Callable[[SamplingParams], SamplingParams]) -> None:
        self._engine = engine
        self._edit = edit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, prompt: list[int], params: SamplingParams) -> Generation:
        """As the engine's own, with other parameters."""
        return self._engine.submit(prompt, self._edit(params))


def sampled(
    name: str, *, bugs: Iterable[int] = (), fits: Callable[[Contract], bool] = always
) -> Callable[[Callable[[SamplingParams], SamplingParams]], Fault]:
    """Makes a function over the engine's parameters a fault."""

    def make(function: Callable[[SamplingParams], SamplingParams]) -> Fault:
        def other(engine: Engine) -> Engine:
            return OtherEngine(engine, function)  # what is not here is the engine's own

        return Fault(name, said(function), fits, lambda app, _contract: app, other, bugs=tuple(bugs), shows="sampling")

    return make
