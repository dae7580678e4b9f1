"""Write the source of the documentation site: the pages of the repository, generated pages, and mkdocs.yml.

    python docs/build_site.py FOLDER && mkdocs build --strict --config-file FOLDER/mkdocs.yml

The folder has the places of the repository, so that links between pages stay as they are. Links to other files of the
repository become their names.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # run as a file, it finds only what is next to it

from docs import site_pages  # noqa: E402

PAGES: Final = ("*.md", "docs/*.md", "docs/design/*.md", "*/README.md")
ASSETS: Final = ("docs/pictures/*", "docs/grafana/*", "docs/third-party-matrix.html")
LINK: Final = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
NAV: Final[list[Any]] = [
    {"Start": "README.md"},
    {"Tour": "docs/tour.md"},
    {"Use": [
        {"Which dialect": "docs/choosing-a-dialect.md"},
        {"Triage of findings": "docs/triage.md"},
        {"CI": "docs/ci.md"},
        {"Load tests": "loadtests/README.md"},
        {"Metrics": "docs/metrics.md"},
        {"Gateway": "docs/gateway.md"},
        {"Accelerators": "docs/accelerators.md"},
        {"NPUs": "docs/npu.md"},
        {"Your own dialect": "docs/dialect-files.md"},
    ]},
    {"Reference": [
        {"Commands": "docs/commands/index.md"},
        {"Dialects": "docs/dialects/index.md"},
        {"Parameters of all dialects": "docs/dialects.md"},
        {"Checks": "docs/checks/index.md"},
        {"Glossary": "docs/glossary.md"},
        {"Features": "docs/features.md"},
        {"Changelog": "CHANGELOG.md"},
    ]},
    {"Results": [
        {"Third-party servers": "docs/third-party-servers.md"},
        {"Third-party matrix": "docs/third-party-matrix.md"},
        {"Kill matrix": "docs/kill-matrix.md"},
        {"Proof": "docs/proof.md"},
        {"Robustness": "docs/robustness.md"},
        {"Benchmarks": "benchmarks/README.md"},
    ]},
    {"Architecture": [
        {"Suite": "docs/design/suite.md"},
        {"Contract": "docs/design/contract.md"},
        {"Reference server": "docs/design/reference-server.md"},
        {"Load tests": "docs/design/load-tests.md"},
        {"Mutation testing": "docs/design/mutation-testing.md"},
        {"Package openapi": "openapi/README.md"},
        {"Package conformance": "conformance/README.md"},
        {"Package reference_server": "reference_server/README.md"},
    ]},
    {"Project": [
        {"Contributing": "CONTRIBUTING.md"},
        {"Security": "SECURITY.md"},
        {"Release": "docs/release.md"},
        {"Licences": "docs/licences.md"},
    ]},
]  # fmt: skip
CONFIG: Final = {
    "site_name": "chatproof",
    "site_description": "Tests chat-completions servers for conformance with the documents of their vendors.",
    "docs_dir": "pages",
    "site_dir": "site",
    "use_directory_urls": False,  # the pages also work as files
    "theme": {
        "name": "material",
        "font": False,  # loads nothing from other hosts
        "features": ["navigation.tabs", "navigation.top", "content.code.copy", "search.suggest"],
        "palette": [
            {"media": "(prefers-color-scheme: light)", "scheme": "default"},
            {"media": "(prefers-color-scheme: dark)", "scheme": "slate"},
        ],
    },
    "plugins": ["search"],
    "markdown_extensions": ["tables", "pymdownx.superfences", {"toc": {"permalink": True}}],
    "validation": {
        "nav": {"omitted_files": "info", "not_found": "warn"},
        "links": {"not_found": "warn", "anchors": "warn", "unrecognized_links": "warn"},
    },
    "nav": NAV,
}


def build(folder: Path) -> int:
    """Write the source of the site, and return the number of its pages."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    paths = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    known = {path.relative_to(ROOT).as_posix() for path in paths}
    known |= {path.relative_to(ROOT).as_posix() for pattern in ASSETS for path in ROOT.glob(pattern)}
    for path in paths:
        _write(pages / path.relative_to(ROOT), _with_known_links(path, known))
    for pattern in ASSETS:
        for path in ROOT.glob(pattern):
            target = pages / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    count = len(paths)
    for kind, made in (
        ("commands", site_pages.command_pages()),
        ("dialects", site_pages.dialect_pages()),
        ("checks", site_pages.check_pages()),
    ):
        for name, text in made:
            _write(pages / "docs" / kind / f"{name}.md", text)
            count += 1
    _write(folder / "mkdocs.yml", yaml.safe_dump(CONFIG, sort_keys=False, allow_unicode=True))
    return count


def _with_known_links(path: Path, known: set[str]) -> str:
    """Return a page in which links to files that the site does not have are replaced by the names of these files."""

    def replace(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        place = (path.parent / target).resolve()
        if not place.is_relative_to(ROOT):
            return match[0]
        name = place.relative_to(ROOT).as_posix()
        if name in known:
            return f"[{text}]({target}{anchor})"
        return text if text.strip("`") == target else f"{text} (`{name}`)"

    return LINK.sub(replace, path.read_text("utf-8"))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    print(f"{build(Path(sys.argv[1]))} pages written to {sys.argv[1]}")
