"""Make the pictures of docs/pictures and the sessions of docs/tour.md: real runs against a server with two faults.

    python docs/captures.py            # sessions, at 80 and 120 columns
    python docs/captures.py --browser  # also screenshots; needs playwright and Chromium

Each session is what a terminal of that width shows at the end of the command.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE: Final = Path(__file__).resolve().parent
PICTURES: Final = HERE / "pictures"
TOUR: Final = HERE / "tour.md"
FAULTS: Final = ("omits-done", "total-off-by-one")
PORT: Final = 8000
SESSIONS: Final = {
    "check": "chatproof check http://127.0.0.1:8000 --dialect mindie --depth quick --report html=page.html",
    "explain": "chatproof explain stream.done-last",
    "replay": "chatproof replay results.json --id stream.done-last",
    "matrix": "chatproof matrix bad=results.json good=good.json",
}
CONTROL: Final = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)|(.)", re.DOTALL)
VIEWS: Final = ((1280, 900, "light"), (1280, 900, "dark"), (360, 740, "light"), (360, 740, "dark"))


@contextmanager
def serving(port: int, *faults: str) -> Iterator[None]:
    """Serve the embedded model, with faults."""
    command = [sys.executable, "-m", "chatproof", "serve", "--dialect", "mindie", "--port", str(port)]
    for fault in faults:
        command += ["--fault", fault]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.terminate()


def run_in_terminal(command: str, folder: Path, columns: int) -> str:
    """Run a command in a terminal of this width, and return what it shows at the end, with colours."""
    words = [sys.executable, "-m", *command.split()]
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
        os.execv(words[0], words)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    data = b""
    try:
        while part := os.read(terminal, 65536):
            data += part
    except OSError:  # the child has ended
        pass
    os.waitpid(child, 0)
    return show_end(data.decode(errors="replace"))


def show_end(output: str) -> str:
    """Return the last state of the lines that a program wrote, which moves up and erases lines for its progress."""
    lines, row = [""], 0
    for match in CONTROL.finditer(output):
        number, letter, carriage, newline, text, _ = match.groups()
        if newline:
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif letter == "A":
            row = max(0, row - int(number or 1))
        elif letter == "K":
            lines[row] = ""
        elif letter == "m" or text:
            lines[row] += match[0]
        elif carriage and not output.startswith("\n", match.end()):
            lines[row] = "" if lines[row].startswith("\r") else lines[row]
    return "\n".join(lines).strip("\n")


def write_svg(name: str, command: str, shown: str, columns: int) -> None:
    """Write a picture of a session."""
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {command}", "bold"))
    console.print(Text.from_ansi(shown))
    svg = console.export_svg(title="chatproof")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # pictures load nothing
    svg = svg.replace("Fira Code", "ui-monospace, 'DejaVu Sans Mono'")
    (PICTURES / f"{name}.svg").write_text(svg, encoding="utf-8")


def update_tour(sessions: dict[str, str]) -> None:
    """Replace the sessions in the tour, which follow comments with their names."""
    text = TOUR.read_text("utf-8")
    for name, shown in sessions.items():
        plain = Text.from_ansi(shown).plain
        lines = "\n".join(line.rstrip() for line in plain.splitlines())
        block = f"<!-- session: {name} -->\n\n```text\n$ {SESSIONS[name]}\n{lines}\n```\n"
        pattern = rf"<!-- session: {name} -->\n\n```text\n(?:.*?\n)??```\n"
        before, old, after = re.split(f"({pattern})", text, flags=re.DOTALL)
        text = text if old == block else before + block + after
    TOUR.write_text(text, encoding="utf-8")


def take_screenshots(folder: Path) -> None:
    """Take pictures of the pages of the sessions, wide and narrow, light and dark."""
    playwright = import_module("playwright.sync_api")  # only for pictures
    subprocess.run(
        [
            sys.executable,
            "-m",
            "chatproof",
            "matrix",
            "bad=results.json",
            "good=good.json",
            "--report",
            "html=matrix.html",
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    with playwright.sync_playwright() as started:
        browser: Any = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for page in ("page", "matrix"):
            for width, height, scheme in VIEWS:
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
                tab = context.new_page()
                tab.goto((folder / f"{page}.html").as_uri())
                tab.screenshot(path=PICTURES / f"{page}-{width}-{scheme}.png")
        browser.close()


def main() -> None:
    """Make everything in a temporary folder."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with serving(PORT):
            run_in_terminal(f"{SESSIONS['check'].partition(' --report')[0]} --report json=good.json", folder, 80)
        shown: dict[str, str] = {}
        with serving(PORT, *FAULTS):
            for columns in (120, 80):
                shown["check"] = run_in_terminal(SESSIONS["check"], folder, columns)
                write_svg(f"check-{columns}", SESSIONS["check"], shown["check"], columns)
            for session in ("explain", "replay", "matrix"):
                shown[session] = run_in_terminal(SESSIONS[session], folder, 80)
        update_tour(shown)
        if "--browser" in sys.argv[1:]:
            take_screenshots(folder)


if __name__ == "__main__":
    main()
