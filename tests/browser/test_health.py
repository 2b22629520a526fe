"""`/api/health` of the real app, on the same port as its pages."""

from __future__ import annotations

import json
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from research.config.settings import load
from research.events.recipe import Recipe
from research.store import RunRow
from research.workbench import health
from research.workbench.workbench import Workbench
from tests.browser.conftest import App, served
from tests.workers import LONG_S

pytestmark = pytest.mark.browser


def ask(app: App) -> tuple[int, dict[str, Any], str]:
    try:
        with urllib.request.urlopen(f"{app.url}/api/health", timeout=LONG_S) as answer:
            body = answer.read().decode()
            return answer.status, json.loads(body), body
    except urllib.error.HTTPError as error:
        body = error.read().decode()
        return error.code, json.loads(body), body


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[App]:
    home = tmp_path / "home"
    home.mkdir()
    with served(home) as app:
        yield app


def test_a_new_app_is_healthy_and_still_serves_its_pages(empty: App) -> None:
    status, body, text = ask(empty)
    assert (status, body["status"]) == (200, "ok")
    assert body["checks"]["runs"] | {"seen_s": None} == {
        "status": "ok", "queued": 0, "running": 0, "lost": 0, "seen_s": None, "text": "",
    }  # fmt: skip
    assert str(empty.home) not in text
    with urllib.request.urlopen(f"{empty.url}/runs", timeout=LONG_S) as page:
        assert b"<html" in page.read()


def test_runs_of_all_users_are_counted_without_naming_them(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    user = "0123456789abcdef"
    first, other = Workbench(load(home=home)), Workbench(load(home=home, user=user))
    first.store.create(RunRow("r1", "secret question", Recipe(), status="queued"))
    other.store.create(RunRow("r2", "secret question", Recipe(), created=time.time() - 100))
    with served(home) as app:
        status, body, text = ask(app)
    assert status == 200
    runs = body["checks"]["runs"]
    assert (runs["queued"], runs["running"], runs["lost"]) == (1, 0, 1)
    assert runs["seen_s"] >= 100
    assert "secret" not in text and user not in text
    first.store.close()
    other.store.close()


def test_a_damaged_store_is_unhealthy_and_its_path_is_not_revealed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "workbench.sqlite").write_bytes(b"this is no database" * 100)
    with served(home) as app:
        status, body, text = ask(app)
    assert (status, body["status"]) == (503, "degraded")
    assert str(home) not in text
    assert (home / "workbench.sqlite").read_bytes().startswith(b"this is no database")


def test_queued_runs_without_a_worker_are_reported(tmp_path: Path) -> None:
    bench = Workbench(load(home=tmp_path, engine="workers"))
    long_ago = time.time() - 2 * health.UNTAKEN_S
    bench.store.create(RunRow("r1", "Q", Recipe(), status="queued"))
    assert health.check(bench).status == "ok"
    bench.store.create(RunRow("r2", "Q", Recipe(), status="queued", created=long_ago))
    found = health.check(bench)
    assert (found.status, found.serving) == ("degraded", True)
    assert "worker" in found.checks["runs"].text
    bench.store.create(RunRow("r3", "Q", Recipe()))  # a worker is running it
    assert health.check(bench).status == "ok"
    bench.store.close()


def test_low_disk_space_is_reported_and_a_full_disk_stops_serving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Workbench(load(home=tmp_path))
    free = shutil.disk_usage(tmp_path).free // 1_000_000
    monkeypatch.setattr(health, "LOW_MB", free * 2)
    found = health.check(bench)
    assert (found.status, found.serving) == ("degraded", True)
    monkeypatch.setattr(health, "LEAST_MB", free * 2)
    assert not health.check(bench).serving
    bench.store.close()
