"""Test the written deviations of sentences: the errors of invalid data, and that an edit changes only what it names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from conformance.errors import HarnessError
from conformance.exchange import Exchange, Request, Response, Segment
from conformance.proof.sentences import written
from conformance.proof.sentences.deviation import Deviation, LiveFault
from conformance.proof.sentences.proof import try_counterexample
from conformance.proof.sentences.trial_rounds import extend_rounds
from conformance.proof.sentences.written import parse_deviation, read_deviations
from openapi.stream import sse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.proof.recorded_run import RecordedRun
    from conformance.tests.conftest import Good

GOODS = ["mindie-2.3"]
TEXT = "Hello!"
ANSWER: dict[str, Any] = {
    "id": "one",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"},
        {"index": 1, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"},
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2},
}
CHUNKS: list[dict[str, Any]] = [
    {"id": "one", "choices": [{"index": 0, "delta": {"content": "Hel"}, "finish_reason": None}]},
    {"id": "one", "choices": [{"index": 0, "delta": {"content": "lo!"}, "finish_reason": None}]},
    {"id": "one", "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}]},
]


def exchange(body: bytes, media_type: str, step: str = "main", **request: Any) -> Exchange:
    """Return an answered request whose body has the given fields."""
    return Exchange(
        f"scenario/{step}",
        "scenario",
        step,
        Request("POST", "http://127.0.0.1/v1/chat/completions", (), json.dumps(request).encode()),
        Response(200, "OK", "1.1", (("content-type", media_type),), (Segment(0.1, body),), 0.05, 0.1, True),
        None,
        "2026-11-20T00:00:00+00:00",
    )


def plain(step: str = "main", **request: Any) -> Exchange:
    """Return a plain answer."""
    return exchange(json.dumps(ANSWER).encode(), "application/json", step, **request)


def streamed(**request: Any) -> Exchange:
    """Return a streamed answer."""
    body = b"".join(sse.encode(json.dumps(chunk).encode()) for chunk in CHUNKS) + sse.encode(b"[DONE]")
    return exchange(body, sse.MEDIA_TYPE, **request, stream=True)


def parse(row: dict[str, Any]) -> list[Deviation]:
    """Return the deviations of an entry."""
    deviations = list(parse_deviation({"server": "differs", **row}, "file.yaml: sentence"))
    return [deviation for deviation in deviations if isinstance(deviation, Deviation)]


def apply(row: dict[str, Any], to: Exchange, run: Any = None) -> Exchange | None:
    """Return what the first deviation of an entry that affects an exchange makes of it."""
    changed = (deviation.change(to, run) for deviation in parse(row))
    return next((item for item in changed if item is not None), None)


def chunks_of(changed: Exchange | None) -> list[Any]:
    """Return the JSON objects of a stream."""
    assert changed is not None
    return [chunk for _, chunk in changed.walk.chunks]


PLAIN_EDITS: list[tuple[dict[str, Any], list[str | int], Any]] = [
    ({"set": {"id": "two"}}, ["id"], "two"),
    ({"set": {"created": 1}}, ["created"], 1),
    ({"replace": {"choices/0/finish_reason": {"stop": "length"}}}, ["choices", 0, "finish_reason"], "length"),
    ({"add": {"usage/prompt_tokens": 2}}, ["usage", "prompt_tokens"], 5),
    ({"append": {"choices/0/message/content": "!"}}, ["choices", 0, "message", "content"], TEXT + "!"),
    ({"shorten": {"choices/0/message/content": 2}}, ["choices", 0, "message", "content"], TEXT[:-2]),
    ({"repeat": ["choices"]}, ["choices"], ANSWER["choices"] * 2),
]


@pytest.mark.parametrize(("edit", "place", "value"), PLAIN_EDITS)
def test_an_edit_changes_only_the_value_that_it_names(edit: dict[str, Any], place: list[Any], value: Any) -> None:
    expected = json.loads(json.dumps(ANSWER))
    holder = expected
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = value

    before = plain()
    changed = apply(edit, before)

    assert changed is not None
    assert changed.json == expected
    assert (changed.request, changed.id, changed.status) == (before.request, before.id, before.status)


def test_remove_leaves_everything_else() -> None:
    changed = apply({"remove": ["usage/prompt_tokens"]}, plain())

    assert changed is not None
    assert changed.json == {**ANSWER, "usage": {"completion_tokens": 2}}


def test_an_edit_of_every_choice_also_makes_a_deviation_of_the_later_choices_only() -> None:
    deviations = parse({"form": "plain", "set": {"choices/*/message/content": "x"}})

    texts = [
        [choice["message"]["content"] for choice in changed.json["choices"]]
        for deviation in deviations
        if (changed := deviation.change(plain(), None))  # type: ignore[arg-type]
    ]
    assert texts == [["x", "x"], [TEXT, "x"]]


@pytest.mark.parametrize(
    ("chunks", "texts"),
    [
        ("all", ["Hel.", "lo!.", "."]),
        ("first", ["Hel.", "lo!", ""]),
        ("last", ["Hel", "lo!", "."]),
        ("last-text", ["Hel", "lo!.", ""]),
        ("finishing", ["Hel", "lo!", "."]),
    ],
)
def test_chunks_names_the_chunks_of_a_stream_that_an_edit_changes(chunks: str, texts: list[str]) -> None:
    changed = apply({"chunks": chunks, "append": {"choices/0/message/content": "."}}, streamed())

    expected = [
        {**chunk, "choices": [{**chunk["choices"][0], "delta": {"content": text}}]}
        for chunk, text in zip(CHUNKS, texts, strict=True)
    ]
    assert chunks_of(changed) == expected


def test_vary_gives_each_exchange_another_text_and_the_same_one_each_time() -> None:
    edit = {"vary": ["choices/0/message/content"]}

    texts = [changed.content() for step in ("a", "b", "a") if (changed := apply(edit, plain(step)))]

    assert texts[0] == texts[2] != texts[1]
    assert all(text is not None and text.startswith(TEXT) for text in texts)


@pytest.mark.parametrize(
    ("condition", "sent"),
    [
        ({"request": {"required": ["stop"]}}, {}),
        ({"request": {"properties": {"n": {"const": 2}}, "required": ["n"]}}, {"n": 1}),
        ({"form": "stream"}, {}),
        ({"status": "refused"}, {}),
    ],
)
def test_an_exchange_that_does_not_meet_a_condition_is_not_changed(
    condition: dict[str, Any], sent: dict[str, Any]
) -> None:
    assert apply({**condition, "set": {"id": "two"}}, plain(**sent)) is None


def test_a_body_that_is_not_json_meets_no_condition_on_requests() -> None:
    malformed = plain()
    malformed = Exchange.from_dict({**malformed.to_dict(), "request": {**malformed.to_dict()["request"], "body": "{"}})

    assert apply({"request": True, "set": {"id": "two"}}, malformed) is None


def test_an_edit_that_changes_nothing_affects_nothing() -> None:
    assert apply({"set": {"id": "one"}}, plain()) is None


@pytest.mark.parametrize("form", ["plain", "stream"])
def test_as_takes_the_answer_to_the_same_request_with_other_parameters(good: Good, form: str) -> None:
    step = {"plain": "stopped", "stream": "stopped-streamed"}[form]
    stopped = good.exchanges["stop-text", step]

    changed = apply({"as": {"remove": ["stop"]}}, stopped, good)

    assert changed is not None
    assert changed.content() == good.exchanges["stop-text", "baseline"].content() != stopped.content()
    assert (changed.request, changed.id, changed.is_stream) == (stopped.request, stopped.id, form == "stream")


def test_as_affects_no_request_whose_counterpart_was_not_sent(good: Good) -> None:
    stopped = good.exchanges["stop-text", "stopped"]

    assert apply({"as": {"set": {"stop": "never sent"}}}, stopped, good) is None
    assert apply({"as": {"remove": ["seed"]}}, stopped, good) is None


def trials_of(good: Good) -> list[Any]:
    """Return the assertions of trials whose first round was recorded."""
    found = [item for item in good.plan.assertions if item.check.trial is not None]
    return [item for item in found if extend_rounds(item, good)]


def test_repeated_rounds_are_exchanges_of_recorded_rounds(good: Good) -> None:
    for assertion in trials_of(good):
        scenario = assertion.scenario
        parts = {step.name: step.part for step in scenario.steps}
        for name, extended in extend_rounds(assertion, good).items():
            sources = [
                other.response
                for step in scenario.steps
                if step.part == parts[name] and (other := good.exchanges.get((scenario.id, step.name)))
            ]
            assert extended.step == name
            assert any(extended.response is response for response in sources)


def test_repeated_rounds_report_nothing_without_a_deviation(good: Good) -> None:
    unchanged: Callable[[Exchange, RecordedRun], Exchange | None] = lambda item, _: item  # noqa: E731

    trial = try_counterexample(Deviation("is the same", "any", unchanged), trials_of(good), good)

    assert trial.changed > 0
    assert trial.reported == ()


INVALID: list[tuple[str, str]] = [
    ("- form: plain\n  set: {id: x}", "file.yaml: s: no `server`: say in one sentence what the server does"),
    ("- server: differs", "file.yaml: s: 'differs' changes nothing: expected one of set, remove"),
    ("- server: differs\n  stet: {id: x}", "file.yaml: s: unknown key 'stet': expected one of server, documents"),
    ("- server: differs\n  form: whole\n  set: {id: x}", "file.yaml: s: invalid value 'whole': expected one of plain"),
    ("- server: differs\n  chunks: some\n  set: {id: x}", "file.yaml: s: invalid value 'some': expected one of all"),
    ("- server: differs\n  status: bad\n  set: {id: x}", "file.yaml: s: invalid value 'bad': expected one of answered"),
    ("- server: differs\n  outcome: lost", "file.yaml: s: invalid value 'lost': expected one of answered, refused"),
    (
        "- server: differs\n  outcome: refused\n  form: plain",
        "file.yaml: s: unknown key 'form': expected one of server",
    ),
    ("- server: differs\n  as: {unset: [n]}", "file.yaml: s: unknown key 'unset': expected one of set, remove"),
    ("- server: differs\n  as: n", "file.yaml: s: invalid value 'n': expected a mapping with set, remove"),
    ("- server: differs\n  mutant: stop.not-in-outputs", "file.yaml: s: no mutant of check 'stop.not-in-outputs'"),
    ("- server: differs\n  fault: x\n  set: {id: x}", "file.yaml: s: unknown key 'set': expected one of server"),
    ("- server: differs\n  documents: [mindy]\n  set: {id: x}", "file.yaml: s: invalid value 'mindy': expected one of"),
    ("- server: differs\n  request: 7\n  set: {id: x}", "file.yaml: s: `request` is not a JSON Schema: "),
    ("- differs", "file.yaml: s: invalid value 'differs': expected a mapping with server"),
]


@pytest.fixture
def written_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """A function that reads deviations from one file with the given content."""

    def read(content: str) -> None:
        (tmp_path / "file.yaml").write_text(content, encoding="utf-8")
        monkeypatch.setattr(written, "FOLDER", tmp_path)
        read_deviations.__wrapped__()

    return read


@pytest.mark.parametrize(("entry", "message"), INVALID)
def test_invalid_data_gives_one_line_with_file_and_sentence(
    written_in: Callable[[str], None], entry: str, message: str
) -> None:
    lines = "\n".join(f"    {line}" for line in entry.splitlines())
    with pytest.raises(HarnessError) as raised:
        written_in(f"s:\n  counterexamples:\n{lines}\n")

    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_invalid_yaml_gives_its_line(written_in: Callable[[str], None]) -> None:
    with pytest.raises(HarnessError, match=r"^file\.yaml:2: not valid YAML: [^\n]+$"):
        written_in("s:\n  counterexamples: ]\n")


def test_a_sentence_has_its_deviations_in_one_file(written_in: Callable[[str], None], tmp_path: Path) -> None:
    (tmp_path / "earlier.yaml").write_text("s: {}\n", encoding="utf-8")

    with pytest.raises(
        HarnessError, match=r"^file\.yaml: s: another file has deviations of this sentence; merge them$"
    ):
        written_in("s: {}\n")


def test_deviations_of_an_unknown_sentence_are_refused(written_in: Callable[[str], None]) -> None:
    with pytest.raises(HarnessError, match=r"unknown sentence 'stop-effect'\. Did you mean 'stop-effects'\?$"):
        written.require_sentences([*(name for name in read_deviations() if name != "stop-effect"), "stop-effects"])


def test_no_two_deviations_of_a_sentence_are_the_same() -> None:
    for sentence, deviations in read_deviations().items():
        faults = [item.fault for item in deviations.counterexamples if isinstance(item, LiveFault)]
        assert len(faults) == len(set(faults)), sentence
