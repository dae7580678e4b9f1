"""Images of scenarios have the stated pixels, size and number, in the form of the dialect."""

from __future__ import annotations

import io
import json
from base64 import b64decode
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from loadtests.errors import UsageError
from loadtests.shape.images import draw_image
from loadtests.shape.lengths import LengthDistribution
from loadtests.shape.workload import Workload, WorkloadScenario, read_scenario
from openapi.contract.contract import load
from openapi.description.media_forms import media_forms
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from pathlib import Path


def _length(*values: float) -> LengthDistribution:
    return LengthDistribution("choice", values)


def _images(body: Any) -> list[Any]:
    content = body["messages"][-1]["content"]
    return [part for part in content if part["type"] == "image_url"] if isinstance(content, list) else []


@pytest.mark.parametrize("kilobytes", [1, 66, 300])
def test_an_image_has_its_pixels_and_at_least_its_size(kilobytes: int) -> None:
    data = draw_image(Random(1), 96, kilobytes)
    image = Image.open(io.BytesIO(data))
    image.load()
    assert ("JPEG", (96, 96)) == (image.format, image.size)
    assert len(data) - max(1000 * kilobytes, len(draw_image(Random(1), 96, 1))) in range(-3, 1)


@pytest.mark.parametrize("dialect", ["mindie-2.3", "vllm", "openai", "siliconstorm"])
def test_requests_have_images_in_the_form_of_the_dialect(dialect: str) -> None:
    contract = load(dialect)
    scenario = WorkloadScenario(image_share=0.5, images=_length(1, 3), image_side=_length(32), different_images=4)
    workload = Workload(contract, scenario, contract.default_model, seed=1)
    validator = Validator(contract)
    bodies = [json.loads(workload.build_request(number).body) for number in range(40)]
    assert [()] * 40 == [validator.request_problems(body) for body in bodies]
    assert {0, 1, 3} == {len(_images(body)) for body in bodies}
    form = media_forms(contract)["image_url"]
    sent = {form.locate(part) for body in bodies for part in _images(body)}
    assert 4 == len(sent)
    assert {(32, 32)} == {Image.open(io.BytesIO(b64decode(url.partition(",")[2]))).size for url in sent}


def test_a_request_with_images_depends_only_on_seed_and_number() -> None:
    contract = load("vllm")
    scenario = WorkloadScenario(image_share=1.0, image_side=_length(32))
    one, again, other = (Workload(contract, scenario, "m", seed).build_request(3) for seed in (1, 1, 2))
    assert one == again != other


@pytest.mark.parametrize(
    ("dialect", "scenario", "message"),
    [
        ("ovms-2024", WorkloadScenario(image_share=1.0), "ovms-2024 has none inside requests"),
        ("mindie-1.0", WorkloadScenario(image_share=1.0, images=_length(21)), "up to 21 images in a request"),
    ],
)
def test_images_that_the_dialect_does_not_have_are_one_line(
    dialect: str, scenario: WorkloadScenario, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        Workload(load(dialect), scenario, "m", 1)


def test_images_without_pillow_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"its extra \[load\]"):
        Workload(load("vllm"), WorkloadScenario(image_share=1.0), "m", 1)


def test_a_scenario_file_with_properties_of_images_needs_a_share(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text("image_share: 0.5\nimages: {uniform: [1, 4]}\nimage_kilobytes: 800\n")
    expected = WorkloadScenario(
        image_share=0.5, images=LengthDistribution("uniform", (1, 4)), image_kilobytes=_length(800)
    )
    assert expected == read_scenario(path)
    path.write_text("images: 2\n")
    with pytest.raises(UsageError, match="images has no effect without image_share"):
        read_scenario(path)
