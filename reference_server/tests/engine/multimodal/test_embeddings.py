"""Test that the embeddings of a medium exist as long as any prompt with it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
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
