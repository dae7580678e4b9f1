"""Check that prose and loop variables avoid the words in `vocabulary.yaml`.

`python lint/vocabulary.py [PATH...]` prints each use as `file:line: word: write instead` and exits with 1 if there are
any. It reads the docstrings, comments and strings of Python files, Markdown without code blocks, and YAML. Keys, names
and the content of requests in YAML are exempt.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from bisect import bisect_right
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parent.parent
RULES: Final = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
WORDS: Final = re.compile(
    rf"(?<![\w.`/-])(?:{'|'.join(f'(?:{pattern})' for pattern in RULES['words'])})(?![\w`]|-\w)", re.IGNORECASE
)
ADVICE: Final = {re.compile(pattern, re.IGNORECASE): advice for pattern, advice in RULES["words"].items()}
CODE: Final = re.compile(r"`[^`\n]*`")
YAML_KEY: Final = re.compile(r"^[ -]*[\w$./-]+:(?= |$)", re.MULTILINE)
YAML_DATA: Final = re.compile(r"^[ -]*(?:name|part|content|chatproof_unknown):.*", re.MULTILINE)
"""Lines of YAML that contain ids or the content of a request."""
FENCE: Final = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
BETWEEN: Final = "\0"
"""Between the pieces of the prose of a file, so that no pattern matches across two of them."""


def main(paths: list[str]) -> int:
    """Print every use of a listed word; return the exit code."""
    problems = [problem for path in _files(paths) for problem in find_problems(path)]
    for problem in problems:
        print(problem)
    print(f"words on the lint list: {len(problems)}")
    return 1 if problems else 0


def find_problems(path: Path) -> Iterator[str]:
    """Yield each use of a listed word or loop variable in a file, as `file:line: word: write instead`."""
    source = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT)
    pieces = [(line, CODE.sub(_blank, text)) for line, text in _prose(path.suffix, source)]
    prose = BETWEEN.join(text for _, text in pieces)  # it is searched once: a file has thousands of pieces
    starts = list(accumulate((len(text) + len(BETWEEN) for _, text in pieces), initial=0))
    for match in WORDS.finditer(prose):
        piece = bisect_right(starts, match.start()) - 1
        line = pieces[piece][0] + prose.count("\n", starts[piece], match.start())
        advice = next(advice for pattern, advice in ADVICE.items() if pattern.fullmatch(prose, *match.span()))
        yield f"{name}:{line}: {' '.join(match[0].split())}: write instead: {advice}"
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
                for target in ast.walk(node.target):
                    if isinstance(target, ast.Name) and target.id in RULES["loop_variables"]:
                        yield f"{name}:{target.lineno}: loop variable {target.id}: name the thing"


def _prose(suffix: str, source: str) -> Iterator[tuple[int, str]]:
    """The prose of a file, piece by piece, with the line on which each begins."""
    if suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            is_sentence = token.type == tokenize.STRING and " " in token.string  # single words are ids
            if is_sentence or token.type in {tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1)}:
                yield token.start[0], token.string
    elif suffix == ".md":
        yield 1, FENCE.sub(lambda match: "\n" * match[0].count("\n"), source)
    else:
        yield 1, YAML_KEY.sub(_blank, YAML_DATA.sub(_blank, source))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _files(paths: list[str]) -> Iterator[Path]:
    """The tracked files to check: all of them, or those below the given paths."""
    command = ["git", "ls-files", "--", *(paths or ["."])]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S603
    for name in listed.splitlines():
        path = ROOT / name
        exempt = any(name.startswith(prefix) for prefix in RULES["exempt"])
        if path.suffix in {".py", ".md", ".yaml", ".toml", ".ini"} and path.exists() and not exempt:
            yield path


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
