"""The web interface of a load test: our tab, and the form that says how the next test is."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import httpx
import pytest

from loadtests.tests.interface import patiently, text_of, web

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the calibration server needs a timerfd")


def test_the_web_interface_has_a_tab_that_shows_the_page_of_the_test_so_far(url: str, tmp_path: Path) -> None:
    with web(url, "--web-base-path", "/under", "--out", str(tmp_path)) as base:
        index = httpx.get(f"{base}/under/").text
        arguments = json.loads(re.findall(r"window\.templateArgs = (.*)", index)[0])
        assert [{"key": "chatproof", "title": "Streams"}] == arguments["extended_tabs"]
        assert ["chatproof"] == [table["key"] for table in arguments["extended_tables"]]
        script = index.index("customElements.define(NAME, Report)")
        assert index.index("window.templateArgs = ") < script < index.rindex("</body>")
        assert "no test has been started" in httpx.get(f"{base}/under/chatproof").text
        httpx.post(f"{base}/under/swarm", data={"user_count": "3", "spawn_rate": "3"})
        page = patiently(f"{base}/under/chatproof", lambda text: "TTFT" in text and "<svg" in text, text_of)
        assert "running: " in page
        assert "<script" not in page
        rows = patiently(
            f"{base}/under/stats/requests",
            lambda made: len(made) > 1,
            lambda got: got.json()["extended_stats"][0]["data"],
        )
        assert {"TTFT", "charts and verdicts: /under/chatproof"} <= {row["name"] for row in rows}


def test_the_form_of_the_web_interface_says_how_the_next_test_is(url: str, tmp_path: Path) -> None:
    users = {"user_count": "5", "spawn_rate": "5"}
    with web("http://127.0.0.1:9", "--out", str(tmp_path)) as base:
        given = json.loads(re.findall(r"window\.templateArgs = (.*)", httpx.get(f"{base}/").text)[0])["extra_options"]
        assert {"objective", "rate", "seconds"} <= given.keys()
        assert not {"out", "scenario", "trace", "ca_file", "api_key_env"} & given.keys()
        wrong = {"host": url, "objective": "fast", "rate": "", "seconds": "50"}
        for _ in range(2):
            httpx.post(f"{base}/swarm", data=users | wrong)
            patiently(f"{base}/chatproof", lambda text: "not started: --objective" in text, text_of)
            patiently(f"{base}/stats/requests", lambda state: state == "stopped", lambda got: got.json()["state"])
        httpx.post(f"{base}/swarm", data=users | wrong | {"objective": "ttft_p50=5s,itl_p50=4s"})
        page = patiently(f"{base}/chatproof", lambda text: "<svg" in text, text_of)
        assert all(
            words in page for words in (f"Load test of {url}", "5 users", " of 50 s", "ttft_p50=5s", "itl_p50=4s")
        )
        httpx.post(f"{base}/stop")
        patiently(f"{base}/chatproof", lambda text: "running" not in text, text_of)
    assert url == json.loads((tmp_path / "results.json").read_text())["target"]["url"]


def test_the_time_of_a_test_that_was_stopped_does_not_end_the_next(url: str) -> None:
    users = {"user_count": "3", "spawn_rate": "3"}
    with web(url) as base:
        httpx.post(f"{base}/swarm", data=users | {"seconds": "3"})
        patiently(f"{base}/chatproof", lambda text: "running: " in text, text_of)
        httpx.post(f"{base}/stop")
        patiently(f"{base}/stats/requests", lambda state: state == "stopped", lambda got: got.json()["state"])
        httpx.post(f"{base}/swarm", data=users | {"seconds": "50"})
        found = re.compile(r"running: [4-9] of 50 s|objectives|nothing failed")
        page = patiently(f"{base}/chatproof", lambda text: found.search(text) is not None, text_of)
        assert "running: " in page
