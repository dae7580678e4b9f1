"""Prompts of a file: sent as they stand with a word of their own, and refused by their line where they cannot be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from loadtests.cli.load_command import load as load_command
from loadtests.errors import UsageError
from loadtests.shape.workload import Scenario, Workload, read
from openapi.contract.contract import load

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM = {"role": "system", "content": "Be short."}
PARTS = {"role": "user", "content": [{"type": "text", "text": "What is"}, {"type": "text", "text": "this?"}]}


def scenario(folder: Path, *lines: str, name: str = "own.jsonl", more: str = "") -> Scenario:
    (folder / name).write_text("\n".join(lines), encoding="utf-8")
    (folder / "scenario.yaml").write_text(f"prompts: {name}\n{more}")
    return read(folder / "scenario.yaml")


def messages(made: Workload, number: int) -> tuple[list[dict[str, Any]], str]:
    request = made.request(number)
    return json.loads(request.body)["messages"], request.canary


def test_prompts_are_sent_as_they_stand_with_a_word_of_their_own(tmp_path: Path) -> None:
    own = [SYSTEM, {"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because"}]
    given = ['{"prompt": "one\u2028line"}', "", json.dumps({"messages": own}), json.dumps({"messages": [PARTS]})]
    made = Workload(load("openai"), scenario(tmp_path, *given), "m", 1)
    sent = {}
    for number in range(40):
        found, canary = messages(made, number)
        assert 1 == json.dumps(found).count(canary)
        sent[json.dumps(found).replace(canary, "CANARY")] = found
    said = {"role": "user", "content": "Why? CANARY"}
    parts = {**PARTS, "content": [*PARTS["content"], {"type": "text", "text": "CANARY"}]}
    expected = [[{"role": "user", "content": "one\u2028line CANARY"}], [SYSTEM, said, own[2]], [parts]]
    assert {json.dumps(each) for each in expected} == sent.keys()


def test_which_prompt_is_sent_depends_on_seed_and_number_alone(tmp_path: Path) -> None:
    own = scenario(tmp_path, *(f"prompt {number}" for number in range(50)), name="own.txt")
    one, again, other = (Workload(load("mindie-2.3"), own, "m", seed) for seed in (1, 1, 2))
    assert [one.request(at) for at in range(20)] == [again.request(at) for at in range(20)]
    assert [one.request(at) for at in range(20)] != [other.request(at) for at in range(20)]
    assert 10 < len({messages(one, at)[0][0]["content"].partition(" ref-")[0] for at in range(50)})


def test_a_line_of_text_is_a_prompt_whatever_stands_in_it(tmp_path: Path) -> None:
    own = scenario(tmp_path, '{"prompt": 1}', "", "  two ", name="own.txt")
    assert ['{"prompt": 1}', "two"] == [each.messages[0]["content"] for each in own.prompts.each]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "is no JSON"),
        ("[1]", '{"prompt": "TEXT"}'),
        ('{"prompt": 3}', '{"prompt": "TEXT"}'),
        ('{"prompt": " "}', "neither of them empty"),
        ('{"prompt": "a", "max_tokens": 3}', "nothing beside it"),
        ('{"messages": []}', "neither of them empty"),
        ('{"messages": [{"role": "system", "content": "a"}]}', "no message of the role user"),
        ('{"messages": [{"role": "user", "content": null}]}', "no content"),
        ('{"prompt": "a \\ud800"}', "is no JSON"),
        ('{"messages": [{"role": "user", "content": "a", "x": NaN}]}', "NaN"),
        ('{"prompt": "say ref-0123abcd"}', "ref-0123abcd"),
        ('{"messages": [{"role": "nobody", "content": "a"}, {"role": "user", "content": "a"}]}', "/messages/0"),
    ],
)
def test_a_bad_line_is_refused_in_one_line_with_file_and_number(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        Workload(load("mindie-2.3"), scenario(tmp_path, '{"prompt": "a"}', "", line), "m", 1)
    said = str(caught.value)
    assert (True, True, 1) == ("own.jsonl, line 3" in said, words in said, len(said.splitlines()))


@pytest.mark.parametrize(
    ("more", "words"),
    [("turns: 2", "turns"), ("prompt_words: 9", "prompt_words"), ("prefix_share: 0.5", "prefix_share"),
     ("body: {messages: []}", "body")],
)  # fmt: skip
def test_what_a_file_of_prompts_makes_void_is_refused(tmp_path: Path, more: str, words: str) -> None:
    with pytest.raises(UsageError, match=f"{words} says what is asked"):
        scenario(tmp_path, "a", name="own.txt", more=more)


def test_a_file_that_is_not_there_or_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no prompt"):
        scenario(tmp_path, "", " ", name="own.txt")
    (tmp_path / "own.txt").unlink()
    with pytest.raises(UsageError, match=r"own\.txt: No such file"):
        read(tmp_path / "scenario.yaml")
    (tmp_path / "scenario.yaml").write_text("prompts: 3")
    with pytest.raises(UsageError, match="is no file"):
        read(tmp_path / "scenario.yaml")


def test_what_is_wrong_with_the_body_is_not_laid_to_a_prompt(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the scenario does not fit .*temperature"):
        Workload(load("mindie-2.3"), scenario(tmp_path, "a", name="own.txt", more="body: {temperature: -1}"), "m", 1)


def test_of_many_prompts_the_longest_of_each_kind_is_held_against_the_contract(tmp_path: Path) -> None:
    others = [json.dumps({"messages": [SYSTEM, PARTS]}), json.dumps({"messages": [PARTS]})]
    own = scenario(tmp_path, *(json.dumps({"prompt": "a" * size}) for size in range(1, 2000)), *others).prompts
    assert (2001, own.each[-3:]) == (len(own.each), own.kinds)


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    assert ["a", "bc"] == [
        scenario(tmp_path, text, name="own.txt").prompts.each[0].messages[0]["content"] for text in ("a", "bc")
    ]


def test_the_lengths_of_a_trace_do_not_go_with_prompts_of_a_file(tmp_path: Path) -> None:
    scenario(tmp_path, "a", name="own.txt")
    arguments = ["http://127.0.0.1:9", "--scenario", str(tmp_path / "scenario.yaml"), "--trace", "x", "--wait", "1s"]
    made = CliRunner().invoke(load_command, [*arguments, "--out", str(tmp_path / "out")])
    assert (2, True) == (made.exit_code, "--trace states how long prompts are" in made.output)
