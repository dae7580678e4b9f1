"""Read the prompts of a user from a file. Each is sent with a word of its own added.

The lines are `{"prompt": "TEXT"}` or `{"messages": [...]}` without further fields; in a file whose name ends in .txt
each line is one prompt. The file is read completely before the test, so that an invalid line is rejected with its
number. A line with a word such as `ref-0123abcd` is rejected too, since an answer that repeated it would look like
another request's answer.
"""

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
"""Every prompt contains a unique word that begins so; an answer with another prompt's word belongs to that prompt."""
WORD: Final = re.compile(re.escape(CANARY) + r"[0-9a-f]{8}")
FORMS: Final = '{"prompt": "TEXT"} or {"messages": [...]}'
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FilePrompt:
    """The messages of one line; `where` names the file and the line."""

    messages: list[Message]
    where: str

    def with_canary(self, canary: str) -> list[Message]:
        """Return the messages with a word appended to the last user message."""
        at = _last_user_message(self.messages)
        content = self.messages[at]["content"]
        extended = f"{content} {canary}" if isinstance(content, str) else [*content, {"type": "text", "text": canary}]
        return [*self.messages[:at], {**self.messages[at], "content": extended}, *self.messages[at + 1 :]]


@dataclass(frozen=True, slots=True)
class PromptFile:
    """The prompts of a file.

    longest: the longest prompt of each kind that a contract may treat differently, by fields, types and roles.
    Validating every one of many prompts would delay the first request by seconds.
    """

    prompts: tuple[FilePrompt, ...] = ()
    longest: tuple[FilePrompt, ...] = ()


def read_prompts(path: Path) -> PromptFile:
    """Read a file of prompts: text if its name ends in .txt, else JSON lines. Raise UsageError with file and line.

    The result is cached until the file changes, for further tests in this process.
    """
    try:
        stat = path.stat()
        return _read(path, stat.st_mtime_ns, stat.st_size)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"prompts {path}: {getattr(error, 'strerror', None) or error}") from error


@lru_cache(maxsize=1)
def _read(path: Path, *_changed: int) -> PromptFile:
    lines = path.read_text(encoding="utf-8-sig").split("\n")  # `splitlines` splits at characters that a prompt may have
    collected = gc.isenabled()
    gc.disable()  # millions of objects are created, and none of them is garbage
    try:
        return _parse_lines(lines, path)
    finally:
        if collected:
            gc.enable()


def _parse_lines(lines: list[str], path: Path) -> PromptFile:
    plain = path.suffix.lower() == ".txt"
    prompts = []
    longest: dict[object, tuple[int, FilePrompt]] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        where = f"prompts {path}, line {number}"
        if (word := WORD.search(text)) is not None:
            raise UsageError(f"{where}: remove {word[0]!r}: such words are added to requests to identify their answers")
        prompt = FilePrompt([_user_message(text)] if plain else _parse_messages(text, where), where)
        prompts.append(prompt)
        kind = _kind(prompt.messages)
        if kind not in longest or len(text) > longest[kind][0]:
            longest[kind] = len(text), prompt
    if not prompts:
        raise UsageError(f"prompts {path}: the file has no prompts")
    return PromptFile(tuple(prompts), tuple(prompt for _, prompt in longest.values()))


def _reject_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


DECODE: Final = json.JSONDecoder(parse_constant=_reject_constant).decode


def _user_message(text: str) -> Message:
    return {"role": "user", "content": text}


def _parse_messages(line: str, where: str) -> list[Message]:
    try:
        item = DECODE(line)
        if "\\u" in line:  # an escaped lone surrogate cannot be encoded and sent
            json.dumps(item, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: invalid JSON: {error}") from error
    if not isinstance(item, dict) or len(item) != 1:
        raise UsageError(f"{where}: expected {FORMS} without other fields")
    if isinstance(text := item.get("prompt"), str) and text.strip():
        return [_user_message(text)]
    messages = item.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(message, dict) for message in messages):
        raise UsageError(f"{where}: expected {FORMS}, not empty")
    try:
        content = messages[_last_user_message(messages)].get("content")
    except StopIteration:
        raise UsageError(f"{where}: expected a message with the role 'user'") from None
    if not isinstance(content, str | list):
        raise UsageError(f"{where}: invalid content of the last user message: expected a string or a list of parts")
    return messages


def _last_user_message(messages: list[Message]) -> int:
    return next(at for at in range(len(messages) - 1, -1, -1) if messages[at].get("role") == "user")


KIND_FIELDS: Final = ("role", "type")
"""Fields whose value decides which other fields are required."""


def _kind(value: Any, name: str = "") -> object:
    """Return the structure of a value without its texts."""
    if isinstance(value, str):
        return value if name in KIND_FIELDS else bool(value)
    if isinstance(value, dict):
        return frozenset([(key, _kind(item, key)) for key, item in value.items()])
    if isinstance(value, list):
        return (len(value) > 1, *dict.fromkeys([_kind(item) for item in value]))
    return type(value), value
