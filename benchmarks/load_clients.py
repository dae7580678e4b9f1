"""Measure the accuracy and cost of load clients, in turns, against a server with known timings.

    python -m benchmarks.load_clients [--streams 50 --streams 200] [--rounds 3] [--tools DIR]

Every client runs in its own process and reads the same streams, started 4 ms apart; its times are compared with the
server's record of each stream. The errors are those of the client: the lateness of the server is in the record. After
that whole tools run with their own command lines (load_tools.py). Clients and tools that are not installed are
reported and left out; a tool may be installed in its own environment, in a folder given by `--tools`. Requires Linux
and the [load] extra.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from functools import partial
from itertools import pairwise
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.load_peers import PEERS
from benchmarks.load_tools import CHATPROOF, TOOLS, run_tool
from loadtests.calibrate.calibration import fetch_json, p99, run_schedule_server
from loadtests.calibrate.schedule import Schedule

PACED = Schedule(100, 200_000_000, 20_000_000)
FAST = Schedule(50_000)


def run_client(url: str, peer: str, schedule: Schedule, streams: int) -> dict[str, Any]:
    """Return the figures of one client, run in its own process, compared with the server's record.

    If it is not installed, or does not see every chunk, the result has only `missing`, with the reason.
    """
    fetch_json(url, "/reset")
    command = [
        sys.executable,
        "-m",
        "benchmarks.load_clients",
        "--as",
        peer,
        "--url",
        url,
        "--schedule",
        str(schedule),
        "--streams",
        str(streams),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - this module
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["it ended without an error message"]
        return {"missing": last[0]}
    output = json.loads(done.stdout)
    if len(output["times"]) != streams:
        return {"missing": (done.stderr.strip().splitlines() or ["streams are missing"])[-1]}
    truth = {stream["user"]: stream for stream in fetch_json(url, "/truth")}
    ttft, gaps, chunks = [], [], 0
    for user, (sent_ns, seen) in output["times"].items():
        true = truth[user]
        if len(seen) != schedule.count:
            return {"missing": f"it saw {len(seen)} of {schedule.count} chunks"}
        chunks += len(seen)
        if schedule.gap_ns is not None:
            ttft.append((seen[0] - sent_ns - (true["sent_ns"][0] - true["read_ns"])) / 1e6)
            pairs = zip(pairwise(seen), pairwise(true["sent_ns"]), strict=True)
            gaps += [abs((b - a) - (d - c)) / 1e6 for (a, b), (c, d) in pairs]
    figures = {"cpu_us": output["cpu_s"] * 1e6 / chunks, "per_core": chunks / output["cpu_s"]}
    if ttft:
        figures |= {"ttft_p50": statistics.median(ttft), "ttft_p99": p99(ttft), "itl_p99": p99(gaps)}
    return figures


def _run_as_client(arguments: argparse.Namespace) -> None:
    """Run one client in this process: import it first, then measure."""
    client = PEERS[arguments.peer]
    client(arguments.url, str(Schedule(1)), 1)
    cpu_s = time.process_time()
    times = client(arguments.url, arguments.schedule, arguments.streams[0])
    print(json.dumps({"cpu_s": time.process_time() - cpu_s, "times": times}))  # the parent process reads it


def main() -> None:
    """Run every client and every tool in turns; print medians of the rounds, and ratios to chatproof."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--streams", type=int, action="append", help="number of concurrent streams; default: 50 and 200"
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the clients; a tool runs once")
    parser.add_argument("--tools", action="append", default=[], metavar="DIR", help="additional folder with tools")
    parser.add_argument("--only", action="append", metavar="NAME", help="run only this client or tool")
    for name, where in (("--as", "peer"), ("--url", "url"), ("--schedule", "schedule")):
        parser.add_argument(name, dest=where, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        _run_as_client(arguments)
        return
    names = [*PEERS, *(tool.name for tool in TOOLS)]
    if unknown := set(arguments.only or ()) - set(names):
        parser.error(f"--only {min(unknown)}: expected one of {', '.join(names)}")
    chosen = set(arguments.only or names)
    streams = arguments.streams or [50, 200]
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
    missing: dict[str, str] = {}
    with run_schedule_server() as url, console.status("") as status:
        for number, schedule in [*((stream, PACED) for stream in streams), (1, FAST)]:
            rounds: dict[str, list[dict[str, float]]] = {}
            for turn in range(arguments.rounds):
                for peer in (name for name in PEERS if name in chosen and name not in missing):
                    status.update(f"{number} streams, round {turn + 1}: {peer}")
                    figures = run_client(url, peer, schedule, number)
                    if "missing" in figures:
                        missing[peer] = str(figures["missing"])
                    else:
                        rounds.setdefault(peer, []).append(figures)
            if rounds:
                _print_clients(console, f"{number} streams of {schedule}", rounds)
        runs: dict[str, dict[int, dict[str, Any]]] = {}
        for number in [1, *streams]:
            for tool in (tool for tool in TOOLS if tool.name in chosen and tool.name not in missing):
                status.update(f"{number} streams: {tool.name}")
                run = run_tool(tool, arguments.tools, url, partial(fetch_json, url), PACED, number)
                if "missing" in run:
                    missing[tool.name] = str(run["missing"])
                else:
                    runs.setdefault(tool.name, {})[number] = run
        if runs:
            _print_tools(console, f"whole tools, {PACED}: reported (actual)", runs)
    for peer, reason in missing.items():
        console.print(f"left out: {peer}: {reason}", markup=False)


def _print_tools(console: Console, title: str, runs: dict[str, dict[int, dict[str, Any]]]) -> None:
    table = Table(title=title, box=None, pad_edge=False, title_justify="left")
    table.add_column("")
    for head in ("streams", "TTFT p50 ms", "TTFT p99 ms", "ITL p99 ms", "CPU s", "CPU us/chunk", "CPU, x chatproof"):
        table.add_column(head, justify="right")
    for tool, of_tool in runs.items():
        for number, run in of_tool.items():
            times = [
                f"{'none' if (value := run['reported'][name]) is None else f'{value:.1f}'} ({run['actual'][name]:.1f})"
                for name in ("ttft_p50", "ttft_p99", "itl_p99")
            ]
            chatproof = runs.get(CHATPROOF, {}).get(number)
            ratio = f"{run['cpu_s'] / chatproof['cpu_s']:.1f}" if chatproof else ""
            per_chunk = f"{run['cpu_s'] / run['chunks'] * 1e6:,.0f}"
            table.add_row(tool, str(number), *times, f"{run['cpu_s']:.1f}", per_chunk, ratio)
    console.print(table)


def _print_clients(console: Console, title: str, rounds: dict[str, list[dict[str, float]]]) -> None:
    table = Table(title=title, box=None, pad_edge=False, title_justify="left")
    table.add_column("", no_wrap=True)
    names = ("ttft_p50", "ttft_p99", "itl_p99", "cpu_us", "per_core")
    heads = (
        "TTFT error p50 ms",
        "TTFT error p99 ms",
        "ITL error p99 ms",
        "CPU us/chunk",
        "chunks/s/core",
        "CPU, x chatproof",
    )
    for head in heads:
        table.add_column(head, justify="right")
    medians = {
        peer: {name: statistics.median(figures[name] for figures in turns) for name in turns[0]}
        for peer, turns in rounds.items()
    }
    for peer, figures in medians.items():
        cells = [
            f"{figures[name]:,.0f}" if name == "per_core" else f"{figures[name]:.3g}" if name in figures else ""
            for name in names
        ]
        ratio = figures["cpu_us"] / medians["chatproof"]["cpu_us"] if "chatproof" in medians else None
        table.add_row(peer, *cells, "" if ratio is None else f"{ratio:.1f}")
    console.print(table)


if __name__ == "__main__":
    main()
