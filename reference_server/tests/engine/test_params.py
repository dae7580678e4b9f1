"""96 random sets of parameters: the answers are the same alone and in a full batch of 32."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

from reference_server.engine import Delta, Repetition, SamplingParams

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.loop.local_engine import LocalEngine

SETS = 96
BATCH = 32


def _params(generator: random.Random, vocabulary: int) -> SamplingParams:
    """Return random parameters; each has its default value half of the time."""

    def sometimes(value: Any, otherwise: Any) -> Any:
        return value if generator.random() < 0.5 else otherwise

    def ids(count: int) -> list[int]:
        return generator.sample(range(vocabulary), count)

    n = sometimes(generator.randrange(1, 4), 1)
    best_of = sometimes(generator.randrange(n, 5), None)
    beams = generator.random() < 0.2
    max_tokens = generator.randrange(1, 16)
    return SamplingParams(
        max_tokens=max_tokens,
        temperature=sometimes(generator.choice([0.0, 0.3, 0.9, 1.7]), 1.0),
        top_p=sometimes(generator.uniform(0.05, 1.0), 1.0),
        top_k=sometimes(generator.choice([1, 3, 40, 10**6]), 0),
        min_p=sometimes(generator.choice([0.01, 0.2, 1.0]), 0.0),
        logit_bias=sometimes(tuple((token, generator.uniform(-9, 9)) for token in ids(9)), ()),
        # enough for a beam search with five beams
        allowed_token_ids=sometimes(frozenset(ids(50)), None) if generator.random() < 0.5 else None,
        bad_words=sometimes(tuple(generator.sample(["the", "o", "again", "你好", " a"], 3)), ()),
        min_tokens=sometimes(generator.randrange(max_tokens + 1), 0),
        presence_penalty=sometimes(generator.uniform(-2, 2), 0.0),
        frequency_penalty=sometimes(generator.uniform(-2, 2), 0.0),
        repetition_penalty=sometimes(generator.uniform(0.3, 2), 1.0),
        seed=generator.randrange(2**64),
        stop=sometimes(tuple(generator.sample(["e", " a", "你", "\n", "th", "ick"], 2)), ()),
        stop_token_ids=sometimes(frozenset(ids(5)), frozenset()),
        include_stop_str_in_output=sometimes(True, False),
        skip_special_tokens=sometimes(False, True),
        ignore_eos=sometimes(True, False),
        logprobs=sometimes(generator.randrange(6), None),
        logprob_token_ids=sometimes(tuple(ids(3)), ()),
        prompt_logprobs=sometimes(generator.randrange(3), None),
        truncate_prompt_tokens=sometimes(generator.choice([-1, 1, 20]), None),
        keeps_beginning=sometimes(True, False),
        priority=sometimes(generator.randrange(-2, 3), 0),
        repetition=sometimes(Repetition(4, 1, 3), None),
        spaces_between_special_tokens=sometimes(False, True),
        thinking_budget=sometimes(generator.randrange(4), None),
        reasoning=sometimes(True, False),
        n=n,
        best_of=best_of,
        beam_search=beams,
        length_penalty=sometimes(generator.uniform(-1, 2), 1.0),
        beam_groups=sometimes(best_of or n, 1) if beams else 1,
        diversity_penalty=sometimes(generator.uniform(0, 2), 0.0),
    )


def _content_by_choice(deltas: list[Delta]) -> dict[int, list[Any]]:
    """Return the content of each choice, without measurements."""
    choices: dict[int, list[Any]] = {}
    for delta in deltas:
        content = (delta.token_id, delta.text, delta.reasoning, delta.finish_reason, delta.stop_reason, delta.logprob)
        choices.setdefault(delta.index, []).append(content)
    return choices


def test_random_parameters_give_the_same_answers_alone_and_in_a_batch_of_32(
    load_engine: Callable[..., LocalEngine],
) -> None:
    engine = load_engine(slots=BATCH)
    generator = random.Random(20)
    sets = [_params(generator, engine.vocabulary_size) for _ in range(SETS)]
    lengths = [generator.randrange(1, 80) for _ in range(SETS)]
    prompts = [[generator.randrange(engine.vocabulary_size) for _ in range(length)] for length in lengths]

    sizes: set[int] = set()

    async def one(at: int) -> dict[int, list[Any]]:
        deltas = [delta async for delta in engine.submit(prompts[at], sets[at])]
        sizes.update(delta.batch_size for delta in deltas if delta.batch_size)
        return _content_by_choice(deltas)

    async def alone() -> list[dict[int, list[Any]]]:
        return [await one(at) for at in range(SETS)]

    async def together() -> list[dict[int, list[Any]]]:
        return await asyncio.gather(*map(one, range(SETS)))

    expected = asyncio.run(alone())
    assert [params.n for params in sets] == list(map(len, expected))
    assert expected == asyncio.run(together())
    assert max(sizes) == engine._driver.scheduler.free_slots == BATCH
