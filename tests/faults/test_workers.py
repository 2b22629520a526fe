"""When workers are killed, stopped and replaced, each run ends exactly once and repeats no completed call.

`WORKBENCH_FAULTS=200` sets the number of runs; the default is 6.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from research.config.settings import load
from research.events import events as e
from research.workbench.workbench import Workbench
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.player import QUESTION, Player
from tests.warm import Process, Warm
from tests.workers import LONG_S, environment, heard, until

RUNS = int(os.environ.get("WORKBENCH_FAULTS", "6"))
KILL_EVERY = 9
"""Number of requests between two kills."""
ENDED = ("completed", "stopped", "failed")


class Provider(FakeOpenAI):
    """A provider for any number of runs at once, each with its own question."""

    def __init__(self, laps: int = 3) -> None:
        self.gate = threading.Event()
        """No reply is sent while it is not set."""
        self.gate.set()
        self.last = sys.maxsize
        """The request at which the gate closes."""
        player, self._closing = Player("native", laps=laps), threading.Lock()

        def answer(body: Body) -> FakeReply:
            with self._closing:
                if len(self.requests) >= self.last:
                    self.gate.clear()
            self.gate.wait(LONG_S)
            return player.behave("act", body)

        super().__init__(answer)

    def go_on(self, requests: int) -> None:
        """Reply to this many requests from now on."""
        with self._closing:
            self.last = len(self.requests) + requests
            self.gate.set()

    @property
    def questions(self) -> Counter[str]:
        """Return how often each question was sent."""
        return Counter(body["messages"][1]["content"] for body in list(self.requests))


class Fleet:
    """Worker processes of one workbench."""

    def __init__(self, bench: Workbench, base_url: str, tmp_path: Path, warm: Warm) -> None:
        self.bench = bench
        self._warm = warm
        self.base_url = base_url
        self.log = tmp_path / "workers.log"
        self.processes: list[Process] = []

    def start(self, *words: str) -> Process:
        with self.log.open("a") as sink:
            process = self._warm.start(
                ["worker", *words],
                cwd=self.bench.settings.root,
                environment=environment(self.bench.settings, OPENAI_BASE_URL=self.base_url),
                stderr=sink,
            )
        self.processes.append(process)
        return process

    def kill(self, process: Process) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.processes.remove(process)

    def ready(self, count: int) -> None:
        """Wait until `count` workers have started."""
        until(lambda: self.log.exists() and self.log.read_text().count(" takes up to ") >= count)

    def ask(self, question: str = QUESTION) -> str:
        return self.bench.engine.start(question, self.bench.recipe(model="openai:fake", tools=["search"])).run_id

    def status(self, run_id: str) -> str:
        return self.bench.store.run(run_id).status

    def ended(self, *run_ids: str, within_s: float = LONG_S) -> None:
        until(lambda: all(self.status(run_id) in ENDED for run_id in run_ids), within_s)


@pytest.fixture
def provider() -> Iterator[Provider]:
    server = Provider()
    with server:
        yield server
        server.gate.set()


@pytest.fixture(params=[pytest.param("sqlite", marks=pytest.mark.slow), "postgres"])
def fleet(
    request: pytest.FixtureRequest,
    home: Path,
    tmp_path: Path,
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
    warm: Warm,
) -> Iterator[Fleet]:
    monkeypatch.setenv("WORKBENCH_ENGINE", "workers")
    monkeypatch.setenv("WORKBENCH_RUNS_PER_USER", "16")
    if request.param == "postgres":
        monkeypatch.setenv("DATABASE_URL", request.getfixturevalue("database_url"))
    made = Fleet(Workbench(load(home=home)), provider.base_url, tmp_path, warm)
    made.bench.settings.openai_base_url = provider.base_url
    yield made
    for process in list(made.processes):
        made.kill(process)
    sys.stdout.write(made.log.read_text() if made.log.exists() else "no worker")  # pytest shows it when a test fails
    made.bench.store.close()


def whole(events: list[e.Event]) -> e.RunFinished:
    """Check that a run ended once, without a gap or a repeated call, and return its last event."""
    assert [event.seq for event in events] == list(range(len(events)))
    assert sum(isinstance(event, e.RunFinished) for event in events) == 1
    last = events[-1]
    assert isinstance(last, e.RunFinished)
    replied: set[tuple[str, int]] = set()
    observed: set[str] = set()
    for event in events:
        match event:
            case e.Asked(agent=agent, ask=ask):
                assert (agent, ask) not in replied, "an answered request was repeated"
            case e.Replied(agent=agent, ask=ask):
                assert (agent, ask) not in replied
                replied.add((agent, ask))
            case e.ToolStarted(call=call):
                assert call.id not in observed, "a completed tool call was repeated"
            case e.ToolFinished(observation=seen):
                assert seen.call_id not in observed
                observed.add(seen.call_id)
    return last


@pytest.mark.slow
def test_workers_that_are_killed_and_replaced_finish_every_run(fleet: Fleet, provider: Provider) -> None:
    count = 4 if fleet.bench.settings.database_url else 2
    for _ in range(count):
        fleet.start()
    fleet.ready(count)
    unkilled = fleet.ask()
    fleet.ended(unkilled)
    provider.go_on(KILL_EVERY)
    runs = {fleet.ask(f"{QUESTION} ({n})"): f"{QUESTION} ({n})" for n in range(RUNS)}
    killed, turn = 0, itertools.cycle(range(count))

    def over() -> bool:
        return all(fleet.status(run_id) in ENDED for run_id in runs)

    while not over():
        until(lambda: over() or len(provider.requests) >= provider.last)
        if not over():
            fleet.kill(fleet.processes[next(turn) % len(fleet.processes)])
            killed += 1
            provider.go_on(KILL_EVERY)
            fleet.start()
    assert killed >= max(1, RUNS // KILL_EVERY)
    best = whole(fleet.bench.store.events(unkilled))
    sent = provider.questions
    for run_id, question in runs.items():
        events = fleet.bench.store.events(run_id)
        last = whole(events)
        assert (last.status, last.answer, last.report) == ("completed", best.answer, best.report)
        assert len(last.citations) == len(best.citations)
        # A request is saved just after it is made, so the last one of each killed worker may be missing.
        times = sum(isinstance(event, e.Asked | e.Resumed) for event in events)
        requests = sum(count for text, count in sent.items() if text.startswith(question))
        assert 4 <= requests <= times, "a request is neither in the log nor was in flight when its worker died"


def test_a_queued_run_can_be_stopped_and_another_one_is_run(fleet: Fleet, provider: Provider) -> None:
    """Both were queued before any worker started."""
    stopped, other = fleet.ask(), fleet.ask()
    assert fleet.status(stopped) == fleet.status(other) == "queued"
    fleet.bench.engine.stop(stopped)
    fleet.ended(stopped)
    fleet.start()
    fleet.ended(other)
    assert whole(fleet.bench.store.events(stopped)).status == "stopped"
    assert whole(fleet.bench.store.events(other)).status == "completed"
    assert len(provider.requests) == 4, "only the other run's requests"


def test_a_run_on_a_worker_can_be_paused_resumed_and_stopped_from_another_process(
    fleet: Fleet, provider: Provider
) -> None:
    provider.gate.clear()
    fleet.start()
    run_id = fleet.ask()
    until(lambda: provider.requests)
    fleet.bench.engine.pause(run_id)
    heard(fleet.bench.store, run_id)
    provider.gate.set()
    until(lambda: fleet.status(run_id) == "paused")
    fleet.bench.engine.resume(run_id)
    fleet.ended(run_id)
    assert whole(fleet.bench.store.events(run_id)).status == "completed"
    provider.gate.clear()
    before, run_id = len(provider.requests), fleet.ask()
    until(lambda: len(provider.requests) > before)
    fleet.bench.engine.stop(run_id)
    fleet.ended(run_id)
    provider.gate.set()
    assert whole(fleet.bench.store.events(run_id)).status == "stopped"


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("fleet", ["sqlite", "postgres"], indirect=True)
def test_a_terminated_worker_leaves_its_runs_to_other_workers(
    fleet: Fleet, provider: Provider, how: signal.Signals
) -> None:
    provider.gate.clear()
    first = fleet.start()
    run_id = fleet.ask()
    until(lambda: provider.requests)
    fleet.start()
    fleet.ready(2)
    first.send_signal(how)
    assert first.wait(LONG_S) == 0
    assert f"runs left to other workers: {run_id}" in fleet.log.read_text()
    provider.gate.set()
    fleet.ended(run_id)
    assert whole(fleet.bench.store.events(run_id)).status == "completed"
    assert len(provider.requests) == 5, "only the request in flight is repeated"


def test_a_worker_without_its_database_exits_without_showing_the_password(home: Path, warm: Warm) -> None:
    variables = {**environment(load(home=home)), "DATABASE_URL": "postgresql://someone:s3cret@127.0.0.1:1/none"}
    done = warm.run(["worker"], cwd=home, environment=variables)
    assert done.returncode == 2
    assert "DATABASE_URL" in done.stderr
    assert "s3cret" not in done.stderr


def test_a_detached_run_is_queued_if_the_engine_uses_workers(home: Path, warm: Warm) -> None:
    variables = {**environment(load(home=home)), "WORKBENCH_ENGINE": "workers"}
    done = warm.run(["run", QUESTION, "--detach"], cwd=home, environment=variables)
    assert done.returncode == 0, done.stderr
    assert Workbench(load(home=home)).store.run(done.stdout.strip()).status == "queued"
