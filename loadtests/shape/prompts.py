"""Prompts: messages of a user's own, read from a file. Each will carry a word of its own when it is sent. Pure."""

from __future__ import annotations

import gc
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NoReturn

from loadtests.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

CANARY: Final = "ref-"
"""Every prompt carries a word that begins so, its own; an answer that shows another's is crossed."""
WORD: Final = re.compile(re.escape(CANARY) + r"[0-9a-f]{8}")
FORMS: Final = 'write {"prompt": "TEXT"} or {"messages": [...]}'
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages as they stand on a line of a file, which `where` names."""

    messages: list[Message]
    where: str

    def carrying(self, canary: str) -> list[Message]:
        """The messages with this word at the end of the last one of the user."""
        at = _last_of_user(self.messages)
        content = self.messages[at]["content"]
        told = f"{content} {canary}" if isinstance(content, str) else [*content, {"type": "text", "text": canary}]
        return [*self.messages[:at], {**self.messages[at], "content": told}, *self.messages[at + 1 :]]


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of a file. `kinds` has the longest of each kind that a contract may treat in a way of its own, by
    members, types and roles: to hold each of many against a contract would delay the first request by seconds."""

    each: tuple[Prompt, ...] = ()
    kinds: tuple[Prompt, ...] = ()


def read(path: Path) -> Prompts:
    """The prompts of a file: lines of text where its name ends in .txt, else JSON lines. Raises UsageError with file
    and line. What has been read is kept until the file changes, for tests that follow in this process."""
    try:
        found = path.stat()
        return _read(path, found.st_mtime_ns, found.st_size)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"prompts {path}: {getattr(error, 'strerror', None) or error}") from error


@lru_cache(maxsize=1)
def _read(path: Path, *_changed: int) -> Prompts:
    lines = path.read_text(encoding="utf-8-sig").split("\n")  # a text may hold what `splitlines` takes for an end
    collected = gc.isenabled()
    gc.disable()  # objects are made by the million, and none is garbage
    try:
        return _of_lines(lines, path)
    finally:
        if collected:
            gc.enable()


def _of_lines(lines: list[str], path: Path) -> Prompts:
    plain = path.suffix.lower() == ".txt"
    found = []
    longest: dict[object, tuple[int, Prompt]] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        where = f"prompts {path}, line {number}"
        if (word := WORD.search(text)) is not None:
            raise UsageError(f"{where}: {word[0]!r} looks like the words by which answers are told apart")
        prompt = Prompt([_of_user(text)] if plain else _messages(text, where), where)
        found.append(prompt)
        kind = _kind(prompt.messages)
        if kind not in longest or len(text) > longest[kind][0]:
            longest[kind] = len(text), prompt
    if not found:
        raise UsageError(f"prompts {path}: holds no prompt")
    return Prompts(tuple(found), tuple(prompt for _, prompt in longest.values()))


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


DECODE: Final = json.JSONDecoder(parse_constant=_no_number).decode


def _of_user(text: str) -> Message:
    return {"role": "user", "content": text}


def _messages(line: str, where: str) -> list[Message]:
    try:
        item = DECODE(line)
        if "\\u" in line:  # half a character can be written so, and cannot be sent
            json.dumps(item, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: is no JSON: {error}") from error
    if not isinstance(item, dict) or len(item) != 1:
        raise UsageError(f"{where}: {FORMS}, and nothing beside it")
    if isinstance(text := item.get("prompt"), str) and text.strip():
        return [_of_user(text)]
    messages = item.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(message, dict) for message in messages):
        raise UsageError(f"{where}: {FORMS}, neither of them empty")
    try:
        content = messages[_last_of_user(messages)].get("content")
    except StopIteration:
        raise UsageError(f"{where}: there is no message of the role user") from None
    if not isinstance(content, str | list):
        raise UsageError(f"{where}: the last message of the user has no content that is a text or a list of parts")
    return messages


def _last_of_user(messages: list[Message]) -> int:
    return next(at for at in range(len(messages) - 1, -1, -1) if messages[at].get("role") == "user")


NAMES: Final = ("role", "type")
"""Members whose text decides what else must be there."""


def _kind(value: Any, name: str = "") -> object:
    """What a value is like, whatever its texts say."""
    if isinstance(value, str):
        return value if name in NAMES else bool(value)
    if isinstance(value, dict):
        return frozenset([(key, _kind(each, key)) for key, each in value.items()])
    if isinstance(value, list):
        return (len(value) > 1, *dict.fromkeys([_kind(each) for each in value]))
    return type(value), value
