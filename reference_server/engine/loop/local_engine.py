"""The local engine: a checkpoint on the device of this machine."""

from __future__ import annotations

import asyncio
import secrets
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from reference_server.engine.device import select_device
from reference_server.engine.loop.driver import HANG_S, STALL_S, Driver
from reference_server.engine.loop.generation import LocalGeneration
from reference_server.engine.loop.restarts import RestartPolicy
from reference_server.engine.loop.submission import Submission
from reference_server.engine.media import split_media
from reference_server.engine.model.allocator import return_freed_memory
from reference_server.engine.model.cache_plan import GIBIBYTE
from reference_server.engine.model.opening import open_checkpoint
from reference_server.engine.model.runner import PROMPT_QUANTUM
from reference_server.engine.multimodal.embeddings import MediaEmbeddings, MediaPrompt, text_tokens
from reference_server.engine.passing_thread import run_on_passing_thread
from reference_server.engine.protocol import (
    DEVICE_PREFILL_TOKENS,
    PREFILL_TOKENS,
    WARM_UP_S,
    Engine,
    EngineLoad,
    Prompt,
    PromptTooLong,
    RankedLogprob,
)
from reference_server.engine.sampling.bias import Bias, check_token_ids
from reference_server.engine.sampling.scores import score_prompt
from reference_server.engine.text.chat import count_characters
from reference_server.engine.text.transcript import AnswerSpec
from reference_server.engine.tools.answer_matchers import AnswerMatchers
from reference_server.engine.tools.grammar import GrammarCompiler
from reference_server.engine.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from reference_server.engine.model.opening import OpenedCheckpoint
    from reference_server.engine.multimodal.model_inputs import InputTable
    from reference_server.engine.params import SamplingParams

# Capabilities that need a tool format in the chat template, and one that needs grammars.
TOOL_CAPABILITIES = frozenset({"tools", "functions"})
GRAMMAR_CAPABILITIES = frozenset({"structured_output"})
MEDIA_CAPABILITIES = frozenset({"media"})


class LocalEngine(Engine):
    """An engine over one model, its slot cache and a driver.

    It validates requests and converts them to submissions for the driver.

    vocabulary_size: token ids are smaller.
    max_model_len: maximum number of prompt and generated tokens together.
    max_new_tokens: the server's limit of generated tokens, for all requests.
    plan: the size of the cache.
    choice: the data type, and why.
    """

    def __init__(
        self,
        opened: OpenedCheckpoint,
        *,
        max_new_tokens: int,
        prefill_tokens: int = PREFILL_TOKENS,
        prefix_reuse: bool = True,
        restarts: RestartPolicy | None = None,
        hang_s: float = HANG_S,
        stall_s: float = STALL_S,
    ) -> None:
        checkpoint, runner, plan, self.choice = opened
        self.vocabulary_size = runner.vocabulary_size
        self.plan = plan
        self.max_model_len = plan.positions
        self.max_new_tokens = max_new_tokens
        self._checkpoint = checkpoint
        self._vocabulary = Vocabulary(checkpoint.tokenizer)
        compiler = GrammarCompiler(checkpoint.tokenizer, self.vocabulary_size, checkpoint.eos_token_ids)
        self.parsed_arguments = checkpoint.tool_format is None or checkpoint.tool_format.history == "parsed"
        self.sampling_defaults = checkpoint.sampling_defaults
        self.lacking = TOOL_CAPABILITIES if checkpoint.tool_format is None else frozenset()
        if not compiler.usable:
            self.lacking = TOOL_CAPABILITIES | GRAMMAR_CAPABILITIES
        self._encoder = checkpoint.media_encoder if runner.keeps_prefixes else None  # it puts embeddings into the cache
        self._media: MediaEmbeddings | InputTable
        if checkpoint.processor is not None:
            self.media = checkpoint.processor.needs if checkpoint.processor.needs.kinds else None
            self._media = checkpoint.processor.inputs
        else:
            self.media = None if self._encoder is None else self._encoder.needs
            self._media = runner.media = MediaEmbeddings(self._encoder.placeholder_id if self._encoder else -1)
        if self.media is None:
            self.lacking |= MEDIA_CAPABILITIES
        self._matchers = AnswerMatchers(compiler, self._vocabulary, checkpoint.tool_format)
        self._runner = runner
        self.slots = plan.slots
        self._driver = Driver(
            runner,
            self._describe_prompt,
            slots=plan.slots,
            prefill_tokens=prefill_tokens if runner.keeps_prefixes else plan.positions,
            prefix_reuse=prefix_reuse and runner.keeps_prefixes,
            restarts=restarts or RestartPolicy(),
            hang_s=hang_s,
            stall_s=stall_s,
        )

    @classmethod
    def load(
        cls,
        checkpoint: Path,
        *,
        device: str = "auto",
        dtype: str = "auto",
        exact: bool = False,
        slots: int | None = None,
        max_model_len: int | None = None,
        cache_bytes: int | None = None,
        max_new_tokens: int | None = None,
        threads: int | None = None,
        prefill_tokens: int | None = None,
        prefix_reuse: bool = True,
        warm_up_s: float = WARM_UP_S,
        restarts: RestartPolicy | None = None,
        hang_s: float = HANG_S,
        stall_s: float = STALL_S,
    ) -> LocalEngine:
        """Load a checkpoint directory and start the engine.

        device: "auto" (the accelerator, otherwise the CPU) or the name of a device.
        dtype: see `choose_dtype`.
        exact: whether a request gets the same bits in any batch. A model with packed matrices does anyway; a larger one
            is computed in float32 and padded for it, so a step of one sequence takes about twice the time.
        slots: number of sequences that run at once; more wait. A beam search takes one slot per beam, so the default of
            20 is enough for the widest search of OpenVINO Model Server, 19 beams. None: 20, or as many as fit.
        max_model_len: positions of a sequence; None: the checkpoint's limit, but at most 4096 and what fits, because
            the cache of all slots is allocated here.
        cache_bytes: memory for the cache; None: half of what is free next to the weights.
        max_new_tokens: limit of generated tokens; None: as many as fit.
        threads: CPU threads of the tensor library, for the whole process; None: 1 for a model below 50 million
            parameters, which more threads only slow down, otherwise the library's default.
        prefill_tokens: longer prompts are split into chunks of this number of tokens, between the steps of running
            sequences; at least 16. None: 256, or 2,048 on an accelerator, where a pass over fewer takes as long.
        prefix_reuse: whether a prompt reuses the keys and values of a common prefix that a slot still holds.
        warm_up_s: time limit for preparing the passes of an accelerator; the others are prepared when a request needs
            them.
        restarts: how often the engine may restart after a failure that ends all requests.
        hang_s: a step that takes more seconds is considered hung, and the engine dead.
        stall_s: while a step takes more seconds, and several times those of any before it, the engine is not alive.

        Raises CheckpointError, and ValueError for an argument out of range.
        """
        if slots is not None and slots < 1:
            raise ValueError(f"slots is {slots}: at least 1 is needed")
        if prefill_tokens is not None and prefill_tokens < PROMPT_QUANTUM:
            raise ValueError(f"prefill_tokens is {prefill_tokens}: at least {PROMPT_QUANTUM} are needed")
        if max_new_tokens is not None and max_new_tokens < 1:
            raise ValueError(f"max_new_tokens is {max_new_tokens}: at least 1 is needed")
        place = select_device(device)
        opening = partial(
            open_checkpoint,
            checkpoint,
            place,
            dtype=dtype,
            exact=exact,
            slots=slots,
            max_model_len=max_model_len,
            cache_bytes=cache_bytes,
            threads=threads,
            warm_up_s=warm_up_s,
        )
        opened = run_on_passing_thread(opening) if place.type == "cpu" else opening()
        engine = cls(
            opened,
            max_new_tokens=opened.plan.positions - 1 if max_new_tokens is None else max_new_tokens,
            prefill_tokens=prefill_tokens or (PREFILL_TOKENS if place.type == "cpu" else DEVICE_PREFILL_TOKENS),
            prefix_reuse=prefix_reuse,
            restarts=restarts,
            hang_s=hang_s,
            stall_s=stall_s,
        )
        return_freed_memory()  # loading takes hundreds of megabytes that no step needs
        return engine

    @property
    def alive(self) -> bool:
        return self._driver.alive

    @property
    def dead(self) -> bool:
        return self._driver.dead

    @property
    def current_load(self) -> EngineLoad:
        running = self._driver.scheduler.running
        held = sum(sequence.position + 1 for sequence in running)
        return EngineLoad(len(running), self._driver.waiting, min(1.0, held / (self.slots * self.max_model_len)))

    def encode_chat(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> list[int]:
        ids = self._checkpoint.encode_chat(messages, tools, template_kwargs)
        _, media = split_media(messages)
        if not media or self._encoder is None or not isinstance(self._media, MediaEmbeddings):
            return ids
        return self._media.expand(ids, [self._media.add(medium, self._encoder.encode) for medium in media])

    def check_size(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, params: SamplingParams
    ) -> None:
        if params.truncate_prompt_tokens is None:
            least = count_characters([messages, tools]) // self._vocabulary.longest_token
            if least > self.max_model_len - 1:
                raise PromptTooLong(least, self.max_model_len - 1, counted=False)

    def prepare(self, prompt: list[int], params: SamplingParams) -> None:
        prompt = self._fit(prompt, params)
        self._matchers.create(params, thinking=self._starts_in_reasoning(prompt, params))

    def submit(self, prompt: list[int], params: SamplingParams) -> LocalGeneration:
        if not prompt:
            raise ValueError("the prompt is empty: at least one token is needed")
        media = prompt.named if isinstance(prompt, MediaPrompt) else ()
        if min(prompt) < 0 or max(text_tokens(prompt), default=0) >= self.vocabulary_size:
            raise ValueError(f"the prompt contains a token id outside 0 to {self.vocabulary_size - 1}")
        prompt = self._fit(prompt, params)
        if params.beam_search and params.width > min(self.slots, self.vocabulary_size):
            raise ValueError(
                f"a search with {params.width} beams needs {params.width} slots, and the engine has {self.slots}"
            )
        available = min(self.max_new_tokens, self.max_model_len - len(prompt))
        check_token_ids("logprob_token_ids", params.logprob_token_ids, self.vocabulary_size)
        ends = params.stop_token_ids if params.ignore_eos else params.stop_token_ids | self._checkpoint.eos_token_ids
        thinking = self._starts_in_reasoning(prompt, params)
        spec = AnswerSpec(
            self._vocabulary,
            params,
            available if params.max_tokens is None else min(available, params.max_tokens),
            ends,
            thinking=thinking,
            bias=Bias.from_params(params, self._vocabulary, self.vocabulary_size, ends, thinking=thinking),
            matcher=self._matchers.create(params, thinking=thinking),
            tool_format=self._checkpoint.tool_format,
            predicted=None if params.predicted is None else self._encode_prediction(params.predicted),
        )
        seed = secrets.randbits(64) if params.seed is None else params.seed
        submission = Submission(list(prompt), spec, seed=seed, ready_at=time.perf_counter(), media=media)
        generation = LocalGeneration(submission, asyncio.get_running_loop())
        self._driver.submit(generation)
        return generation

    def _fit(self, prompt: list[int], params: SamplingParams) -> list[int]:
        """Return the prompt, truncated if the request asks for it; raise PromptTooLong."""
        fitted = params.truncate_prompt(prompt, self.max_model_len - 1)
        if len(fitted) < len(prompt) and isinstance(prompt, MediaPrompt) and prompt.is_whole:
            raise ValueError("a prompt with media cannot be truncated: remove truncate_prompt_tokens, or shorten it")
        if len(fitted) > self.max_model_len - 1:
            media_tokens = len(fitted) - len(text_tokens(fitted))
            raise PromptTooLong(len(fitted), self.max_model_len - 1, media_tokens=media_tokens)
        return fitted

    def release_memory(self) -> None:
        return_freed_memory()

    def _encode_prediction(self, text: str) -> tuple[int, ...]:
        """Return the tokens of a predicted output, as far as an answer can reach."""
        return self._vocabulary.encode(text[: self.max_new_tokens * self._vocabulary.longest_token])

    def _starts_in_reasoning(self, prompt: list[int], params: SamplingParams) -> bool:
        """Return whether the prompt ends inside reasoning that the request wants separately."""
        return params.reasoning and self._vocabulary.ends_in_reasoning(list(text_tokens(prompt)))

    def describe(self) -> str:
        """Return the choices made at loading in one line: type, slots, positions and memory."""
        size = "" if self.plan.size_bytes is None else f", a cache of at most {self.plan.size_bytes / GIBIBYTE:.2f} GiB"
        bits = "the same bits in any batch" if self._runner.exact else "bits that depend on the batch"
        slots = f"{self.plan.slots} slots of {self.plan.positions} positions{size}"
        way = "" if self._runner.keeps_prefixes else ", over the model's own cache, one sequence after another"
        media = self._checkpoint.describe_media()
        return f"{self._checkpoint.model.dtype} ({self.choice.reason}), {slots}, {bits}{way}{media}".removeprefix(
            "torch."
        )

    def close(self) -> None:
        self._driver.close()

    def _describe_prompt(self, submission: Submission) -> Iterator[Prompt | None]:
        """Yield the text of a prompt and, if requested, the log-probabilities of its tokens.

        None comes before it for each part that is computed, after which the caller may do other work.
        """
        prompt, top = submission.prompt, submission.params.prompt_logprobs
        tokens = self._media.as_tokens(prompt)
        text = self._checkpoint.tokenizer.decode(tokens, skip_special_tokens=False)
        name = self._vocabulary.token_text
        entries: list[tuple[RankedLogprob, ...] | None] = [None]
        for logits in self._runner.prompt_logits(prompt) if top is not None else ():
            expected = tokens[len(entries) - 1 :]
            rows = score_prompt([logits], expected, top or 0)
            entries += [tuple(RankedLogprob(token, name(token), own, rank) for token, own, rank in row) for row in rows]
            yield None
        yield Prompt(tuple(tokens), text, None if top is None else tuple(entries))
