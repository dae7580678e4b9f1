"""Choices: how many, which, and what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import at_seams, demands, fault, knows, said_by, spoken
from reference_server.faults.hooks import DONE, FRAME_END

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, Told

ONE = ("n",)


def _several(told: Told) -> bool:
    return (told.sent.get("n") or 1) > 1


def _second(holder: Json, _told: Told) -> None:
    if len(holder["choices"]) == 1:
        holder["choices"].append({**holder["choices"][0], "index": 1})


def _ignore_n(told: Told) -> None:
    told.sent.pop("n", None)
    told.sent.pop("best_of", None)


def _one_too_few(holder: Json, told: Told) -> None:
    if _several(told) and len(holder["choices"]) > 1:
        holder["choices"].pop()


def _alike(holder: Json, told: Told) -> None:
    if _several(told):
        first = holder["choices"][0]
        holder["choices"] = [{**first, "index": at} for at in range(len(holder["choices"]))]


index_from_one = said_by(
    "index-from-one",
    lambda choice, _told: choice.update(index=choice["index"] + 1),
    "Indices of choices start at 1.",
    bugs=[47],
)
index_missing = said_by(
    "index-missing", lambda choice, _told: choice.pop("index"), "Choices of a chunk have no index.", plain=False
)
index_text = said_by(
    "index-text", lambda choice, _told: choice.update(index=str(choice["index"])), "The index of a choice is a text."
)
second_choice_unasked = at_seams(
    "second-choice-unasked", "Two choices come where one is asked for.", answer=_second, chunk=_second
)
n_ignored = at_seams("n-ignored", "`n` is ignored: one choice comes.", request=_ignore_n, bugs=[49], fits=knows(*ONE))
one_choice_too_few = at_seams(
    "one-choice-too-few", "One choice less than `n` comes.", answer=_one_too_few, fits=knows(*ONE), bugs=[49]
)
choices_alike = at_seams("choices-alike", "All choices are the first one.", answer=_alike, fits=knows(*ONE), bugs=[48])


@fault("empty-choices-first", "event", fits=demands("stream.one-choice-per-chunk"))
def empty_choices_first(frame: bytes, told: Told) -> Iterator[bytes]:
    """A stream begins with a chunk without a choice."""
    if told.at == 0:
        at = frame.index(b'"choices":[')
        yield frame[:at] + b'"choices":[]}' + FRAME_END
    yield frame


@fault("finish-on-first-index", "chunk", fits=knows(*ONE), bugs=[45])
def finish_on_first_index(chunk: Json, told: Told) -> None:
    """Of several streamed choices always the first one is told to end."""
    for choice in chunk["choices"]:
        if choice["finish_reason"] is not None and _several(told):
            choice["index"] = 0


@fault("second-choice-lost", "event", fits=knows(*ONE), bugs=[49])
def second_choice_lost(frame: bytes, _told: Told) -> Iterator[bytes]:
    """Streams hold the first choice only."""
    if b'"index":0' in frame or b'"choices":[]' in frame or frame == DONE:
        yield frame


role_user = said_by(
    "role-user", lambda choice, _told: spoken(choice).update(role="user"), "The role of what is said is user."
)
role_missing = said_by(
    "role-missing", lambda choice, _told: spoken(choice).pop("role", None), "Nothing said has a role.", bugs=[37]
)
role_null = said_by(
    "role-null", lambda choice, _told: spoken(choice).update(role=None), "The role is null.", plain=False, bugs=[40]
)
role_empty = said_by(
    "role-empty", lambda choice, _told: spoken(choice).update(role=""), "The role is an empty text.", plain=False,
    bugs=[40],
)  # fmt: skip


@fault("role-first-only", "chunk", fits=demands("stream.role-in-every-delta"))
def role_first_only(chunk: Json, told: Told) -> None:
    """The role stands in the first delta only, where the dialect has it in each."""
    if told.at > 0:
        for choice in chunk["choices"]:
            choice["delta"].pop("role", None)


@fault("role-in-every-delta", "chunk", fits=lambda contract: contract.stream.role == "first-delta", bugs=[38])
def role_in_every_delta(chunk: Json, _told: Told) -> None:
    """Every delta carries the role, where the dialect has it in the first only."""
    for choice in chunk["choices"]:
        choice["delta"] = {"role": "assistant", **choice["delta"]}


def _drop_content(choice: Json, _told: Told) -> None:
    spoken(choice)["content"] = None


def _content_list(choice: Json, _told: Told) -> None:
    spoken(choice)["content"] = [{"type": "text", "text": spoken(choice).get("content")}]


def _renamed(old: str, new: str) -> object:
    def edit(choice: Json, _told: Told) -> None:
        if old in choice:
            choice[new] = choice.pop(old)

    return edit


content_null = said_by("content-null", _drop_content, "The content of a plain answer is null.", streamed=False)
content_list = said_by("content-list", _content_list, "The content is a list of parts.")
content_missing = said_by(
    "content-missing", lambda choice, _told: spoken(choice).pop("content", None), "There is no content.", streamed=False
)
delta_beside_message = said_by(
    "delta-beside-message",
    lambda choice, _told: choice.update(delta={"content": ""}),
    "Plain answers hold a delta beside the message.",
    streamed=False,
)
message_beside_delta = said_by(
    "message-beside-delta",
    lambda choice, _told: choice.update(message={"role": "assistant", "content": ""}),
    "Chunks hold a message beside the delta.",
    plain=False,
    bugs=[35],
)
delta_null = said_by(
    "delta-null",
    lambda choice, _told: choice.update(delta=None) if choice["finish_reason"] is not None else None,
    "The last delta is null.",
    plain=False,
)
logprobs_empty_text = said_by(
    "logprobs-empty-text", lambda choice, _told: choice.update(logprobs=""),
    "`logprobs` is an empty text where null is due.", bugs=[32],
)  # fmt: skip
thought_empty = said_by(
    "thought-empty",
    lambda choice, _told: spoken(choice).update(reasoning_content=7),
    "A thought is a number.",
    bugs=[139],
)


def _second_silent(holder: Json, _told: Told) -> None:
    for choice in holder["choices"]:
        if choice["index"] == 1:
            spoken(choice)["content"] = ""


def _second_endless(holder: Json, _told: Told) -> None:
    for choice in holder["choices"]:
        if choice["index"] == 1:
            choice["finish_reason"] = None


second_choice_silent = at_seams(
    "second-choice-silent",
    "The second choice says nothing.",
    answer=_second_silent,
    chunk=_second_silent,
    fits=knows(*ONE),
)
second_choice_endless = at_seams(
    "second-choice-endless",
    "The second choice gets no finish_reason.",
    answer=_second_endless,
    chunk=_second_endless,
    fits=knows(*ONE),
    bugs=[42],
)


def _forget_several(told: Told) -> None:
    told.sent.pop("n", None)


lacking_n_taken = at_seams(
    "lacking-n-taken",
    "A server that says it has no `n` takes it, and ignores it.",
    request=_forget_several,
    fits=lambda contract: "n" in contract.capabilities,
    denies=("n",),
)


def _others_lose_their_first(chunk: Json, told: Told) -> None:
    for choice in chunk["choices"]:
        index, lost = choice["index"], told.memory.setdefault("lost", set())
        if index > 0 and choice["delta"].get("content") and index not in lost:
            lost.add(index)
            choice["delta"]["content"] = ""


def _others_stop(answer: Json, _told: Told) -> None:
    for choice in answer["choices"]:
        if choice["index"] > 0 and choice["finish_reason"] == "length":
            choice["finish_reason"] = "stop"


other_choices_begin_late = at_seams(
    "other-choices-begin-late", "Streams lose the first text of each choice but the first.",
    chunk=_others_lose_their_first,
    fits=knows(*ONE),
)  # fmt: skip
other_choices_stop = at_seams(
    "other-choices-stop", "Of several choices that the limit cuts only the first ends with length.",
    answer=_others_stop, fits=knows(*ONE),
)  # fmt: skip
