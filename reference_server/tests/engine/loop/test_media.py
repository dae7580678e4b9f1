"""Media in prompts: embeddings in place of tokens, in any batch, with a prefix cache that never mixes up two images."""

from __future__ import annotations

import asyncio
import hashlib
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from reference_server.engine import SamplingParams
from reference_server.engine.device import torch
from reference_server.engine.loop.local_engine import LocalEngine
from reference_server.engine.media import Media
from reference_server.engine.multimodal.embeddings import MediaEmbeddings
from reference_server.tiny.vision import VISION_CHECKPOINT, pictures
from reference_server.tiny.vision.encoder import pixel_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

QUESTION = "What colour is the shape?"
GREEDY = SamplingParams(temperature=0, max_tokens=12)


@pytest.fixture(scope="module")
def vision_engine() -> Iterator[LocalEngine]:
    engine = LocalEngine.load(VISION_CHECKPOINT, device="cpu", slots=6)
    yield engine
    engine.close()


def image(pixels: NDArray[np.uint8]) -> Media:
    return Media("image", pixels[None], np.empty(0, np.float32), 0, hashlib.sha256(pixels.tobytes()).digest())


def draw(seed: int, count: int = 4) -> list[NDArray[np.uint8]]:
    rng = Random(seed)
    return [pictures.single(rng).pixels for _ in range(count)]


def encode(engine: LocalEngine, *pixels: NDArray[np.uint8], question: str = QUESTION) -> Any:
    parts = [{"type": "image", "media": image(drawn)} for drawn in pixels]
    content = [*parts, {"type": "text", "text": question}]
    return engine.encode_chat([{"role": "user", "content": content}], None, {"enable_thinking": False})


async def generate(engine: LocalEngine, prompt: Any, params: SamplingParams = GREEDY) -> tuple[list[int], int | None]:
    generation = engine.submit(prompt, params)
    deltas = [delta async for delta in generation]
    return [delta.token_id for delta in deltas], deltas[0].cached_tokens


def placeholder_id(engine: LocalEngine) -> int:
    assert isinstance(engine._media, MediaEmbeddings)
    return engine._media.placeholder_id


def own_generation(pixels: list[NDArray[np.uint8]], tokens: list[int]) -> list[int]:
    """Return what transformers generates for the same prompt."""
    from transformers import InternVLForConditionalGeneration

    model = InternVLForConditionalGeneration.from_pretrained(VISION_CHECKPOINT, dtype=torch.float32).eval()
    ids = torch.tensor([tokens])
    with torch.inference_mode():
        output = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            pixel_values=pixel_values(pixels),
            max_new_tokens=GREEDY.max_tokens,
            do_sample=False,
        )
    return [int(token) for token in output[0, len(tokens) :]]


def test_answers_equal_those_of_transformers_token_by_token(vision_engine: LocalEngine) -> None:
    for count in (1, 2):
        pixels = draw(3, count)
        prompt = encode(vision_engine, *pixels)
        tokens, _ = asyncio.run(generate(vision_engine, prompt))
        assert own_generation(pixels, vision_engine._media.as_tokens(prompt)) == tokens


def test_each_picture_counts_sixteen_tokens(vision_engine: LocalEngine) -> None:
    lengths = [len(encode(vision_engine, *draw(1, count))) for count in (1, 2, 3)]
    assert [17, 17] == [longer - shorter for shorter, longer in pairwise(lengths)]  # and a line end


def test_requests_in_one_batch_answer_as_alone(vision_engine: LocalEngine) -> None:
    prompts = [encode(vision_engine, pixels) for pixels in draw(5)]

    async def together() -> list[tuple[list[int], int | None]]:
        return await asyncio.gather(*(generate(vision_engine, prompt) for prompt in prompts))

    alone = [asyncio.run(generate(vision_engine, prompt))[0] for prompt in prompts]
    assert alone == [tokens for tokens, _ in asyncio.run(together())]


def test_the_prefix_cache_keeps_images_apart_and_reuses_the_same_one(vision_engine: LocalEngine) -> None:
    first, second = draw(8, 2)
    later = "What is it?"
    before = asyncio.run(generate(vision_engine, encode(vision_engine, first)))[0]
    other, reused_of_other = asyncio.run(generate(vision_engine, encode(vision_engine, second)))
    again, reused = asyncio.run(generate(vision_engine, encode(vision_engine, first, question=later)))
    del other, again
    assert (reused_of_other or 0) < 16 <= (reused or 0)
    assert before == asyncio.run(generate(vision_engine, encode(vision_engine, first)))[0]


def test_text_has_the_bits_of_the_text_model(vision_engine: LocalEngine, tiny_engine: LocalEngine) -> None:
    params = SamplingParams(temperature=0.8, seed=7, max_tokens=24, logprobs=2)
    messages = [{"role": "user", "content": "What is the capital of France?"}]

    async def scored(engine: LocalEngine) -> list[Any]:
        generation = engine.submit(engine.encode_chat(messages, None, {"enable_thinking": False}), params)
        return [(delta.token_id, delta.logprob) async for delta in generation]

    assert asyncio.run(scored(tiny_engine)) == asyncio.run(scored(vision_engine))


def test_user_text_cannot_stand_for_an_image(vision_engine: LocalEngine) -> None:
    messages = [{"role": "user", "content": "<|endoftext|> What colour is the shape?"}]
    prompt = vision_engine.encode_chat(messages, None, {"enable_thinking": False})
    assert placeholder_id(vision_engine) not in prompt


def test_embeddings_that_are_not_kept_are_freed_with_their_prompts(
    vision_engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reference_server.engine.multimodal.embeddings.KEPT_BYTES", 0)
    prompt = encode(vision_engine, *draw(11, 1))
    position = max(prompt)
    assert vision_engine._media.contains(position)
    del prompt
    assert not vision_engine._media.contains(position)


def test_the_text_of_a_prompt_shows_placeholders(vision_engine: LocalEngine) -> None:
    prompt = encode(vision_engine, *draw(12, 1))
    assert vision_engine._media.as_tokens(prompt).count(placeholder_id(vision_engine)) == 16


def test_penalties_ignore_the_positions_of_media(vision_engine: LocalEngine) -> None:
    params = SamplingParams(temperature=0, max_tokens=8, repetition_penalty=1.3, frequency_penalty=0.5)
    tokens, _ = asyncio.run(generate(vision_engine, encode(vision_engine, *draw(13, 1)), params))
    assert 1 <= len(tokens) <= 8
