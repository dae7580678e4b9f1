"""Grammars that restrict the next tokens of an answer, compiled by llguidance."""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

import llguidance
import numpy

from reference_server.engine.device import torch
from reference_server.engine.protocol import Unsatisfiable, UnusableGrammar
from reference_server.engine.transfers import move, upload

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Sequence as Seq

    from tokenizers import Tokenizer

Mask = numpy.ndarray[tuple[int], numpy.dtype[numpy.uint8]]

_log = logging.getLogger(__name__)

# Limits for the compilation, in the request's own thread, and for a mask, in the engine's thread. The largest schemas
# found in practice need a hundredth of these.
MAX_GRAMMAR_LENGTH = 262_144  # characters
LIMITS = llguidance.LLParserLimits(
    initial_lexer_fuel=500_000,
    step_lexer_fuel=50_000,
    step_max_items=20_000,
    max_items_in_row=1_000,
    max_lexer_states=20_000,
    max_grammar_size=100_000,
    verbose_errors=False,
)
DEAD_END = "it allows no output"
TOO_COMPLEX = "it is too complex, or refers to itself without an end"
LIMIT_MESSAGE = re.compile(
    r"\(limit |fuel exhausted|total fuel|lex fuel|check fuel|lexer precomputation|schema too large"
)
"""Messages of the library when a limit of LIMITS is reached."""
MAX_CACHED_GRAMMARS = 256  # a conversation sends the same tools with every turn


class GrammarCompiler:
    """Compiler of grammars for one checkpoint; it can be shared between threads.

    ends: tokens that may follow where the grammar allows the end.

    The token tables are built once, here: in 0.1 s for a vocabulary of 4,096 and in 1.1 s for one of 151,936, for which
    a schema compiles in 3 ms.
    """

    def __init__(self, tokenizer: Tokenizer, vocabulary_size: int, ends: Iterable[int]) -> None:
        self._vocabulary_size = vocabulary_size
        self._ends = tuple(sorted(end for end in ends if 0 <= end < vocabulary_size))
        self._compiled: OrderedDict[str, Matcher] = OrderedDict()
        self._lock = Lock()
        self._tables: llguidance.LLTokenizer | None = None
        try:
            self._tables = llguidance.LLTokenizer(
                tokenizer.to_str(), n_vocab=vocabulary_size, eos_token=list(self._ends)
            )
        except Exception as error:  # an unknown kind of tokenizer can raise any exception
            _log.warning("grammars are not available with this tokenizer: %s", error)

    @property
    def usable(self) -> bool:
        """Whether the tokenizer supports grammars."""
        return self._tables is not None

    def compile(self, grammar: str, *, ignore_end: bool = False) -> Matcher:
        """Return a matcher at the start of the grammar; raise UnusableGrammar.

        grammar: in llguidance's variant of Lark.
        ignore_end: ban end tokens as long as anything else can follow.

        The compilation may take some tenths of a second.
        """
        banned = self._ends if ignore_end else ()
        with self._lock:
            cached = self._compiled.get(grammar)
            if cached is not None:
                self._compiled.move_to_end(grammar)
                return cached.fork(banned)
        compiled = self._compile(grammar)
        with self._lock:
            self._compiled[grammar] = compiled
            while len(self._compiled) > MAX_CACHED_GRAMMARS:
                self._compiled.popitem(last=False)
            return compiled.fork(banned)

    def _compile(self, grammar: str) -> Matcher:
        if self._tables is None:
            raise UnusableGrammar("the model's tokenizer does not support grammars")
        if len(grammar) > MAX_GRAMMAR_LENGTH:
            raise UnusableGrammar(
                f"its grammar has {len(grammar)} characters, and at most {MAX_GRAMMAR_LENGTH} are allowed"
            )
        matcher = llguidance.LLMatcher(self._tables, grammar, log_level=0, limits=LIMITS)
        if matcher.is_error():
            raise UnusableGrammar(_summarise_error(matcher.get_error()))
        self._check_startable(matcher.deep_copy(), self._tables)
        return Matcher(matcher, self._vocabulary_size)

    @staticmethod
    def _check_startable(matcher: llguidance.LLMatcher, tables: llguidance.LLTokenizer) -> None:
        """Raise UnusableGrammar for a grammar without a possible first token, or with too complex a start.

        The compilation itself detects neither.
        """
        matcher.consume_tokens(matcher.compute_ff_tokens())
        allowed = any(matcher.compute_bitmask())
        if not matcher.is_error() and not matcher.is_accepting() and (matcher.is_stopped() or not allowed):
            raise UnusableGrammar(DEAD_END)
        opening = tables.tokenize_str('{"')  # the property names of an object are processed where they begin
        if matcher.try_consume_tokens(opening) == len(opening):
            matcher.compute_bitmask()
        if matcher.is_error():
            raise UnusableGrammar(_summarise_error(matcher.get_error()))


class Matcher:
    """The state of one answer in its grammar. banned: tokens that must never follow."""

    def __init__(self, matcher: llguidance.LLMatcher, vocabulary_size: int, banned: tuple[int, ...] = ()) -> None:
        self._matcher = matcher
        self._vocabulary_size = vocabulary_size
        self._banned = banned
        self._mask: Mask | None = None

    def fork(self, banned: tuple[int, ...] | None = None) -> Matcher:
        """Return an independent copy."""
        return Matcher(self._matcher.deep_copy(), self._vocabulary_size, self._banned if banned is None else banned)

    def consume(self, token_id: int) -> None:
        """Add the answer's next token; raise Unsatisfiable for one that the mask forbids, and if a limit is reached."""
        self._mask = None
        if not self._matcher.consume_token(token_id):
            raise Unsatisfiable(f"the output format cannot be enforced: {_summarise_error(self._matcher.get_error())}")

    @property
    def complete(self) -> bool:
        """Whether only the end can follow; raises Unsatisfiable if nothing can follow and the answer is incomplete."""
        if not self._matcher.is_stopped():
            return False
        if not self._matcher.is_accepting():
            raise Unsatisfiable("the output format allows no continuation")
        return True

    @property
    def mask(self) -> Mask:
        """One bit for each token, set if it may follow; all zero at a dead end. Computed once per state."""
        if self._mask is None:
            self._mask = numpy.zeros(-(-self._vocabulary_size // 32) * 4, dtype=numpy.uint8)
            self._matcher.unsafe_compute_mask_ptr(self._mask.ctypes.data, self._mask.nbytes)
            if self._matcher.is_error():
                self._mask[:] = 0
            for token in self._banned:
                self._mask[token >> 3] &= 0xFF ^ (1 << (token & 7))
        return self._mask


def mask_forbidden(logits: torch.Tensor, matchers: Mapping[int, Matcher]) -> None:
    """Set the logits [rows, vocabulary] of forbidden tokens to -inf, in place. matchers: by row."""
    forbidden = _unpack_forbidden([matcher.mask for matcher in matchers.values()], logits)
    if len(matchers) == len(logits):
        logits.masked_fill_(forbidden, -torch.inf)
    else:
        rows = upload(list(matchers), logits.device)
        logits[rows] = logits[rows].masked_fill(forbidden, -torch.inf)


def _unpack_forbidden(masks: Seq[Mask], logits: torch.Tensor) -> torch.Tensor:
    """Return bool [masks, vocabulary], true for forbidden tokens; an accelerator gets the bits and unpacks them."""
    bits = numpy.stack(masks)
    if logits.device.type == "cpu":
        allowed = numpy.unpackbits(bits, axis=1, count=logits.shape[1], bitorder="little").view(numpy.bool_)
        return torch.from_numpy(numpy.logical_not(allowed, out=allowed))
    packed = move(torch.from_numpy(bits), logits.device)
    unpacked = (packed[:, :, None] >> torch.arange(8, dtype=torch.uint8, device=logits.device)) & 1
    return unpacked.flatten(1)[:, : logits.shape[1]] == 0


def _summarise_error(error: str) -> str:
    """Return the first line of an error of the library.

    Positions in the grammar are removed, since the client has not seen the grammar.
    """
    wrong = re.search(r"^error: (.*)", error, re.MULTILINE)  # errors in regular expressions come after an excerpt
    line = wrong[1] if wrong else error.strip() or DEAD_END
    line = re.split(r"\n|; consider |\. Enable ", line, maxsplit=1)[0]  # without advice for developers
    if line.startswith("NoExtension"):
        return DEAD_END
    if LIMIT_MESSAGE.search(line):
        return TOO_COMPLEX
    line = re.sub(r"^at \d+\(\d+\): ", "", line).removeprefix("failed to compile JSON schema: ")
    unsupported = re.fullmatch(r"Unimplemented keys: \[(.*)\]", line)
    if unsupported:
        keys = unsupported[1].replace('"', "")
        return f"the keyword {keys} is not supported" if "," not in keys else f"the keywords {keys} are not supported"
    return line
