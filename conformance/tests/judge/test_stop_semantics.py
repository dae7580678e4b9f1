"""Test what the checks of stop strings mean by a leak, an answer that fits, and one that diverges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from conformance.proof.editing.answers import edit_text
from conformance.proof.editing.streams import edit_frames

if TYPE_CHECKING:
    from conformance.exchange import Exchange
    from conformance.tests.conftest import Good


def stopped(good: Good, step: str, text: str) -> dict[tuple[str, str], Exchange]:
    """Return the stop-text scenario with another text in one answer."""
    exchange = good.exchanges["stop-text", step]
    if not exchange.is_stream:
        return {("stop-text", step): edit_text(exchange, lambda _: text)}
    texts = iter([text])

    def rewrite(frames: list[Any]) -> list[Any]:
        return [
            frame.edited(lambda chunk: chunk["choices"][0]["delta"].update(content=next(texts, "")))
            if (frame.chunk or {}).get("choices")
            else frame
            for frame in frames
        ]

    return {("stop-text", step): edit_frames(exchange, rewrite)}


def judge_stop(good: Good, identity: str, changed: dict[tuple[str, str], Exchange]) -> str:
    """Judge a changed answer with a check of stop strings: found, fits or diverged."""
    (assertion,) = good.of(identity, "stop-text")
    (judgement,) = good.judge(changed, [assertion])
    assert judgement.error is None
    return "found" if judgement.findings else "fits" if judgement.unobserved is None else "diverged"


@pytest.mark.parametrize("step", ["stopped", "stopped-streamed"])
def test_a_leak_is_distinguished_from_a_diverging_answer(mindie: Good, step: str) -> None:
    whole = mindie.exchanges["stop-text", "baseline"].content() or ""
    stop = mindie.exchanges["stop-text", step].request_json["stop"]
    until = whole[: whole.find(stop)]
    for text, expected in (
        (until, "fits"),
        (until + stop[0], "found"),
        (until + stop, "found"),
        (whole, "found"),
        (until[:-1], "found"),
        ("", "found"),
        (f"{until[:3]}#{until[3:]}", "diverged"),
        ("Certainly!", "diverged"),
    ):
        assert expected == judge_stop(mindie, "stop.cut-where-it-starts", stopped(mindie, step, text)), text


def test_a_leak_is_reported_although_another_answer_diverges(mindie: Good) -> None:
    whole = mindie.exchanges["stop-text", "baseline"].content() or ""
    changed = {**stopped(mindie, "stopped", "Certainly!"), **stopped(mindie, "stopped-streamed", whole)}
    assert judge_stop(mindie, "stop.cut-where-it-starts", changed) == "found"


def test_an_included_stop_string_ends_the_answer(mindie: Good) -> None:
    whole = mindie.exchanges["stop-text", "baseline"].content() or ""
    stop = mindie.exchanges["stop-text", "included"].request_json["stop"][-1]
    until = whole[: whole.find(stop)]
    for text, expected in (
        (until + stop, "fits"),
        (until, "found"),
        (until + stop[:-1], "found"),
        (whole, "found"),
        (f"{until}{stop} and more", "found"),
        (f"{until}#", "found"),
        ("Certainly!", "diverged"),
    ):
        found = judge_stop(mindie, "stop.included-on-request", stopped(mindie, "included", text))
        assert expected == found, text
