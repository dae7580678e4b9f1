"""LocalEngine: a checkpoint on this machine's device, driven by one thread."""

from __future__ import annotations

import asyncio
import atexit
import logging
import secrets
import threading
import time
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from .allocator import keep_freed_memory
from .bias import Bias, check_tokens
from .checkpoint import Checkpoint, load_checkpoint
from .device import select_device, torch
from .form import answer_grammar
from .generation import LocalGeneration, hand_over
from .grammar import Grammars
from .lark import Spelling
from .protocol import (
    CheckpointError,
    Delta,
    Engine,
    EngineError,
    Prompt,
    PromptTooLong,
    RankedLogprob,
    Unavailable,
    UnusableGrammar,
)
from .restarts import Restarts
from .runner import PROMPT_POSITIONS, Runner, verified_runner
from .sampler import Sampler
from .scheduler import PREFILL_TOKENS, Batch, Scheduler
from .scores import along
from .sequence import Sampled
from .stepper import Stepper
from .submission import Submission
from .teller import Choice, Teller, Told
from .tool_format import ANY_OBJECT, spaced
from .transcript import Terms
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .grammar import Matcher
    from .params import SamplingParams
    from .sequence import Sequence
    from .tool_use import Tool

POSITIONS_UNLESS_ASKED = 4096
SMALL_MODEL_PARAMETERS = 50_000_000
CLOSED = "the engine was closed"
# What needs a form of calls in the chat template, and what needs a grammar, by the names of capabilities.
CALLS = frozenset({"tools", "functions"})
FORMS = frozenset({"structured_output"})
HANG_S = 120.0
"""Far more than a step takes, the first of a shape on a device that compiles included."""
_log = logging.getLogger(__name__)


class LocalEngine(Engine):
    """An engine over one model, its slot cache and a thread that steps it.

    The thread alone touches the model, the scheduler and the sampler. Requests reach it through a queue; what
    a step made is told by a thread of its own while the next pass runs, and goes back to each event loop in one call.

    vocabulary_size: token ids are below it.
    max_model_len: prompt and generated tokens together.
    max_new_tokens: the server's cap on generated tokens, whatever a request asks.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        runner: Runner,
        *,
        slots: int,
        max_model_len: int,
        max_new_tokens: int,
        prefill_tokens: int = PREFILL_TOKENS,
        prefix_reuse: bool = True,
        restarts: Restarts | None = None,
        hang_s: float = HANG_S,
    ) -> None:
        self.vocabulary_size = runner.vocabulary_size
        self.max_model_len = max_model_len
        self.max_new_tokens = max_new_tokens
        self._checkpoint = checkpoint
        self._vocabulary = Vocabulary(checkpoint.tokenizer)
        self._grammars = Grammars(checkpoint.tokenizer, self.vocabulary_size, checkpoint.eos_token_ids)
        self.parsed_arguments = checkpoint.tool_format is None or checkpoint.tool_format.history == "parsed"
        self.lacking = CALLS if checkpoint.tool_format is None else frozenset()
        if not self._grammars.usable:
            self.lacking = CALLS | FORMS
        self._spelling = Spelling(self._vocabulary.control_ids)
        self._runner = runner
        self._slots = slots
        self._prefill_tokens = prefill_tokens
        self._prefix_reuse = prefix_reuse
        self._restarts = restarts or Restarts()
        self._hang_s = hang_s
        self._inbox: SimpleQueue[LocalGeneration | None] = SimpleQueue()
        self._closing = threading.Event()
        self._failure: str | None = None  # why nothing is taken now
        self._step_began_s: float | None = None
        self._teller = Teller()
        self._runner.begins = self._teller.begin
        self._begin()
        self._gate = threading.Lock()  # so that nothing enters the inbox after the thread has emptied it
        self._thread = threading.Thread(target=self._serve, name="engine", daemon=True)
        self._thread.start()
        atexit.register(self.close)  # a thread that computes while the interpreter goes away crashes it

    @classmethod
    def load(
        cls,
        checkpoint: Path,
        *,
        device: str = "auto",
        dtype: str = "auto",
        slots: int = 20,
        max_model_len: int | None = None,
        max_new_tokens: int | None = None,
        threads: int | None = None,
        prefill_tokens: int = PREFILL_TOKENS,
        prefix_reuse: bool = True,
        restarts: Restarts | None = None,
        hang_s: float = HANG_S,
    ) -> LocalEngine:
        """Load a checkpoint directory and start the engine.

        device: "auto" (the accelerator, else the CPU) or a device's name. dtype: see checkpoint.DTYPES.
        slots: how many sequences run at once; more wait. A beam search takes one for each beam, so the default is
            enough for the widest that OpenVINO Model Server takes, 19.
        max_model_len: positions of a sequence; None: the checkpoint's limit, but at most 4096, because the
            cache for all slots is allocated here.
        max_new_tokens: cap on generated tokens; None: as many as fit.
        threads: CPU threads of the tensor library, for the whole process; None: 1 for a model below 50
            million parameters, which more threads only slow down, else the library's choice.
        prefill_tokens: a longer prompt goes through the model in chunks of so many tokens, between the steps of
            those that run; at least 16.
        prefix_reuse: whether a prompt takes over keys and values of its beginning that a slot holds already.
        restarts: how often it may begin again after a failure that ends all requests.
        hang_s: a step that takes longer never ends, it is assumed.

        Raises CheckpointError, and ValueError for an argument out of its range.
        """
        if slots < 1:
            raise ValueError(f"slots is {slots}: at least 1 is needed")
        if prefill_tokens < PROMPT_POSITIONS:
            raise ValueError(f"prefill_tokens is {prefill_tokens}: at least {PROMPT_POSITIONS} are needed")
        loaded = load_checkpoint(checkpoint, select_device(device), dtype)
        limit = loaded.position_limit
        positions = min(limit, POSITIONS_UNLESS_ASKED) if max_model_len is None else max_model_len
        if not 2 <= positions <= limit:
            raise ValueError(f"max_model_len is {positions}: this checkpoint allows 2 to {limit}")
        new_tokens = positions - 1 if max_new_tokens is None else max_new_tokens
        if new_tokens < 1:
            raise ValueError(f"max_new_tokens is {new_tokens}: at least 1 is needed")
        if threads is None and loaded.model.num_parameters() < SMALL_MODEL_PARAMETERS:
            threads = 1
        if threads is not None:
            torch.set_num_threads(threads)
        keep_freed_memory()
        try:
            runner = verified_runner(loaded.model, slots=slots, max_model_len=positions)
        except CheckpointError as error:
            raise CheckpointError(f"{checkpoint} {error}") from error
        return cls(
            loaded,
            runner,
            slots=slots,
            max_model_len=positions,
            max_new_tokens=new_tokens,
            prefill_tokens=prefill_tokens,
            prefix_reuse=prefix_reuse,
            restarts=restarts,
            hang_s=hang_s,
        )

    @property
    def alive(self) -> bool:
        return self._failure is None and not self._closing.is_set() and not self.dead

    @property
    def dead(self) -> bool:
        return not self._thread.is_alive() or self._hangs

    @property
    def _hangs(self) -> bool:
        began = self._step_began_s
        return began is not None and time.monotonic() - began > self._hang_s

    def encode_chat(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> list[int]:
        return self._checkpoint.chat.encode(messages, tools, template_kwargs)

    def prepare(self, prompt: list[int], params: SamplingParams) -> None:
        self._matcher(params, self._thinking(prompt, params))

    def submit(self, prompt: list[int], params: SamplingParams) -> LocalGeneration:
        if not prompt:
            raise ValueError("the prompt is empty: it needs at least one token")
        if min(prompt) < 0 or max(prompt) >= self.vocabulary_size:
            raise ValueError(f"the prompt holds a token id outside 0 to {self.vocabulary_size - 1}")
        prompt = self._truncated(prompt, params)
        if len(prompt) > self.max_model_len - 1:
            raise PromptTooLong(len(prompt), self.max_model_len - 1)
        if params.beam_search and params.width > min(self._slots, self.vocabulary_size):
            raise ValueError(f"a search with {params.width} beams needs as many slots, and there are {self._slots}")
        room = min(self.max_new_tokens, self.max_model_len - len(prompt))
        check_tokens("logprob_token_ids", params.logprob_token_ids, self.vocabulary_size)
        ends = params.stop_token_ids if params.ignore_eos else params.stop_token_ids | self._checkpoint.eos_token_ids
        thinking = self._thinking(prompt, params)
        terms = Terms(
            self._vocabulary,
            params,
            room if params.max_tokens is None else min(room, params.max_tokens),
            ends,
            thinking=thinking,
            bias=Bias.of(params, self._vocabulary, self.vocabulary_size, ends, thinking=thinking),
            matcher=self._matcher(params, thinking),
            tool_format=self._checkpoint.tool_format,
            predicted=None if params.predicted is None else self._vocabulary.encode(params.predicted),
        )
        seed = secrets.randbits(64) if params.seed is None else params.seed
        submission = Submission(list(prompt), terms, seed=seed, ready_at=time.perf_counter())
        generation = LocalGeneration(submission, asyncio.get_running_loop())
        with self._gate:
            if self._failure is not None or self._closing.is_set():
                raise Unavailable(self._failure or CLOSED)
            self._inbox.put(generation)
        return generation

    def _truncated(self, prompt: list[int], params: SamplingParams) -> list[int]:
        most = self.max_model_len - 1 if params.truncate_prompt_tokens == -1 else params.truncate_prompt_tokens
        if most is None or len(prompt) <= most:
            return prompt
        return prompt[:most] if params.keeps_beginning else prompt[-most:]

    def _thinking(self, prompt: list[int], params: SamplingParams) -> bool:
        return params.reasoning and self._vocabulary.opens_thought(prompt)

    def _matcher(self, params: SamplingParams, thinking: bool) -> Matcher | None:
        """At the beginning of the grammar that a request asks for; the second time it is there already."""
        if params.tools is not None:
            tools = tuple(self._possible(tool) for tool in params.tools.tools)
            params = replace(params, tools=replace(params.tools, tools=tools))
        grammar = answer_grammar(
            params,
            form=self._checkpoint.tool_format,
            spelling=self._spelling,
            thought_markers=self._vocabulary.thought_markers,
            thinking=thinking,
        )
        try:
            return None if grammar is None else self._grammars.compile(grammar, endless=params.ignore_eos)
        except UnusableGrammar as error:
            raise UnusableGrammar(f"the answer cannot be held to the form that is asked for: {error}") from error

    def _possible(self, tool: Tool) -> Tool:
        """The tool, or one that takes any arguments where only some were wished for and no grammar can hold to it."""
        try:
            self._grammars.compile(f"start: {spaced(tool.schema)}")
        except UnusableGrammar as error:
            if tool.exact:
                raise UnusableGrammar(
                    f"tools: calls of {tool.name} cannot be held to its parameters: {error}"
                ) from error
            return replace(tool, schema=ANY_OBJECT, keywords=None)
        return tool

    def close(self) -> None:
        atexit.unregister(self.close)
        with self._gate:
            self._closing.set()
            self._inbox.put(None)
        while self._thread.is_alive() and not self._hangs:
            self._thread.join(0.1)
        if self._thread.is_alive():  # nothing can end it, so it is left alone; it touches no request any more
            self._give_up("the engine hangs", None)
        self._teller.close()

    def _begin(self) -> None:
        self._sampler = Sampler(self._slots, self.vocabulary_size)
        self._stepper = Stepper(self._runner, self._sampler)
        self._scheduler = Scheduler(self._slots, self._prefill_tokens, reuse=self._prefix_reuse)
        self._generations: dict[Sequence, LocalGeneration] = {}

    def _serve(self) -> None:
        """The thread: run until closed; after a failure, begin again a few times."""
        with torch.inference_mode():
            while (error := self._run()) is not None:
                _log.error("the engine died", exc_info=error)
                self._give_up(f"the engine died: {type(error).__name__}: {error}", error)
                pause_s = self._restarts.next_pause_s(time.monotonic())
                if pause_s is None or self._closing.wait(pause_s):
                    return
                _log.warning("the engine begins again")
                self._begin()
        self._give_up(CLOSED, None)

    def _run(self) -> Exception | None:
        """Step while there is work, wait while there is none; what ended that, None for `close`."""
        try:
            if self._failure is not None:
                self._runner.reset()  # what has failed may have left anything in the cache
                self._failure = None
            while self._receive():
                for sequence in self._scheduler.drop_cancelled():
                    del self._generations[sequence]
                if batch := self._scheduler.schedule():
                    self._step_began_s = time.monotonic()
                    self._step(batch)
                    self._step_began_s = None
        except Exception as error:
            return error
        finally:
            self._step_began_s = None
        return None

    def _give_up(self, reason: str, cause: Exception | None) -> None:
        """Take nothing more, and fail what is left."""
        with self._gate:
            self._failure = reason
        with suppress(Exception):
            self._settle()
        while not self._inbox.empty():
            self._enter(self._inbox.get())
        left = dict.fromkeys(self._generations.values())  # each once
        hand_over((generation, _failed(reason, cause)) for generation in left)

    def _receive(self) -> bool:
        """Take in what was submitted, waiting only if there is nothing else to do; False once closing."""
        if not self._scheduler.busy:
            self._settle()
        while not self._inbox.empty() or not self._scheduler.busy:
            self._enter(self._inbox.get())
            if self._closing.is_set():
                break
        return not self._closing.is_set()

    def _enter(self, generation: LocalGeneration | None) -> None:
        if generation is not None:
            for together in generation.submission.together:
                self._generations |= dict.fromkeys(together, generation)
                self._scheduler.add(*together)

    def _step(self, batch: Batch) -> None:
        """One forward pass, and what follows from it; meanwhile what followed from the one before is told."""
        told: list[Told] = []
        for sequence, item in self._stepper.step(batch, self._settle):
            generation = self._generations[sequence]
            if sequence.cancellation.requested:
                continue
            if item is not None and not isinstance(item, EngineError) and generation.owes_prompt:
                item = self._with_prompt(generation, item)
            if isinstance(item, EngineError):
                self._scheduler.forget(sequence)
                sequence.cancellation.requested = True  # a request fails as a whole
                told.append(Told(generation, sequence, item))
                continue
            if item is not None:
                told.append(Told(generation, sequence, item))
            if _over(sequence, item):
                self._finish(sequence)
        self._settle()
        self._teller.take(told)

    def _settle(self) -> list[Sequence]:
        """Wait until all is told; who is over by it, and was not before."""
        over = [sequence for sequence in self._teller.settle() if sequence in self._generations]
        for sequence in over:
            self._finish(sequence)
        return over

    def _finish(self, sequence: Sequence) -> None:
        self._scheduler.finish(sequence)
        del self._generations[sequence]

    def _with_prompt(self, generation: LocalGeneration, item: Choice | Delta) -> Choice | Delta | EngineError:
        """What a step brought, once the prompt is known that comes with the first delta."""
        generation.owes_prompt = False
        try:
            generation.prompt = self._prompt(generation.submission)
        except Exception as error:  # what one request asks for must not be everybody's end
            _log.exception("a prompt cannot be told")
            return _failed(f"the prompt cannot be told: {type(error).__name__}: {error}", error)
        return item

    def _prompt(self, submission: Submission) -> Prompt:
        prompt, top = submission.prompt, submission.params.prompt_logprobs
        text = self._checkpoint.tokenizer.decode(prompt, skip_special_tokens=False)
        if top is None:
            return Prompt(tuple(prompt), text)
        rows = along(self._runner.along(prompt), prompt, top)
        name = self._vocabulary.text
        told = [tuple(RankedLogprob(token, name(token), own, rank) for token, own, rank in row) for row in rows]
        return Prompt(tuple(prompt), text, (None, *told))


def _over(sequence: Sequence, item: Choice | Delta | None) -> bool:
    """Whether what a step brought is certainly the last; a sample takes its token."""
    if isinstance(item, Choice) and isinstance(sequence, Sampled):
        return sequence.take(item.token)
    return item is None or (isinstance(item, Delta) and item.finish_reason is not None)


def _failed(reason: str, cause: Exception | None) -> EngineError:
    error = EngineError(reason)
    error.__cause__ = cause
    return error
