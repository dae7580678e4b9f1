"""Parse YAML files of contract data strictly, and find the line of a place in them."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

import yaml

from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FILE_ENDINGS: Final = (".yaml", ".yml")
DELTAS: Final = ("add", "replace", "remove")
ITEM_NAMES: Final = ("name", "value", "id")
"""The keys that identify an item of a list, the first that an item has."""
ROW: Final = 2
"""The number of steps to a row, such as `parameters/top_k`."""
MERGE: Final = "tag:yaml.org,2002:merge"


class ContractError(Exception):
    """Invalid contract data, or an unknown dialect. The message is one line: what is wrong, where, and what to do.

    place: the slash-separated place in the file, if the message does not name it.
    """

    def __init__(self, message: str, *, place: str = "") -> None:
        super().__init__(message)
        self.place = place


class Loader(yaml.CSafeLoader):
    """A YAML loader that rejects duplicate keys; by default the last one silently wins."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key_node.tag != MERGE and key in keys:
                mark = key_node.start_mark
                raise yaml.constructor.ConstructorError(problem=f"duplicate key {key!r}", problem_mark=mark)
            keys.add(key)
        return super().construct_mapping(node, deep)


def parse(text: str, where: str) -> Any:
    """Parse YAML. Raises ContractError with the file, the line, the column and the problem."""
    try:
        return yaml.load(text, Loader=Loader)  # noqa: S506 - a subclass of the safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{where}:{mark.line + 1}:{mark.column + 1}" if mark else where
        raise ContractError(f"{place}: invalid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ContractError(f"{where}: invalid YAML: {str(error).splitlines()[0]}") from error
    except (TypeError, ValueError) as error:  # a key that is a mapping, a date that does not exist
        raise ContractError(f"{where}: invalid YAML: {error}") from error


def find_position(text: str, place: str) -> tuple[int, int] | None:
    """Return the line and the column of the key at a slash-separated place, or of the closest one above it.

    A key may stand for several steps, as the keys below `add` do. None if not even the first step is found.
    """
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return None
    deltas = [value for key, value in root.value if key.value in DELTAS]
    count, mark = max((_follow(node, place.split("/")) for node in (root, *deltas)), key=lambda match: match[0])
    return (mark.line + 1, mark.column + 1) if count else None


def _follow(node: yaml.Node, steps: Sequence[str]) -> tuple[int, Any]:
    """Return how many steps lead from a node to a key below it, and the mark of that key."""
    best: tuple[int, Any] = (0, node.start_mark)
    for name, key, value in _children(node):
        parts = name.split("/")
        common = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(parts, steps, strict=False))))
        if common == min(len(parts), len(steps)):
            count, mark = _follow(value, steps[common:])
            best = max(best, (common + count, mark if count else key.start_mark), key=lambda match: match[0])
        elif common >= ROW:
            best = max(best, (common, key.start_mark), key=lambda match: match[0])
    return best


def _children(node: yaml.Node) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    """Yield the step to each child of a node, the node of its key and the node of its value."""
    if isinstance(node, yaml.MappingNode):
        yield from ((str(key.value), key, value) for key, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            names = {key.value: value.value for key, value in item.value} if isinstance(item, yaml.MappingNode) else {}
            named = next((names[key] for key in ITEM_NAMES if key in names), item.value)
            yield from ((str(step), item, item) for step in (named, index))


def read_text(path: Path) -> str:
    """Return the text of a file. Raises ContractError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        hint = suggest(path.name, [item.name for item in path.parent.glob("*") if item.suffix in FILE_ENDINGS])
        raise ContractError(f"{path}: file not found{hint}") from None
    except OSError as error:
        raise ContractError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ContractError(f"{path}: invalid encoding: expected UTF-8") from error


def locate_error(error: ContractError, paths: list[Path]) -> ContractError:
    """Return the error with the line and the column of the place that it names, searched in files, the last first."""
    message = str(error)
    for path in reversed(paths):
        rest = message.removeprefix(f"{path}: ")
        if rest == message and message.startswith(str(path)):
            return error  # it has a position
        words = (word.strip("'\"(),:") for word in rest.split())
        named = [word for word in words if "/" in word or word == rest.partition(":")[0]]
        for place in filter(None, [error.place.replace("~1", "/").replace("~0", "~"), *named[:MOST_PLACES]]):
            if (position := find_position(path.read_text(encoding="utf-8"), place)) is not None:
                return ContractError(f"{path}:{position[0]}:{position[1]}: {_without_file(rest, paths)}")
    return error


MOST_PLACES: Final = 4
"""How many words of a message may be the place that it is about."""


def _without_file(message: str, paths: list[Path]) -> str:
    for path in paths:
        message = message.removeprefix(f"{path}: ")
    return message
