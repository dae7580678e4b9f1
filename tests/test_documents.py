"""Every command in the documentation exists and has the options that are used."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from chatproof import main

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    page
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("*/README.md"))
    if page.name != "CHANGELOG.md"
)
FENCED = re.compile(r"^```(?:sh|yaml|)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`(chatproof [a-z][^`]*)`")
BEGIN = re.compile(r"(?:^|[;&|>$ ] ?)chatproof (?=[a-z])")


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of each chatproof command in the code blocks and code spans of a page."""
    text = page.read_text(encoding="utf-8")
    spans = (span.replace("\n", " ") for span in SPAN.findall(FENCED.sub("", text)))
    for block in (*FENCED.findall(text), *spans):
        joined = re.sub(r"\\\n|\n(?= +--)", " ", block)
        for line in joined.splitlines():
            begin = BEGIN.search(line)
            if begin and "serving" not in line and "starting" not in line:  # output of a server
                yield shlex.split(line[begin.end() :], comments=True)


def find_command(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the command that the words name, and the remaining words."""
    command: click.Command = main
    context = click.Context(main)
    while isinstance(command, click.Group):
        default = getattr(command, "_default", None)
        inner = command.get_command(context, words[0] if words else "")
        if inner is None and default is not None:
            inner, words = command.get_command(context, default), [default, *words]
        assert inner is not None, words
        command, words = inner, words[1:]
    return command, words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_on_a_page_has_the_options_that_are_used(page: Path) -> None:
    for words in commands(page):
        command, arguments = find_command(words)
        known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
        free = command.context_settings.get("ignore_unknown_options", False)
        given = {word.partition("=")[0] for word in arguments if word.startswith("-") and not word[1:].isdigit()}
        assert set() == (set() if free else given - known - {"--help"}), words


def test_the_pages_contain_commands() -> None:
    assert sum(1 for page in PAGES for _ in commands(page)) > 60


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", page.read_text(encoding="utf-8"))
    missing = [f"{path}::{name}" for path, name in named if f"def {name}(" not in (ROOT / path).read_text("utf-8")]
    assert not missing
