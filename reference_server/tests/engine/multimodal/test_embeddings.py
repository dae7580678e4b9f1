"""Test that the embeddings of a medium exist as long as any prompt with it, and are kept for later prompts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np
import pytest
import torch

from reference_server.engine.media import Media
from reference_server.engine.multimodal.embeddings import MediaEmbeddings

PLACEHOLDER = 3
POSITIONS = 2
IMAGE = Media("image", np.zeros((1, 2, 2, 3), np.uint8), np.zeros(0, np.float32), 16_000, b"the same")


@pytest.mark.parametrize("ended", [0, 1])
def test_of_two_requests_with_the_same_image_at_the_same_time_one_may_end_before_the_other(ended: int) -> None:
    embeddings, both_encode = MediaEmbeddings(PLACEHOLDER), Barrier(2)

    def encode(_: Media) -> torch.Tensor:
        both_encode.wait(timeout=10)  # neither request finds the rows of the other
        return torch.ones(POSITIONS, 4)

    with ThreadPoolExecutor(2) as threads:
        requests = list(threads.map(lambda _: embeddings.add(IMAGE, encode), range(2)))
    ids = list(requests[0].ids)
    del requests[ended]
    assert embeddings.contains(ids[0])
    assert POSITIONS == len(embeddings.embed(ids, torch.nn.Embedding(8, 4)))


@pytest.mark.parametrize(("others", "computed"), [(1, 1), (2, 2)])
def test_the_latest_embeddings_are_kept_as_far_as_they_fit(
    monkeypatch: pytest.MonkeyPatch, others: int, computed: int
) -> None:
    vectors = torch.ones(POSITIONS, 4)
    monkeypatch.setattr("reference_server.engine.multimodal.embeddings.KEPT_BYTES", 2 * vectors.nbytes)
    embeddings, encoded = MediaEmbeddings(PLACEHOLDER), []

    def encode(media: Media) -> torch.Tensor:
        encoded.append(media.digest)
        return vectors

    others_sent = [replace(IMAGE, digest=bytes([number])) for number in range(others)]
    for media in (IMAGE, *others_sent, IMAGE):
        embeddings.add(media, encode)
    assert computed == encoded.count(IMAGE.digest)
