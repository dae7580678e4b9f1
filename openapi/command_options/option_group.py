"""Options that several commands may share, given to the command as one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import click


def add_option_group(
    options: Sequence[click.Option], argument: str, build: Callable[..., Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds options to a command, which gets what `build` makes of their values.

    argument: the name by which the command gets it. build: gets the values in the order of the options.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        def with_group(**values: Any) -> Any:
            own = [values.pop(str(option.name)) for option in options]
            return command(**{argument: build(*own)}, **values)

        with_group.__doc__ = command.__doc__
        known = getattr(command, "__click_params__", [])
        with_group.__click_params__ = [*known, *reversed(options)]  # type: ignore[attr-defined]  # as click does
        return with_group

    return decorate
