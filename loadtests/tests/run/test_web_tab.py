"""The web interface of a load test: the tab with the report, and the form with the options of the next test."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import httpx
import pytest

from loadtests.tests.web_interface import get_text, run_web_interface, wait_for, wait_until_stopped

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the calibration server needs a timerfd")


def test_the_web_interface_has_a_tab_that_shows_the_report_of_the_test_so_far(url: str, tmp_path: Path) -> None:
    with run_web_interface(url, "--web-base-path", "/under", "--out", str(tmp_path)) as base:
        index = httpx.get(f"{base}/under/").text
        arguments = json.loads(re.findall(r"window\.templateArgs = (.*)", index)[0])
        assert [{"key": "chatproof", "title": "Streams"}] == arguments["extended_tabs"]
        assert ["chatproof"] == [table["key"] for table in arguments["extended_tables"]]
        script = index.index("customElements.define(NAME, Report)")
        assert index.index("window.templateArgs = ") < script < index.rindex("</body>")
        assert "no test has been started" in httpx.get(f"{base}/under/chatproof").text
        httpx.post(f"{base}/under/swarm", data={"user_count": "3", "spawn_rate": "3"})
        page = wait_for(f"{base}/under/chatproof", lambda text: "TTFT" in text and "<svg" in text, get_text)
        assert "running: " in page
        assert "<script" not in page
        rows = wait_for(
            f"{base}/under/stats/requests",
            lambda rows: len(rows) > 1,
            lambda response: response.json()["extended_stats"][0]["data"],
        )
        assert {"TTFT", "charts and verdicts: /under/chatproof"} <= {row["name"] for row in rows}


def test_the_form_of_the_web_interface_sets_the_options_of_the_next_test(url: str, tmp_path: Path) -> None:
    users = {"user_count": "5", "spawn_rate": "5"}
    with run_web_interface("http://127.0.0.1:9", "--out", str(tmp_path)) as base:
        form = json.loads(re.findall(r"window\.templateArgs = (.*)", httpx.get(f"{base}/").text)[0])["extra_options"]
        assert {"objective", "rate", "seconds"} <= form.keys()
        assert not {"out", "scenario", "trace", "ca_file", "api_key_env"} & form.keys()
        invalid = {"host": url, "objective": "fast", "rate": "", "seconds": "50"}
        for _ in range(2):
            httpx.post(f"{base}/swarm", data=users | invalid)
            wait_for(f"{base}/chatproof", lambda text: "not started: --objective" in text, get_text)
            wait_until_stopped(base)
        httpx.post(f"{base}/swarm", data=users | invalid | {"objective": "ttft_p50=5s,itl_p50=4s"})
        page = wait_for(f"{base}/chatproof", lambda text: "<svg" in text, get_text)
        assert all(text in page for text in (f"Load test of {url}", "5 users", " of 50 s", "ttft_p50=5s", "itl_p50=4s"))
        httpx.post(f"{base}/stop")
        wait_for(f"{base}/chatproof", lambda text: "running" not in text, get_text)
    assert url == json.loads((tmp_path / "results.json").read_text())["target"]["url"]


def test_the_time_limit_of_a_stopped_test_does_not_end_the_next(url: str) -> None:
    users = {"user_count": "3", "spawn_rate": "3"}
    with run_web_interface(url) as base:
        httpx.post(f"{base}/swarm", data=users | {"seconds": "3"})
        wait_for(f"{base}/chatproof", lambda text: "running: " in text, get_text)
        httpx.post(f"{base}/stop")
        wait_until_stopped(base)
        httpx.post(f"{base}/swarm", data=users | {"seconds": "50"})
        later = re.compile(r"running: [4-9] of 50 s|objectives|nothing failed")
        page = wait_for(f"{base}/chatproof", lambda text: later.search(text) is not None, get_text)
        assert "running: " in page
