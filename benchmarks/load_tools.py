"""Whole load-test tools: each runs its own command line against the known schedule and tells its own figures.

All of them do the same: so many streams at a time, started together, each come back twice; no warm-up, one worker. What
a tool reports is held against the server's record of the same requests, and its processor time is that of all its
processes, from start to report. A run with one stream costs little but the start.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadtests.calibrate.calibration import p99

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from loadtests.calibrate.schedule import Schedule

ROUNDS = 3
MOST_S = 200.0
TOKENIZER = Path(__file__).parents[1] / "reference_server" / "tiny" / "checkpoint"
OURS = "chatproof load"

Reported = dict[str, float | None]
"""What a report says, in ms: `ttft_p50`, `ttft_p99` and `itl_p99`, the gaps between chunks; None: it has no such."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its program, its arguments with `{names}` to fill in, the file that it writes, what that says, and what
    its environment must have, or with None must not."""

    name: str
    program: str
    arguments: str
    report: str
    read: Callable[[Any], Reported]
    variables: Mapping[str, str | None] = field(default_factory=dict)


def _ours(made: Any) -> Reported:
    ttft, itl = (made["latencies_ms"][name]["percentiles"] for name in ("TTFT", "ITL"))
    return {"ttft_p50": ttft["50"], "ttft_p99": ttft["99"], "itl_p99": itl["99"]}


def _guidellm(made: Any) -> Reported:
    """Its ITL is a mean for each request."""
    ttft = made["benchmarks"][0]["metrics"]["time_to_first_token_ms"]["successful"]["percentiles"]
    return {"ttft_p50": ttft["p50"], "ttft_p99": ttft["p99"], "itl_p99": None}


def _aiperf(made: Any) -> Reported:
    ttft, gaps = made["time_to_first_token"], made["inter_chunk_latency"]
    return {"ttft_p50": ttft["p50"], "ttft_p99": ttft["p99"], "itl_p99": gaps["p99"]}


def _evalscope(made: Any) -> Reported:
    rows = {row["Percentiles"]: row for row in made}
    return {
        "ttft_p50": rows["50%"]["TTFT (ms)"],
        "ttft_p99": rows["99%"]["TTFT (ms)"],
        "itl_p99": rows["99%"]["ITL (ms)"],
    }


TOOLS = (
    Tool(
        OURS,
        sys.executable,
        "-m loadtests {url} --dialect openai --model {model} --users {streams} --max-requests {requests} --warm-up 0s"
        " --time 120s --spawn-rate 10000 --out {out}",
        "results.json",
        _ours,
    ),
    Tool(
        "guidellm",
        "guidellm",
        "run --backend kind=openai_http,target={url},model={model} --profile kind=concurrent,streams={streams}"
        " --constraint kind=max_requests,count={requests} --data kind=synthetic_text,prompt_tokens=16,output_tokens=100"
        " --tokenizer kind=hf_auto,model={tokenizer} --output kind=json,path={out}/report.json"
        " --disable-console-interactive",
        "report.json",
        _guidellm,
        {"GUIDELLM__MAX_WORKER_PROCESSES": "1", "HF_HUB_OFFLINE": "1"},
    ),
    Tool(
        "aiperf",
        "aiperf",
        "profile --url {url} --model {model} --endpoint-type chat --streaming --concurrency {streams}"
        " --request-count {requests} --workers-max 1 --record-processors 1 --tokenizer {tokenizer}"
        " --use-server-token-count --synthetic-input-tokens-mean 16 --artifact-dir {out} --ui none",
        "profile_export_aiperf.json",
        _aiperf,
        {"HF_HUB_OFFLINE": None},  # with it, a folder with a tokenizer is refused
    ),
    Tool(
        "evalscope",
        "evalscope",
        "perf --url {url}/v1/chat/completions --api openai --model {model} --parallel {streams} -n {requests}"
        " --prompt hello --max-tokens 100 --stream --no-test-connection --no-timestamp --outputs-dir {out}",
        "*/*/benchmark_percentile.json",
        _evalscope,
    ),
)


def drive(
    tool: Tool, folders: Sequence[str], url: str, ask: Callable[[str], Any], schedule: Schedule, streams: int
) -> dict[str, Any]:
    """One run: what the tool `said`, what `was`, the processor time `cpu_s` of all its processes, and how many `chunks`
    it had; or the reason why it is `missing`."""
    program = shutil.which(tool.program, path=os.pathsep.join([*_searched(folders), os.environ.get("PATH", "")]))
    if program is None:
        return {"missing": "not installed"}
    ask("/reset")
    count = streams * ROUNDS
    with tempfile.TemporaryDirectory() as out:
        filled = {"url": url, "model": schedule, "streams": streams, "requests": count, "out": out,
                  "tokenizer": TOKENIZER}  # fmt: skip
        command = [program, *(part.format(**filled) for part in tool.arguments.split())]
        before_s = _children_s()
        done = _run(command, _environment(tool), out)
        cpu_s = _children_s() - before_s
        report = next(Path(out).glob(tool.report), None)
        if report is None:
            return {"missing": done}
        said = tool.read(json.loads(report.read_text(encoding="utf-8")))
    return {"said": said, "was": _was(ask("/truth")[-count:]), "cpu_s": cpu_s, "chunks": count * schedule.count}


def _searched(folders: Sequence[str]) -> list[str]:
    return [str(each) for folder in folders for each in (Path(folder), Path(folder) / "bin")]


def _environment(tool: Tool) -> dict[str, str]:
    changed: dict[str, str | None] = {**os.environ, **tool.variables}
    if tool.name != OURS:
        changed["PYTHONPATH"] = None  # theirs is another environment
    return {name: value for name, value in changed.items() if value is not None}


def _run(command: list[str], environment: dict[str, str], folder: str) -> str:
    """Runs it to its end, and gives the last line that it said."""
    with (
        open(Path(folder) / "said.txt", "w+", encoding="utf-8", errors="replace") as said,  # noqa: PTH123 - as a file
        subprocess.Popen(command, env=environment, stdout=said, stderr=said, start_new_session=True) as process,  # noqa: S603
    ):
        deadline = time.monotonic() + MOST_S
        while process.poll() is None:
            if time.monotonic() > deadline:
                os.killpg(process.pid, 9)
                return f"no end after {MOST_S:g} s"
            time.sleep(0.2)
        said.seek(0)
        lines = [line.strip() for line in said if line.strip()]
    return lines[-1] if lines else "it ended without a word"


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _was(truth: Sequence[Mapping[str, Any]]) -> Reported:
    """The same figures by the server's record."""
    firsts = [(each["sent_ns"][0] - each["read_ns"]) / 1e6 for each in truth]
    gaps = [(b - a) / 1e6 for each in truth for a, b in pairwise(each["sent_ns"])]
    return {"ttft_p50": statistics.median(firsts), "ttft_p99": p99(firsts), "itl_p99": p99(gaps)}
