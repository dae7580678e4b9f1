"""Check every kind of HTML page that chatproof writes with axe-core, in Chromium.

The argument is the npm package, pinned: `python lint/accessibility.py axe-core@4.14.1`. Needs npm and Chromium.
Exits with 1 if a page has a violation, light or dark, on a narrow or a wide screen, with its parts closed or open.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, Final

import click

from docs.captures import FAULTS, serving

PORT: Final = 8719
WIDTHS: Final = (360, 1280)
SCHEMES: Final = ("light", "dark")
MOST_OPEN: Final = 100
"""How many parts of a page are opened: each exchange is built in the same way, and axe takes time for each."""
OPEN: Final = "most => [...document.querySelectorAll('details')].slice(0, most).forEach(part => { part.open = true; })"
CHECK: Final = "axe.run({resultTypes: ['violations']})"
WIDER: Final = "document.documentElement.scrollWidth > innerWidth"


def fetch_axe(package: str, folder: Path) -> str:
    """Return the script of axe-core, from the package registry of npm."""
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("accessibility: npm is not installed: install node 20 or newer")
    command = [npm, "pack", "--json", package]
    packed = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603 - our own
    with tarfile.open(folder / json.loads(packed.stdout)[0]["filename"]) as archive:
        file = archive.extractfile("package/axe.min.js")
        if file is None:
            raise SystemExit(f"accessibility: {package} has no axe.min.js")
        return file.read().decode()


def make_pages(folder: Path) -> list[Path]:
    """Write a page of each kind, from runs against a server with two faults and one without."""
    check = ["check", f"http://127.0.0.1:{PORT}", "--dialect", "mindie", "--depth", "quick"]
    with serving(PORT):
        run_chatproof(folder, *check, "--report", "json=good.json")
        load = ["load", f"http://127.0.0.1:{PORT}", "--dialect", "mindie", "--users", "2", "--time", "4s"]
        run_chatproof(folder, *load, "--out", "load")
    with serving(PORT, *FAULTS):
        reports = ["--report", "json=bad.json", "--report", "html=check.html"]
        run_chatproof(folder, *check, "--also", "vllm", *reports)
    run_chatproof(folder, "matrix", "bad=bad.json", "good=good.json", "--report", "html=matrix.html", "--site", "site")
    trace = run_chatproof(folder, "spec", "trace", "--dialect", "mindie", "--format", "html")
    (folder / "trace.html").write_text(trace, encoding="utf-8")
    names = ("check.html", "matrix.html", "site/index.html", "load/report.html", "trace.html")
    return [folder / name for name in names]


def run_chatproof(folder: Path, *words: str) -> str:
    """Run a command, whatever its verdict, and return its output."""
    command = [sys.executable, "-m", "chatproof", *words]
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False).stdout  # noqa: S603


def judge_page(tab: Any, page: Path, script: str, *, opened: bool) -> list[str]:
    """Return the violations of a page in this view."""
    tab.goto(page.as_uri())
    if opened:
        tab.evaluate(OPEN, MOST_OPEN)
    tab.evaluate(script)
    found = [
        f"{item['id']} ({item['impact']}), {len(item['nodes'])} times: {item['nodes'][0]['html'][:200]}"
        for item in tab.evaluate(CHECK)["violations"]
    ]
    return [*found, *(["wider than the screen"] if tab.evaluate(WIDER) else [])]


@click.command()
@click.argument("package")
def main(package: str) -> None:
    """Print the violations of every page and view. PACKAGE is axe-core, e.g. axe-core@4.14.1."""
    playwright = import_module("playwright.sync_api")  # a dependency of this script alone
    with tempfile.TemporaryDirectory() as name, playwright.sync_playwright() as started:
        folder = Path(name)
        script, pages = fetch_axe(package, folder), make_pages(folder)
        browser: Any = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        count = 0
        for page, opened, scheme, width in product(pages, (False, True), SCHEMES, WIDTHS):
            viewport = {"width": width, "height": 900}
            context = browser.new_context(viewport=viewport, color_scheme=scheme, bypass_csp=True)
            violations = judge_page(context.new_page(), page, script, opened=opened)
            context.close()
            view = f"{page.relative_to(folder)}, {'open' if opened else 'closed'}, {scheme}, {width} px"
            click.echo("\n  ".join([f"{view}: {len(violations)} violations", *violations]))
            count += len(violations)
        browser.close()
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
