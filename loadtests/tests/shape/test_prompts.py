"""Prompts of a file are sent unchanged with a unique word, and rejected with their line if they are invalid."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from loadtests.cli.load_command import load as load_command
from loadtests.errors import UsageError
from loadtests.shape.workload import Workload, WorkloadScenario, read_scenario
from openapi.contract.contract import load

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM = {"role": "system", "content": "Be short."}
PARTS = {"role": "user", "content": [{"type": "text", "text": "What is"}, {"type": "text", "text": "this?"}]}


def make_scenario(folder: Path, *lines: str, name: str = "own.jsonl", more: str = "") -> WorkloadScenario:
    (folder / name).write_text("\n".join(lines), encoding="utf-8")
    (folder / "scenario.yaml").write_text(f"prompts: {name}\n{more}")
    return read_scenario(folder / "scenario.yaml")


def sent_messages(workload: Workload, number: int) -> tuple[list[dict[str, Any]], str]:
    request = workload.build_request(number)
    return json.loads(request.body)["messages"], request.canary


def test_prompts_are_sent_unchanged_with_a_unique_word(tmp_path: Path) -> None:
    own = [SYSTEM, {"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because"}]
    given = ['{"prompt": "one\u2028line"}', "", json.dumps({"messages": own}), json.dumps({"messages": [PARTS]})]
    workload = Workload(load("openai"), make_scenario(tmp_path, *given), "m", 1)
    sent = {}
    for number in range(40):
        messages, canary = sent_messages(workload, number)
        assert 1 == json.dumps(messages).count(canary)
        sent[json.dumps(messages).replace(canary, "CANARY")] = messages
    question = {"role": "user", "content": "Why? CANARY"}
    parts = {**PARTS, "content": [*PARTS["content"], {"type": "text", "text": "CANARY"}]}
    expected = [[{"role": "user", "content": "one\u2028line CANARY"}], [SYSTEM, question, own[2]], [parts]]
    assert {json.dumps(messages) for messages in expected} == sent.keys()


def test_the_choice_of_prompts_depends_only_on_seed_and_number(tmp_path: Path) -> None:
    own = make_scenario(tmp_path, *(f"prompt {number}" for number in range(50)), name="own.txt")
    one, again, other = (Workload(load("mindie-2.3"), own, "m", seed) for seed in (1, 1, 2))
    assert [one.build_request(at) for at in range(20)] == [again.build_request(at) for at in range(20)]
    assert [one.build_request(at) for at in range(20)] != [other.build_request(at) for at in range(20)]
    assert 10 < len({sent_messages(one, at)[0][0]["content"].partition(" ref-")[0] for at in range(50)})


def test_each_line_of_a_text_file_is_a_prompt(tmp_path: Path) -> None:
    own = make_scenario(tmp_path, '{"prompt": 1}', "", "  two ", name="own.txt")
    assert ['{"prompt": 1}', "two"] == [prompt.messages[0]["content"] for prompt in own.prompts.prompts]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "invalid JSON"),
        ("[1]", '{"prompt": "TEXT"}'),
        ('{"prompt": 3}', '{"prompt": "TEXT"}'),
        ('{"prompt": " "}', "not empty"),
        ('{"prompt": "a", "max_tokens": 3}', "without other fields"),
        ('{"messages": []}', "not empty"),
        ('{"messages": [{"role": "system", "content": "a"}]}', "expected a message with the role 'user'"),
        ('{"messages": [{"role": "user", "content": null}]}', "invalid content of the last user message"),
        ('{"prompt": "a \\ud800"}', "invalid JSON"),
        ('{"messages": [{"role": "user", "content": "a", "x": NaN}]}', "NaN"),
        ('{"prompt": "say ref-0123abcd"}', "ref-0123abcd"),
        ('{"messages": [{"role": "unknown", "content": "a"}, {"role": "user", "content": "a"}]}', "/messages/0"),
    ],
)
def test_an_invalid_line_is_rejected_with_file_and_number(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Workload(load("mindie-2.3"), make_scenario(tmp_path, '{"prompt": "a"}', "", line), "m", 1)
    error = str(caught.value)
    assert (True, True, 1) == ("own.jsonl, line 3" in error, message in error, len(error.splitlines()))


@pytest.mark.parametrize(
    ("more", "name"),
    [("turns: 2", "turns"), ("prompt_words: 9", "prompt_words"), ("prefix_share: 0.5", "prefix_share"),
     ("body: {messages: []}", "body")],
)  # fmt: skip
def test_fields_without_effect_next_to_prompts_are_rejected(tmp_path: Path, more: str, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} and prompts are mutually exclusive"):
        make_scenario(tmp_path, "a", name="own.txt", more=more)


def test_a_missing_or_empty_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no prompts"):
        make_scenario(tmp_path, "", " ", name="own.txt")
    (tmp_path / "own.txt").unlink()
    with pytest.raises(UsageError, match=r"own\.txt: No such file"):
        read_scenario(tmp_path / "scenario.yaml")
    (tmp_path / "scenario.yaml").write_text("prompts: 3")
    with pytest.raises(UsageError, match="invalid file name"):
        read_scenario(tmp_path / "scenario.yaml")


def test_an_error_in_the_body_is_not_attributed_to_a_prompt(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the scenario is invalid for .*temperature"):
        Workload(
            load("mindie-2.3"), make_scenario(tmp_path, "a", name="own.txt", more="body: {temperature: -1}"), "m", 1
        )


def test_the_longest_prompt_of_each_kind_is_validated(tmp_path: Path) -> None:
    others = [json.dumps({"messages": [SYSTEM, PARTS]}), json.dumps({"messages": [PARTS]})]
    own = make_scenario(tmp_path, *(json.dumps({"prompt": "a" * size}) for size in range(1, 2000)), *others).prompts
    assert (2001, own.prompts[-3:]) == (len(own.prompts), own.longest)


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    assert ["a", "bc"] == [
        make_scenario(tmp_path, text, name="own.txt").prompts.prompts[0].messages[0]["content"] for text in ("a", "bc")
    ]


def test_a_trace_and_prompts_of_a_file_are_mutually_exclusive(tmp_path: Path) -> None:
    make_scenario(tmp_path, "a", name="own.txt")
    arguments = [
        "http://127.0.0.1:9",
        "--dialect",
        "mindie",
        "--scenario",
        str(tmp_path / "scenario.yaml"),
        "--trace",
        "x",
        "--wait",
        "1s",
    ]
    result = CliRunner().invoke(load_command, [*arguments, "--out", str(tmp_path / "out")])
    assert (2, True) == (result.exit_code, "--trace and the prompts of a scenario" in result.output)
