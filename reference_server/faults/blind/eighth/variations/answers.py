"""Variations of answers: their JSON, ids, headers and fields, other models, and the messages of refusals."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

import orjson

from reference_server.faults.blind.body_recipes import editing_messages
from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.validity import has_own_ids
from reference_server.faults.decorators import variation

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
DIGITS: Final = 26
HEADERS: Final = {"cache-control": "no-store, max-age=0", "pragma": "no-cache", "expires": "0"}


def _indent(body: bytes, _request: ServedRequest) -> bytes:
    return orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2)


def _use_ulids(response: Json, _request: ServedRequest) -> None:
    if isinstance(response.get("id"), str):
        number = int.from_bytes(sha256(response["id"].encode()).digest()[:16])
        response["id"] = "".join(ALPHABET[number >> 5 * at & 31] for at in range(DIGITS))


def _forbid_caching(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers.update(HEADERS)


def _add_fingerprint(response: Json, _request: ServedRequest) -> None:
    response["system_fingerprint"] = f"fp_{sha256(str(response.get('id')).encode()).hexdigest()[:10]}"


answers_indented = variation("answers-indented", "The JSON of plain answers is indented.", plain=_indent)
ids_of_ulids = variation(
    "ids-of-ulids",
    "Ids of answers have 26 capitals and digits.",
    answer=_use_ulids,
    chunk=_use_ulids,
    applies_to=has_own_ids,
)
caching_forbidden = variation("caching-forbidden", "Headers forbid caches to store responses.", head=_forbid_caching)
fingerprints_differ = variation(
    "fingerprints-differ",
    "Each answer has another fingerprint.",
    answer=_add_fingerprint,
    chunk=_add_fingerprint,
    applies_to=has_own_ids,
)
refusals_link_to_help = variation(
    "refusals-link-to-help",
    "Messages of refusals end with the address of a page.",
    refusal=editing_messages(lambda message: f"{message} See https://docs.example.com/errors#requests for help."),
)
model_after_a_lesson = model_after(
    "model-after-a-lesson",
    "The model answers after a conversation about numbers.",
    "What is a prime number?",
    "A number above 1 that only 1 and itself divide, such as 2, 3, 5 and 7.",
)
model_after_a_poem = model_after(
    "model-after-a-poem",
    "The model answers after a conversation about a poem.",
    "Write a line about the sea.",
    "The sea is blue, and so are you.",
    "One more!",
    "The sky is wide, and so is the tide.",
)
