"""Vision-language checkpoints through their own processors: the answers are those of transformers' `generate`."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from reference_server.engine import SamplingParams
from reference_server.engine.device import torch
from reference_server.engine.loop.local_engine import LocalEngine
from reference_server.engine.media import Media
from reference_server.engine.multimodal.embeddings import is_media_id
from reference_server.engine.protocol import PromptTooLong
from reference_server.tests.engine.multimodal.tiny_checkpoints import FAMILIES, open_reference, save_checkpoint

Image = pytest.importorskip("PIL.Image", reason="processors need the extra `media`")

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

GREEDY: Final = SamplingParams(temperature=0, max_tokens=12, ignore_eos=True)
SIZES: Final = ((60, 80), (128, 90), (30, 31))


class Served:
    """One checkpoint, served and opened by transformers."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        self.engine = LocalEngine.load(path, device="cpu", slots=4)
        self.model, self.processor = open_reference(path)

    def encode(self, messages: list[dict[str, Any]]) -> list[int]:
        return self.engine.encode_chat(messages)

    def generate(self, messages: list[dict[str, Any]]) -> list[int]:
        return asyncio.run(answer(self.engine, self.encode(messages)))

    def expected_inputs(self, messages: list[dict[str, Any]]) -> Any:
        conversation = [{**message, "content": list(map(as_own_part, message["content"]))} for message in messages]
        options: dict[str, Any] = {}
        if videos := [video for message in messages for video in media_of(message, "video")]:
            metadata = [
                {
                    "total_num_frames": len(video.frames),
                    "fps": video.frames_per_s,
                    "frames_indices": list(range(len(video.frames))),
                }
                for video in videos
            ]
            options = {"processor_kwargs": {"video_metadata": [metadata], "do_sample_frames": False}}
        return self.processor.apply_chat_template(
            conversation, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt", **options
        )

    def expected_answer(self, messages: list[dict[str, Any]]) -> list[int]:
        inputs = self.expected_inputs(messages)
        with torch.inference_mode():
            ids = self.model.generate(
                **inputs, do_sample=False, max_new_tokens=GREEDY.max_tokens, min_new_tokens=0, eos_token_id=[]
            )
        return [int(token) for token in ids[0, inputs["input_ids"].shape[1] :]]


def media_of(message: dict[str, Any], kind: str) -> list[Media]:
    return [part["media"] for part in message["content"] if part["type"] == kind]


def as_own_part(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part as transformers takes it."""
    if part["type"] == "image":
        return {"type": "image", "image": Image.fromarray(part["media"].frames[0])}
    if part["type"] == "video":
        return {"type": "video", "video": part["media"].frames}
    return part


async def answer(engine: LocalEngine, prompt: list[int], params: SamplingParams = GREEDY) -> list[int]:
    return [delta.token_id async for delta in engine.submit(prompt, params)]


@pytest.fixture(scope="module", params=FAMILIES)
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    opened = Served(save_checkpoint(tmp_path_factory.mktemp(request.param), request.param), request.param)
    yield opened
    opened.engine.close()


def pixels(seed: int, height: int, width: int) -> NDArray[np.uint8]:
    """Return a picture of a few large squares of random colours."""
    squares = np.random.default_rng(seed).integers(0, 256, (4, 4, 3), np.uint8)
    return squares.repeat(-(-height // 4), 0).repeat(-(-width // 4), 1)[:height, :width]


def image(seed: int, size: tuple[int, int] = SIZES[0]) -> dict[str, Any]:
    drawn = pixels(seed, *size)
    digest = hashlib.sha256(drawn.tobytes()).digest()
    return {"type": "image", "media": Media("image", drawn[None], np.empty(0, np.float32), 0, digest)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def conversations() -> dict[str, list[dict[str, Any]]]:
    earlier = user(text("Look:"), image(4, SIZES[1]))
    reply = {"role": "assistant", "content": [text("A house.")]}
    return {
        "one image": [user(image(1), text("What is this?"))],
        "several images": [user(*(image(2 + at, size) for at, size in enumerate(SIZES)), text("Compare them."))],
        "media in an earlier turn": [earlier, reply, user(text("And this?"), image(5, SIZES[2]))],
        "media in an earlier turn alone": [earlier, reply, user(text("Why?"))],
        "text": [user(text("Hello."))],
    }


@pytest.mark.takes_turns
@pytest.mark.parametrize("name", conversations())
def test_answers_and_prompts_equal_those_of_transformers_token_by_token(served: Served, name: str) -> None:
    messages = conversations()[name]
    prompt = served.encode(messages)
    assert served.expected_inputs(messages)["input_ids"][0].tolist() == served.engine._media.as_tokens(prompt)
    assert served.expected_answer(messages) == asyncio.run(answer(served.engine, prompt))


def test_different_images_have_different_answers(served: Served) -> None:
    answers = [served.generate([user(image(seed), text("What is this?"))]) for seed in (1, 6)]
    assert answers[0] != answers[1]


def test_requests_at_once_get_the_answers_of_their_own_images(served: Served) -> None:
    prompts = [served.encode([user(image(seed), text("What is this?"))]) for seed in (1, 6, 7)]

    async def together() -> list[list[int]]:
        return await asyncio.gather(*(answer(served.engine, prompt) for prompt in prompts))

    alone = [asyncio.run(answer(served.engine, prompt)) for prompt in prompts]
    assert alone == asyncio.run(together())


def test_each_choice_continues_over_a_copy_of_the_state_of_an_image(served: Served) -> None:
    prompt = served.encode([user(image(1), text("What is this?"))])
    params = replace(GREEDY, n=3)

    async def choices() -> list[list[int]]:
        tokens: list[list[int]] = [[], [], []]
        async for delta in served.engine.submit(prompt, params):
            tokens[delta.index].append(delta.token_id)
        return tokens

    assert [asyncio.run(answer(served.engine, prompt))] * 3 == asyncio.run(choices())


def test_strings_and_parts_make_the_same_prompt(served: Served) -> None:
    question = "What is the capital?"
    prompts = [served.encode([{"role": "user", "content": content}]) for content in (question, [text(question)])]
    assert prompts[0] == prompts[1]
    assert question in served.processor.tokenizer.decode(prompts[0])


def test_user_text_cannot_stand_for_media(served: Served) -> None:
    written = " ".join(served.processor.tokenizer.all_special_tokens)
    plain = served.encode([user(text(written), text("?"))])
    prompt = served.encode([user(text(written), image(1), text(written))])
    named = [token_id for token_id in prompt if is_media_id(token_id)]
    expected = [token_id for token_id in served.encode([user(image(1))]) if is_media_id(token_id)]
    assert (len(expected), 0) == (len(named), sum(map(is_media_id, plain)))
    assert written in served.processor.tokenizer.decode(plain)


@pytest.mark.takes_turns
def test_a_cancelled_request_frees_what_it_held(served: Served) -> None:
    prompt = served.encode([user(image(8), text("What is this?"))])
    position = max(prompt)

    async def cancel() -> None:
        generation = served.engine.submit(prompt, SamplingParams(temperature=0, max_tokens=3000, ignore_eos=True))
        await anext(generation)
        generation.cancel()
        while served.engine.current_load.running:
            await asyncio.sleep(0.01)

    asyncio.run(cancel())
    assert served.engine._media.contains(position)
    prompt = []
    gc.collect()
    served.generate([user(text("Next."))])  # the driver has let go of the request before
    assert not served.engine._media.contains(position)
    assert [None] * 4 == served.engine._runner._states  # type: ignore[attr-defined]


def test_a_huge_image_stays_within_the_bounds_of_the_processor(served: Served) -> None:
    prompt = served.encode([user(image(1, (2000, 3000)), text("What is this?"))])
    assert len(prompt) < 128
    assert len(asyncio.run(answer(served.engine, prompt))) == GREEDY.max_tokens


def test_media_that_exceed_the_limit_of_tokens_are_refused_with_the_arithmetic(served: Served) -> None:
    engine = LocalEngine.load(served.path, device="cpu", slots=1, max_model_len=64)
    try:
        many = engine.encode_chat([user(*[image(1, (500, 500))] * 8)])
        media_tokens = sum(map(is_media_id, many))
        with pytest.raises(PromptTooLong) as refused:
            engine.submit(many, GREEDY)
    finally:
        engine.close()
    arithmetic = f"{len(many)} tokens ({len(many) - media_tokens} of text and {media_tokens} of media)"
    assert f"the prompt has {arithmetic}, but at most 63 fit: shorten it" == str(refused.value)


def test_a_prompt_with_media_is_never_truncated(served: Served) -> None:
    prompt = served.encode([user(image(1), text("What is this?"))])
    with pytest.raises(ValueError, match="cannot be truncated"):
        served.engine.submit(prompt, SamplingParams(truncate_prompt_tokens=5))


def test_the_line_at_start_names_the_kinds_that_are_served(served: Served) -> None:
    from transformers.utils import is_torchvision_available

    assert served.engine.media is not None
    kinds = sorted(served.engine.media.kinds)
    assert f", {' and '.join(kinds)} through its processor" in served.engine.describe()
    assert "image" in kinds
    assert ("video" in kinds) == (is_torchvision_available() and "video_token" in FAMILIES[served.name].tokens)
    wants_torchvision = "video_token" in FAMILIES[served.name].tokens and not is_torchvision_available()
    assert wants_torchvision == ("other media are refused (video: torchvision is" in served.engine.describe())
    assert "media" not in served.engine.lacking


def test_videos_are_answered_as_by_transformers(served: Served) -> None:
    if "video" not in served.engine.media.kinds:  # type: ignore[union-attr]
        pytest.skip("the processor takes no videos, or needs torchvision for them")
    frames = np.stack([pixels(seed, 56, 84) for seed in range(6)])
    video = {"type": "video", "media": Media("video", frames, np.empty(0, np.float32), 0, b"v", 2.0)}
    for messages in ([user(video, text("What happens?"))], [user(image(1), video, text("Is it in there?"))]):
        prompt = served.encode(messages)
        assert served.expected_inputs(messages)["input_ids"][0].tolist() == served.engine._media.as_tokens(prompt)
        assert served.expected_answer(messages) == asyncio.run(answer(served.engine, prompt))


def load_changed(path: Path, target: Path, change: Any) -> LocalEngine:
    """Return an engine for a copy of a checkpoint in which `change` has changed files."""
    target.mkdir()
    for file in path.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    change(target)
    return LocalEngine.load(target, device="cpu", slots=2)


def remove_processor(path: Path) -> None:
    (path / "processor_config.json").unlink()


def break_processor(path: Path) -> None:
    described = json.loads((path / "processor_config.json").read_text())
    described["image_processor"] = {"image_processor_type": "UnknownImageProcessor"}
    (path / "processor_config.json").write_text(json.dumps(described))


def show_no_media(path: Path) -> None:
    template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    (path / "chat_template.jinja").write_text(template)


@pytest.mark.takes_turns
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (remove_processor, "it contains no processor"),
        (break_processor, "its processor cannot be loaded ("),
        (show_no_media, "image: the processor cannot prepare the media: "),
    ],
)
def test_a_checkpoint_without_a_usable_processor_serves_text_and_says_why(
    served: Served, tmp_path: Path, change: Any, reason: str
) -> None:
    engine = load_changed(served.path, tmp_path / "changed", change)
    try:
        prompt = engine.encode_chat([{"role": "user", "content": "Hello."}])
        assert f", media are refused ({reason}" in engine.describe()
        assert (None, True) == (engine.media, "media" in engine.lacking)
        assert len(asyncio.run(answer(engine, prompt))) == GREEDY.max_tokens
    finally:
        engine.close()


def test_log_probabilities_of_a_prompt_with_an_image_are_those_of_the_model(served: Served) -> None:
    messages = [user(image(1), text("What is this?"))]
    inputs = served.expected_inputs(messages)
    with torch.inference_mode():
        scores = served.model(**inputs).logits[0].log_softmax(-1)
    ids = inputs["input_ids"][0].tolist()
    expected = [float(scores[at, token]) for at, token in enumerate(ids[1:])]

    async def described() -> Any:
        deltas = [delta async for delta in served.engine.submit(served.encode(messages), params)]
        return deltas[0].prompt

    params = replace(GREEDY, max_tokens=1, prompt_logprobs=0)
    prompt = asyncio.run(described())
    assert tuple(ids) == prompt.token_ids
    assert expected == pytest.approx([entries[0].logprob for entries in prompt.logprobs[1:]], abs=1e-4)
