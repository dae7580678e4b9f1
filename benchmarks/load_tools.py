"""Run whole load-test tools by their own command lines against a server with known timings.

All of them do the same: a number of concurrent streams, started together, and three times as many requests; no warm-up,
one worker. The figures that a tool reports are compared with the server's record of the same requests. Its processor
time is that of all its processes, from start to report; in a run with one stream nearly all of it is the start.
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
LIMIT_S = 200.0
TOKENIZER = Path(__file__).parents[1] / "reference_server" / "tiny" / "checkpoint"
CHATPROOF = "chatproof load"

Reported = dict[str, float | None]
"""The figures of a report in ms: `ttft_p50`, `ttft_p99` and `itl_p99` of the gaps between chunks; None if missing."""


@dataclass(frozen=True, slots=True)
class LoadTool:
    """A tool: its program, its arguments with `{names}` to fill in, the report that it writes and how to read it.

    variables: environment variables to set, or with None to remove.
    """

    name: str
    program: str
    arguments: str
    report: str
    read: Callable[[Any], Reported]
    variables: Mapping[str, str | None] = field(default_factory=dict)


def _read_chatproof(report: Any) -> Reported:
    ttft, itl = (report["latencies_ms"][name]["percentiles"] for name in ("TTFT", "ITL"))
    return {"ttft_p50": ttft["50"], "ttft_p99": ttft["99"], "itl_p99": itl["99"]}


def _read_guidellm(report: Any) -> Reported:
    """Read the report of guidellm; its ITL is the mean of each request."""
    ttft = report["benchmarks"][0]["metrics"]["time_to_first_token_ms"]["successful"]["percentiles"]
    return {"ttft_p50": ttft["p50"], "ttft_p99": ttft["p99"], "itl_p99": None}


def _read_aiperf(report: Any) -> Reported:
    ttft, gaps = report["time_to_first_token"], report["inter_chunk_latency"]
    return {"ttft_p50": ttft["p50"], "ttft_p99": ttft["p99"], "itl_p99": gaps["p99"]}


def _read_evalscope(report: Any) -> Reported:
    rows = {row["Percentiles"]: row for row in report}
    return {
        "ttft_p50": rows["50%"]["TTFT (ms)"],
        "ttft_p99": rows["99%"]["TTFT (ms)"],
        "itl_p99": rows["99%"]["ITL (ms)"],
    }


TOOLS = (
    LoadTool(
        CHATPROOF,
        sys.executable,
        "-m loadtests {url} --dialect openai --model {model} --users {streams} --max-requests {requests} --warm-up 0s"
        " --time 120s --spawn-rate 10000 --out {out}",
        "results.json",
        _read_chatproof,
    ),
    LoadTool(
        "guidellm",
        "guidellm",
        "run --backend kind=openai_http,target={url},model={model} --profile kind=concurrent,streams={streams}"
        " --constraint kind=max_requests,count={requests} --data kind=synthetic_text,prompt_tokens=16,output_tokens=100"
        " --tokenizer kind=hf_auto,model={tokenizer} --output kind=json,path={out}/report.json"
        " --disable-console-interactive",
        "report.json",
        _read_guidellm,
        {"GUIDELLM__MAX_WORKER_PROCESSES": "1", "HF_HUB_OFFLINE": "1"},
    ),
    LoadTool(
        "aiperf",
        "aiperf",
        "profile --url {url} --model {model} --endpoint-type chat --streaming --concurrency {streams}"
        " --request-count {requests} --workers-max 1 --record-processors 1 --tokenizer {tokenizer}"
        " --use-server-token-count --synthetic-input-tokens-mean 16 --artifact-dir {out} --ui none",
        "profile_export_aiperf.json",
        _read_aiperf,
        {"HF_HUB_OFFLINE": None},  # with it, a folder with a tokenizer is refused
    ),
    LoadTool(
        "evalscope",
        "evalscope",
        "perf --url {url}/v1/chat/completions --api openai --model {model} --parallel {streams} -n {requests}"
        " --prompt hello --max-tokens 100 --stream --no-test-connection --no-timestamp --outputs-dir {out}",
        "*/*/benchmark_percentile.json",
        _read_evalscope,
    ),
)


def run_tool(
    tool: LoadTool, folders: Sequence[str], url: str, fetch_json: Callable[[str], Any], schedule: Schedule, streams: int
) -> dict[str, Any]:
    """Run a tool; return the `reported` and `actual` figures, the processor time `cpu_s` of its processes and the
    number of `chunks`, or the reason why it is `missing`."""
    program = shutil.which(tool.program, path=os.pathsep.join([*_search_paths(folders), os.environ.get("PATH", "")]))
    if program is None:
        return {"missing": "not installed"}
    fetch_json("/reset")
    count = streams * ROUNDS
    with tempfile.TemporaryDirectory() as out:
        filled = {"url": url, "model": schedule, "streams": streams, "requests": count, "out": out,
                  "tokenizer": TOKENIZER}  # fmt: skip
        command = [program, *(part.format(**filled) for part in tool.arguments.split())]
        before_s = _children_s()
        last_line = _run(command, _environment(tool), out)
        cpu_s = _children_s() - before_s
        report = next(Path(out).glob(tool.report), None)
        if report is None:
            return {"missing": last_line}
        reported = tool.read(json.loads(report.read_text(encoding="utf-8")))
    return {
        "reported": reported,
        "actual": _actual_figures(fetch_json("/truth")[-count:]),
        "cpu_s": cpu_s,
        "chunks": count * schedule.count,
    }


def _search_paths(folders: Sequence[str]) -> list[str]:
    return [str(path) for folder in folders for path in (Path(folder), Path(folder) / "bin")]


def _environment(tool: LoadTool) -> dict[str, str]:
    changed: dict[str, str | None] = {**os.environ, **tool.variables}
    if tool.name != CHATPROOF:
        changed["PYTHONPATH"] = None  # the other tools have their own environments
    return {name: value for name, value in changed.items() if value is not None}


def _run(command: list[str], environment: dict[str, str], folder: str) -> str:
    """Run a command to its end, and return the last line of its output."""
    with (
        open(Path(folder) / "output.txt", "w+", encoding="utf-8", errors="replace") as output,  # noqa: PTH123 - as a file
        subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True) as process,  # noqa: S603
    ):
        deadline = time.monotonic() + LIMIT_S
        while process.poll() is None:
            if time.monotonic() > deadline:
                os.killpg(process.pid, 9)
                return f"no end after {LIMIT_S:g} s"
            time.sleep(0.2)
        output.seek(0)
        lines = [line.strip() for line in output if line.strip()]
    return lines[-1] if lines else "it ended without output"


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _actual_figures(truth: Sequence[Mapping[str, Any]]) -> Reported:
    """Return the same figures from the server's record."""
    firsts = [(stream["sent_ns"][0] - stream["read_ns"]) / 1e6 for stream in truth]
    gaps = [(b - a) / 1e6 for stream in truth for a, b in pairwise(stream["sent_ns"])]
    return {"ttft_p50": statistics.median(firsts), "ttft_p99": p99(firsts), "itl_p99": p99(gaps)}
