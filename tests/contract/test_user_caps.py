"""What a user may take of a server, in a day and at once: the refusal names the cap, its use and when some is free."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from research.config import users
from research.config.named_endpoints import Entry
from research.config.settings import load
from research.engine import caps as module
from research.engine.caps import Caps, parse_caps
from research.errors import ConfigError, RunPaused
from research.events.events import Asked, Paused, Rejected, Replied
from research.store.sqlite import SqliteStore
from research.types import Reply, Usage
from research.workbench import endpoint_registry
from research.workbench.workbench import Workbench
from tests.fake_openai import FakeOpenAI, FakeReply
from tests.workers import LONG_S

ALICE = users.key_of("https://login.example.org", "alice")
NOW = 1_795_000_000.0


class Clock:
    """The time that the caps see."""

    now = NOW

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module.time, "time", found.time)
    return found


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "workbench.sqlite")
    yield store
    store.close()


def capped(store: SqliteStore, text: str, home: Path = Path()) -> Caps:
    """Return the caps as one process has them."""
    return Caps(parse_caps(text), lambda: store, home)


def bench(home: Path, text: str, monkeypatch: pytest.MonkeyPatch, user: str = ALICE) -> Workbench:
    monkeypatch.setenv("WORKBENCH_USER_CAPS", text)
    return Workbench(users.settings_for(load(home=home), user))


def test_a_day_of_runs_is_refused_until_the_first_is_a_day_old(store: SqliteStore, clock: Clock) -> None:
    for _ in range(2):
        with capped(store, "runs_per_day=2").new_run():  # each time as another process
            clock.now += 600
    with pytest.raises(ConfigError) as refused, capped(store, "runs_per_day=2").new_run():
        pass
    assert "cap on runs started in a day is reached: 2 of 2 used; some is free again in 2" in str(refused.value)
    use = capped(store, "runs_per_day=2").all()[0]
    assert use.free_in_s is not None and use.free_in_s < 86_400
    clock.now += use.free_in_s + 1
    with capped(store, "runs_per_day=2").new_run():
        pass
    clock.now += 2 * 86_400
    assert capped(store, "runs_per_day=2").all()[0].used == 0
    assert store.values("spent") == [], "entries that no longer count are kept"


def test_a_run_that_could_not_start_does_not_count(store: SqliteStore) -> None:
    caps = capped(store, "runs_per_day=1")
    with pytest.raises(ValueError, match="no model"), caps.new_run():
        raise ValueError("no model")
    assert caps.all()[0].used == 0


@pytest.mark.parametrize(
    ("cap", "spent", "said"),
    [
        ("tokens_per_day=1000", {"tokens": 1_000}, "tokens in a day is reached: 1,000 of 1,000 used; some is free"),
        ("usd_per_day=2.5", {"usd": 2.75}, "dollars in a day is reached: 2.75 of 2.5 used; some is free again in"),
        ("disk_mb=0", {}, "megabytes on disk is reached: 0 of 0 used; delete runs"),
    ],
)
def test_a_run_needs_what_every_cap_leaves(
    store: SqliteStore, tmp_path: Path, cap: str, spent: dict[str, Any], said: str
) -> None:
    caps = capped(store, cap, tmp_path / "home")
    (tmp_path / "home").mkdir()
    caps.spend(**spent)
    for resumed in (False, True):
        with pytest.raises(ConfigError, match=said), caps.new_run(resumed=resumed):
            pass


def test_uploads_are_counted_by_number_and_size(store: SqliteStore) -> None:
    caps = capped(store, "uploads_per_day=3,upload_mb_per_day=10")
    caps.uploads([1, 2])
    caps.uploads([20_000_000])
    with pytest.raises(ConfigError, match=r"files uploaded in a day is reached: 3 of 3 used; some is free again in"):
        caps.uploads([1])
    with pytest.raises(ConfigError, match=r"megabytes uploaded in a day is reached: 20 of 10 used"):
        capped(store, "upload_mb_per_day=10").uploads([1])


def test_calculations_at_once_wait_and_are_refused(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SANDBOX_WAIT_S", 0.01)
    caps, inside, leave = capped(store, "sandboxes_at_once=1"), threading.Event(), threading.Event()

    def calculate() -> None:
        with caps.sandbox():
            inside.set()
            leave.wait(LONG_S)

    thread = threading.Thread(target=calculate)
    thread.start()
    assert inside.wait(LONG_S)
    with (
        pytest.raises(ConfigError, match=r"calculations at once is reached: 1 of 1 used; one is free again when"),
        caps.sandbox(),
    ):
        pass
    leave.set()
    thread.join()
    with caps.sandbox():
        assert caps.all()[0].used == 1


def test_tokens_and_dollars_of_every_reply_count(store: SqliteStore) -> None:
    caps = capped(store, "tokens_per_day=100,usd_per_day=1")
    receive = caps.observe([Asked(ask=1, round=1, purpose="act", model="openai:x")])
    receive(Replied(ask=1, purpose="act", reply=Reply("x"), usage=Usage(50, 10, cost_usd=0.5), seconds=1))
    receive(Asked(ask=3, round=3, purpose="act", model="openai:x"))
    receive(Rejected(ask=3, text="x", problem="y", usage=Usage(40, 0)))
    assert [use.used for use in caps.all()] == [100, 0.5]


ENDPOINTS = {
    "near": {"kind": "ollama", "url": "http://127.0.0.1:11434"},
    "far": {"kind": "ollama", "url": "http://10.0.0.5:11434"},
}


@pytest.mark.usefixtures("parrot")
@pytest.mark.parametrize(
    ("model", "counts"),
    [
        ("extractive", False),
        ("gguf:/models/x.gguf", False),
        ("scripted:/x.jsonl", False),
        ("recorded:261122-000000-abcd", False),
        ("parrot:x", False),
        ("near:qwen3", False),
        ("far:qwen3", True),
        ("mine:qwen3", True),
        ("anthropic:x", True),
        ("removed:x", True),
    ],
)
def test_tokens_count_unless_the_model_runs_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, counts: bool
) -> None:
    monkeypatch.setenv("WORKBENCH_ENDPOINTS", json.dumps(ENDPOINTS))
    hers = bench(tmp_path, "tokens_per_day=100", monkeypatch)
    # What a user says of an address exempts nobody.
    endpoint_registry.add(hers.settings, "mine", Entry(kind="ollama", url="http://127.0.0.1:11434"))
    hers.reload()
    receive = hers.caps.observe([Asked(ask=1, round=1, purpose="act", model=model)])
    receive(Replied(ask=1, purpose="act", reply=Reply("x"), usage=Usage(90, 20), seconds=1))
    assert hers.caps.all()[0].used == (110 if counts else 0)
    hers.caps.spend(tokens=100)
    with pytest.raises(RunPaused, match="tokens in a day is reached") if counts else nullcontext():
        hers.caps.request(model)
    hers.store.close()


def test_a_run_pauses_when_its_users_tokens_are_used_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = '<tool_call>{"name": "python", "arguments": {"code": "print(1)"}}</tool_call>'
    with FakeOpenAI(lambda body: FakeReply(call)) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        hers = bench(tmp_path, "tokens_per_day=1", monkeypatch)
        recipe = hers.recipe(model="openai:fake", tools=("python",), protocol="tagged")
        run = hers.engine.start("Why?", recipe, here=True)
        events = list(run.events())
        assert isinstance(events[-1], Paused) and "tokens in a day is reached" in events[-1].reason
        assert len(server.requests) == 1
        with pytest.raises(ConfigError, match="tokens in a day is reached"):
            hers.engine.resume(run.run_id, here=True)
        hers.store.close()


def test_a_deleted_run_still_counts_and_other_users_have_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hers = bench(tmp_path, "runs_per_day=1", monkeypatch)
    recipe = hers.recipe(tools=())
    run = hers.engine.start("Why?", recipe, here=True)
    hers.store.delete([run.run_id])
    with pytest.raises(ConfigError, match="runs started in a day is reached: 1 of 1 used"):
        hers.engine.start("Why?", recipe, here=True)
    his = bench(tmp_path, "runs_per_day=1", monkeypatch, users.key_of("https://login.example.org", "bob"))
    assert his.engine.start("Why?", recipe, here=True).run_id
    nobody = bench(tmp_path, "runs_per_day=0", monkeypatch, "")
    assert nobody.engine.start("Why?", recipe, here=True).run_id, "without a login there are no caps"
    for each in (hers, his, nobody):
        each.store.close()


def test_runs_at_once_are_capped_also_without_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hers = bench(tmp_path, "runs_at_once=1", monkeypatch)
    recipe = hers.recipe(tools=())
    first = hers.engine.start("Why?", recipe, here=True)
    with pytest.raises(ConfigError, match="runs at once is reached: 1 of 1 used; one is free again when another has"):
        hers.engine.start("Why?", recipe, here=True)
    for _ in first.events():
        pass
    assert hers.engine.start("Why?", recipe, here=True).run_id
    hers.store.close()


@pytest.mark.parametrize(
    "text", ["runs=5", "runs_per_day", "runs_per_day=-1", "usd_per_day=nan", "usd_per_day=inf", "disk_mb=1,disk_mb=2"]
)
def test_a_wrong_cap_is_a_wrong_setting(text: str) -> None:
    with pytest.raises(ConfigError, match="WORKBENCH_USER_CAPS"):
        parse_caps(text)
