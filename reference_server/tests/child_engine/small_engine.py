"""A program that is started like an engine: a web server that misbehaves as the variable MODE says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MODE = os.environ.get("MODE", "")
STARTS = Path(os.environ.get("STARTS", os.devnull))
"""A file that gets the process id of each start, one on a line."""


class Handler(BaseHTTPRequestHandler):
    """Answers every path with 200; an engine that hangs answers only the first request of its first start."""

    requests = 0

    def do_GET(self) -> None:
        Handler.requests += 1
        if MODE == "hangs-once" and Handler.requests > 1 and len(STARTS.read_text().split()) == 1:
            time.sleep(60)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, text: str, *values: object) -> None:
        say(text % values)


def say(text: str) -> None:
    """Write a line to the output."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def note(process: int) -> None:
    """Write a process id into the file."""
    with STARTS.open("a") as file:
        file.write(f"{process}\n")


def main() -> None:
    """Serve on the port in the arguments."""
    note(os.getpid())
    say(f"key {os.environ.get('VLLM_API_KEY')}")
    match MODE:
        case "fails":
            sys.exit("loading\nValueError: no such layer\nbye")
        case "silent":
            os._exit(3)
        case "garbage":
            sys.stdout.buffer.write(b"\x1b[31m\xff\xfe\x00red\x07\n" + b"a" * 5000 + b"\n")
            sys.stdout.buffer.flush()
        case "ends":
            threading.Timer(0.5, lambda: os._exit(7)).start()
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        case "parent":
            note(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid)
    port = int(sys.argv[sys.argv.index("--port") + 1])
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
