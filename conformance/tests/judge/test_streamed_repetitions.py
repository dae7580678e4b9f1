"""A step that is also streamed is judged, in its stream, by every check that judges the step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.judge.judgement import trace_reads
from conformance.proof.editing.streams import edit_chunks
from openapi.contract.contract import names

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.exchange import Exchange
    from conformance.tests.conftest import Good

PROMPT = "prompt_token_ids"


@pytest.mark.parametrize("dialect", sorted(set(names().values())))
def test_every_relation_of_a_step_judges_its_stream_in_its_place(
    read_good: Callable[[str], Good], dialect: str
) -> None:
    assertions = [item for item in read_good(dialect).plan.assertions if item.check.over]
    for scenario in {item.scenario.id: item.scenario for item in assertions}.values():
        for step in (step for step in scenario.steps if step.streams_as is not None):
            relations = {
                item.check.id: item.check.over
                for item in assertions
                if item.scenario.id == scenario.id and step.streams_as in item.check.over
            }
            judged = {
                item.check.id: item.check.steps(scenario, item.step, ())
                for item in assertions
                if item.scenario.id == scenario.id and item.step.name == step.name
            }
            replaced = {
                check: tuple(step.name if name == step.streams_as else name for name in over)
                for check, over in relations.items()
            }
            assert replaced == judged


def test_an_effect_that_is_lost_in_streams_is_reported(read_good: Callable[[str], Good]) -> None:
    good = read_good("vllm")
    key = "prompts-cut", "cut-right-streamed"
    left: Any = good.exchanges["prompts-cut", "cut-left"].json[PROMPT]

    def cut_on_the_left(exchange: Exchange) -> Exchange:
        return edit_chunks(exchange, lambda chunk: chunk.update({PROMPT: left} if PROMPT in chunk else {}))

    assertions = [
        item for item in good.plan.assertions if item.check.id == "prompt.side-kept" and item.step.name == key[1]
    ]
    wrong = cut_on_the_left(good.exchanges[key])
    (passed,), (failed,) = (good.judge({key: exchange}, assertions) for exchange in (good.exchanges[key], wrong))
    assert (0, 1) == (len(passed.findings), len(failed.findings))
    recorded = {**good.exchanges, key: wrong}
    reads = trace_reads(failed, recorded, good.contract, good.validator, good.model)
    assert wrong.id in {exchange for exchange, _ in reads}
