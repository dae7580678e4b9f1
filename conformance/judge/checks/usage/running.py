"""Checks of the usage so far, which the chunks of a stream have on request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.check import Applicability, Context, Finding, NotExercised, check
from conformance.judge.applicability import STREAMED_ANSWER, not_generated
from conformance.judge.token_counts import usage_counts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

STREAM: Final = not_generated(STREAMED_ANSWER)
RUNNING: Final = Applicability(
    lambda scenario, step, contract: _asks(step.body) and STREAM.applies_to(scenario, step, contract), STREAM.unmet
)
"""Streams whose request asks for the usage so far."""


@check("usage.running-given", on=RUNNING)
def every_chunk_has_the_usage_so_far(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With continuous_usage_stats every chunk with a choice has usage."""
    for at, chunk in exchange.walk.chunks:
        if chunk.get("choices") and not isinstance(chunk.get("usage"), dict):
            yield Finding(f"/events/{at}/usage", "an object", repr(chunk.get("usage", "absent"))[:80])
            return


@check("usage.running-leads-to-the-last", on=RUNNING)
def usage_so_far_leads_to_the_last(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The usage so far of an answer with one choice counts the same prompt as the last one, and no fewer completion
    tokens than before.
    """
    prompt, completion, _total = usage_counts(exchange)
    if len(exchange.choices) > 1:
        raise NotExercised("the answer has several choices, each of which may have its own usage")
    least = 0
    for at, chunk in exchange.walk.chunks:
        usage = chunk.get("usage")
        if not isinstance(usage, dict):
            continue
        read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if read != prompt:
            yield Finding(f"/events/{at}/usage/prompt_tokens", f"{prompt}, as at the end", repr(read))
            return
        if type(written) is not int or not least <= written <= completion:
            expected = f"{least} to {completion}"
            yield Finding(f"/events/{at}/usage/completion_tokens", expected, repr(written))
            return
        least = written


def _asks(body: Any) -> bool:
    options = (body or {}).get("stream_options")
    return isinstance(options, dict) and options.get("continuous_usage_stats") is True
