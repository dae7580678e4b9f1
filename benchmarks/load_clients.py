"""How true load clients are: ours beside others, in turns, against a server whose times are known.

    python -m benchmarks.load_clients [--streams 50 --streams 200] [--rounds 3] [--tools DIR]

Every client runs in a process of its own and reads the same streams, started 4 ms apart; its times are held against the
server's record of each stream. Errors are the client's alone: the server's lateness is in the record. Then whole tools
run by their own command lines (load_tools.py). What is not installed is named and left out; a tool may live in an
environment of its own, in a folder that `--tools` names. Needs Linux and the [load] extra.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
import urllib.request
from functools import partial
from itertools import pairwise
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.load_peers import PEERS
from benchmarks.load_tools import OURS, TOOLS
from benchmarks.load_tools import drive as drive_tool
from loadtests.calibrate.calibration import p99, schedule_server
from loadtests.calibrate.schedule import Schedule

PACED = Schedule(100, 200_000_000, 20_000_000)
FAST = Schedule(50_000)


def drive(url: str, peer: str, schedule: Schedule, streams: int) -> dict[str, Any]:
    """The figures of one client in a process of its own, held against the server's record.

    Where it is not installed, or does not see every chunk, `missing` says why and is all there is.
    """
    _ask(url, "/reset")
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
        last = done.stderr.strip().splitlines()[-1:] or ["it ended without a word"]
        return {"missing": last[0]}
    made = json.loads(done.stdout)
    if len(made["times"]) != streams:
        return {"missing": (done.stderr.strip().splitlines() or ["it lost streams"])[-1]}
    truth = {each["user"]: each for each in _ask(url, "/truth")}
    ttft, gaps, chunks = [], [], 0
    for user, (sent_ns, seen) in made["times"].items():
        true = truth[user]
        if len(seen) != schedule.count:
            return {"missing": f"it saw {len(seen)} of {schedule.count} chunks"}
        chunks += len(seen)
        if schedule.gap_ns is not None:
            ttft.append((seen[0] - sent_ns - (true["sent_ns"][0] - true["read_ns"])) / 1e6)
            pairs = zip(pairwise(seen), pairwise(true["sent_ns"]), strict=True)
            gaps += [abs((b - a) - (d - c)) / 1e6 for (a, b), (c, d) in pairs]
    figures = {"cpu_us": made["cpu_s"] * 1e6 / chunks, "per_core": chunks / made["cpu_s"]}
    if ttft:
        figures |= {"ttft_p50": statistics.median(ttft), "ttft_p99": p99(ttft), "itl_p99": p99(gaps)}
    return figures


def _ask(url: str, path: str) -> Any:
    with urllib.request.urlopen(url + path) as answer:  # noqa: S310 - our own server on the loopback
        return json.load(answer)


def _as_peer(arguments: argparse.Namespace) -> None:
    """The process of one client: imports first, then times."""
    client = PEERS[arguments.peer]
    client(arguments.url, str(Schedule(1)), 1)
    cpu_s = time.process_time()
    times = client(arguments.url, arguments.schedule, arguments.streams[0])
    print(json.dumps({"cpu_s": time.process_time() - cpu_s, "times": times}))  # the parent process reads it


def main() -> None:
    """Drives every client and every tool in turns and prints medians of the rounds, and ratios to ours."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, action="append", help="streams at a time; default 50 and 200")
    parser.add_argument("--rounds", type=int, default=3, help="of the clients; a tool has one run")
    parser.add_argument("--tools", action="append", default=[], metavar="DIR", help="where to look for tools as well")
    parser.add_argument("--only", action="append", metavar="NAME", help="these clients and tools")
    for name, where in (("--as", "peer"), ("--url", "url"), ("--schedule", "schedule")):
        parser.add_argument(name, dest=where, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        _as_peer(arguments)
        return
    names = [*PEERS, *(tool.name for tool in TOOLS)]
    if unknown := set(arguments.only or ()) - set(names):
        parser.error(f"--only {min(unknown)}: write one of {', '.join(names)}")
    wanted = set(arguments.only or names)
    streams = arguments.streams or [50, 200]
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
    missing: dict[str, str] = {}
    with schedule_server() as url, console.status("") as status:
        for number, schedule in [*((stream, PACED) for stream in streams), (1, FAST)]:
            rounds: dict[str, list[dict[str, float]]] = {}
            for turn in range(arguments.rounds):
                for peer in (each for each in PEERS if each in wanted and each not in missing):
                    status.update(f"{number} streams, round {turn + 1}: {peer}")
                    made = drive(url, peer, schedule, number)
                    if "missing" in made:
                        missing[peer] = str(made["missing"])
                    else:
                        rounds.setdefault(peer, []).append(made)
            if rounds:
                _print(console, f"{number} streams of {schedule}", rounds)
        runs: dict[str, dict[int, dict[str, Any]]] = {}
        for number in [1, *streams]:
            for tool in (each for each in TOOLS if each.name in wanted and each.name not in missing):
                status.update(f"{number} streams: {tool.name}")
                made = drive_tool(tool, arguments.tools, url, partial(_ask, url), PACED, number)
                if "missing" in made:
                    missing[tool.name] = str(made["missing"])
                else:
                    runs.setdefault(tool.name, {})[number] = made
        if runs:
            _print_tools(console, f"whole tools, {PACED}: said (was)", runs)
    for peer, why in missing.items():
        console.print(f"left out: {peer}: {why}", markup=False)


def _print_tools(console: Console, title: str, runs: dict[str, dict[int, dict[str, Any]]]) -> None:
    table = Table(title=title, box=None, pad_edge=False, title_justify="left")
    table.add_column("")
    for head in ("streams", "TTFT p50 ms", "TTFT p99 ms", "ITL p99 ms", "CPU s", "CPU us/chunk", "CPU, times ours"):
        table.add_column(head, justify="right")
    for tool, of_tool in runs.items():
        for number, made in of_tool.items():
            times = [
                f"{'none' if (said := made['said'][name]) is None else f'{said:.1f}'} ({made['was'][name]:.1f})"
                for name in ("ttft_p50", "ttft_p99", "itl_p99")
            ]
            ours = runs.get(OURS, {}).get(number)
            ratio = f"{made['cpu_s'] / ours['cpu_s']:.1f}" if ours else ""
            per_chunk = f"{made['cpu_s'] / made['chunks'] * 1e6:,.0f}"
            table.add_row(tool, str(number), *times, f"{made['cpu_s']:.1f}", per_chunk, ratio)
    console.print(table)


def _print(console: Console, title: str, rounds: dict[str, list[dict[str, float]]]) -> None:
    table = Table(title=title, box=None, pad_edge=False, title_justify="left")
    table.add_column("", no_wrap=True)
    names = ("ttft_p50", "ttft_p99", "itl_p99", "cpu_us", "per_core")
    heads = (
        "TTFT error p50 ms",
        "TTFT error p99 ms",
        "ITL error p99 ms",
        "CPU us/chunk",
        "chunks/s/core",
        "CPU, times ours",
    )
    for head in heads:
        table.add_column(head, justify="right")
    medians = {
        peer: {name: statistics.median(each[name] for each in made) for name in made[0]}
        for peer, made in rounds.items()
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
