"""Decorators and functions that define faults: where a fault hooks in, and to which dialects it applies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.fault import Fault, description_of
from reference_server.faults.fault_middleware import FaultMiddleware
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.engine import Engine, Generation, SamplingParams
    from reference_server.faults.hooks import Affects, Json, ServedRequest


def always(_contract: Contract) -> bool:
    """Apply a fault to every dialect."""
    return True


def requires_check(*checks: str) -> Callable[[Contract], bool]:
    """Apply a fault to dialects that have at least one of these requirements."""
    return lambda contract: any(check in contract.requirements for check in checks)


def has_parameters(*parameters: str) -> Callable[[Contract], bool]:
    """Apply a fault to dialects that have all of these parameters."""
    return lambda contract: set(parameters) <= set(contract.parameters)


def fault(name: str, hook: str, **options: Any) -> Callable[[Callable[..., Any]], Fault]:
    """Make a function a fault at one hook (a field of `Hooks`). Its docstring describes what the server does.

    options: those of `hooked_fault`.
    """

    def make(function: Callable[..., Any]) -> Fault:
        hooks: dict[str, Any] = {hook: function}
        return hooked_fault(name, description_of(function), **hooks, **options)

    return make


def hooked_fault(
    name: str,
    line: str,
    *,
    bugs: Iterable[int] = (),
    applies_to: Callable[[Contract], bool] = always,
    declares: tuple[str, ...] = (),
    denies: tuple[str, ...] = (),
    parameter: str | None = None,
    shows_in: Mapping[str, Any] | None = None,
    benign: bool = False,
    timeout_s: float | None = None,
    flaky: bool = False,
    **hooks: Any,
) -> Fault:
    """Make a fault with several hooks."""
    own_hooks = Hooks(**hooks)
    return Fault(
        name,
        line,
        applies_to,
        lambda app, contract: FaultMiddleware(app, contract, own_hooks),
        bugs=tuple(bugs),
        declares=declares,
        denies=denies,
        parameter=parameter,
        shows_in=shows_in,
        benign=benign,
        timeout_s=timeout_s,
        flaky=flaky,
        affects=own_hooks.affects,
    )


def variation(name: str, line: str, **options: Any) -> Fault:
    """Make a variation: what the server does at these hooks is allowed by every document."""
    return hooked_fault(name, line, benign=True, **options)


def wrapping_fault(
    name: str,
    *,
    bugs: Iterable[int] = (),
    applies_to: Callable[[Contract], bool] = always,
    declares: tuple[str, ...] = (),
    denies: tuple[str, ...] = (),
    benign: bool = False,
    timeout_s: float | None = None,
    flaky: bool = False,
    affects: Affects = "anywhere",
) -> Callable[[Callable[[ASGIApp, Contract], Callable[[Scope, Receive, Send], Awaitable[None]]]], Fault]:
    """Make a function that wraps an application a fault, for behaviour that concerns more than a single answer."""

    def make(function: Callable[[ASGIApp, Contract], Callable[[Scope, Receive, Send], Awaitable[None]]]) -> Fault:
        return Fault(
            name,
            description_of(function),
            applies_to,
            function,
            bugs=tuple(bugs),
            declares=declares,
            denies=denies,
            benign=benign,
            timeout_s=timeout_s,
            flaky=flaky,
            affects=affects,
        )

    return make


def choices_of(response: Json) -> Iterator[Json]:
    """Yield the choices of an answer or a chunk."""
    yield from response.get("choices") or ()


def message_of(choice: Json) -> Json:
    """Return the message of a choice, or its delta."""
    part: Json = choice["message"] if "message" in choice else choice["delta"]
    return part


def choice_fault(
    name: str,
    edit: Callable[[Json, ServedRequest], object],
    line: str,
    *,
    plain: bool = True,
    streamed: bool = True,
    **options: Any,
) -> Fault:
    """Make a fault that edits every choice, in plain answers, in chunks, or in both."""

    def change(response: Json, request: ServedRequest) -> None:
        for choice in choices_of(response):
            edit(choice, request)

    return hooked_fault(name, line, answer=change if plain else None, chunk=change if streamed else None, **options)


def envelope_fault(
    name: str,
    edit: Callable[[Json, ServedRequest], object],
    line: str,
    *,
    plain: bool = True,
    streamed: bool = True,
    **options: Any,
) -> Fault:
    """Make a fault that edits the top level of plain answers, of chunks, or of both."""
    return hooked_fault(name, line, answer=edit if plain else None, chunk=edit if streamed else None, **options)


class EditedEngine:
    """An engine that receives other sampling parameters than the request contains."""

    def __init__(self, engine: Engine, edit: Callable[[SamplingParams], SamplingParams]) -> None:
        self._engine = engine
        self._edit = edit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, prompt: list[int], params: SamplingParams) -> Generation:
        """Submit the prompt with edited parameters."""
        return self._engine.submit(prompt, self._edit(params))


def sampling_fault(
    name: str, *, bugs: Iterable[int] = (), applies_to: Callable[[Contract], bool] = always, benign: bool = False
) -> Callable[[Callable[[SamplingParams], SamplingParams]], Fault]:
    """Make a function over the engine's parameters a fault."""

    def make(function: Callable[[SamplingParams], SamplingParams]) -> Fault:
        def wrap(engine: Engine) -> Engine:
            return EditedEngine(engine, function)  # delegates everything else to the engine

        return Fault(
            name,
            description_of(function),
            applies_to,
            lambda app, _contract: app,
            wrap,
            bugs=tuple(bugs),
            benign=benign,
            affects="sampling",
        )

    return make
