"""The gateway is killed again and again: no finished call is lost, and none is sent to the provider twice."""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from pathlib import Path

import httpx2
import openai
import pytest

from research.config.settings import load
from research.events.events import Forwarded, Replied, Returned
from research.events.view import fold
from research.store import RunRow
from research.workbench.workbench import Workbench
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.warm import Warm
from tests.workers import LONG_S

KILLS = int(os.environ.get("GATEWAY_KILLS", "4"))
"""50 in the measurement of docs/gateway.md."""


class Killer:
    """Starts a gateway, kills it after a random time, and starts it again at the same port."""

    def __init__(self, warm: Warm, home: Path, base_url: str, kills: int) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._start = lambda: warm.start(
            ["gateway", "--port", str(self.port), "--home", str(home), "--idle", "3600"],
            cwd=home,
            environment={**os.environ, "OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "sk-upstream-0123456789"},
        )
        self.kills = kills
        self.killed = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        chance = random.Random(22)
        while True:
            process = self._start()
            process.stderr.readline()  # it listens
            if self.killed == self.kills:
                self._over.wait()
                process.send_signal(15)
                process.wait(LONG_S)
                return
            self._over.wait(chance.uniform(0.05, 0.6))
            process.kill()
            process.wait(LONG_S)
            self.killed += 1

    def end(self) -> None:
        """Stop the last gateway."""
        self._over.set()
        self._thread.join(LONG_S)


@pytest.mark.slow
def test_no_finished_call_is_lost_or_sent_twice(warm: Warm, tmp_path: Path) -> None:
    def reply(body: Body) -> FakeReply:
        time.sleep(0.01)
        return FakeReply(f"Reply to {body['messages'][-1]['content']}. " * 10)

    with FakeOpenAI(reply) as provider:
        killer = Killer(warm, tmp_path, provider.base_url, KILLS)
        client = openai.OpenAI(
            base_url=f"http://127.0.0.1:{killer.port}/runs/kept/v1", api_key="x", max_retries=1000, timeout=LONG_S
        )
        messages: list[dict[str, str]] = []
        finished: list[str] = []
        number = 0
        while killer.killed < KILLS or number < 5:
            number += 1
            messages.append({"role": "user", "content": f"Question {number}"})
            finished.append(_asked(client, messages, stream=number % 2 == 0))
            messages.append({"role": "assistant", "content": finished[-1]})
        killer.end()
        asked = [tuple(each["content"] for each in body["messages"]) for body in provider.requests]
    assert finished == [f"Reply to Question {n + 1}. " * 10 for n in range(number)]

    bench = Workbench(load(home=tmp_path))
    assert [row.id for row in bench.store.runs()] == ["kept"]
    events = bench.store.events("kept")
    assert [event.seq for event in events] == list(range(len(events)))
    assert [event.reply.text for event in events if isinstance(event, Replied)] == finished, "each reply once, in order"
    assert fold(events).round_count() == number
    # What the provider was asked more often than the run has answers was in flight at a kill.
    begun = [event.sha256 for event in events if isinstance(event, Forwarded)]
    answered = {event.ask for event in events if isinstance(event, Returned)}
    assert answered == set(range(1, number + 1))
    repeated = len(asked) - len(set(asked))
    assert repeated <= len(begun) - len(set(begun)) <= KILLS


def _asked(client: openai.OpenAI, messages: list[dict[str, str]], *, stream: bool) -> str:
    """Ask until the answer has arrived whole, as a patient agent does."""
    given: dict[str, object] = {"model": "fake", "messages": messages}
    while True:
        try:
            if not stream:
                return client.chat.completions.create(**given).choices[0].message.content or ""  # type: ignore[call-overload]
            with client.chat.completions.stream(**given) as events:  # type: ignore[arg-type]
                return events.get_final_completion().choices[0].message.content or ""
        except (openai.APIError, httpx2.HTTPError):
            time.sleep(0.05)


def test_a_file_of_events_cut_in_its_last_line_is_recovered(tmp_path: Path) -> None:
    from research.events.events import RunStarted, Warned, encode
    from research.events.recipe import Recipe
    from research.servers.gateway_spool import recover
    from research.store.sqlite import SqliteStore

    store = SqliteStore(tmp_path / "workbench.sqlite")
    started = RunStarted(run="r", seq=0, time=1.0, question="Q", recipe=Recipe())
    noted = Warned(run="r", seq=1, time=2.0, kind="model", text="noted")
    (tmp_path / "gateway").mkdir()
    path = tmp_path / "gateway" / "r.events"
    path.write_bytes(encode(started) + b"\n" + encode(noted) + b"\n" + encode(noted)[:20])
    assert list(recover(tmp_path / "gateway", store)) == ["r"]
    assert store.events("r") == [started, noted]
    assert not path.exists()
    assert list(recover(tmp_path / "gateway", store)) == []


@pytest.mark.parametrize("reclaimed", [False, True])
def test_a_killed_gateways_run_waits_for_its_agent(tmp_path: Path, reclaimed: bool) -> None:
    """The app may reclaim it: it is paused then, with its last reply, and ends when a user resumes it."""
    from research.events.events import Resumed
    from research.servers.gateway_requests import read
    from research.servers.gateway_runs import RecordedRun
    from research.types import Completion, Usage

    bench = Workbench(load(home=tmp_path))
    stored = []
    run = RecordedRun("r", stored.extend, named=True)
    asking = read("chat", b'{"model": "fake", "messages": [{"role": "user", "content": "Capital of France?"}]}')
    run.start(asking, "extractive")
    call = run.ask(asking, "extractive")
    returned = Returned(ask=0, status=200, body=b"{}")
    run.answer(call, returned, Completion("Paris"), Usage(1, 1), response="", problem="")
    bench.store.create(RunRow("r", "Capital of France?", stored[0].recipe), stored)
    if reclaimed:
        bench.engine.drive("r")
        assert bench.store.run("r").status == "paused"
        assert "gateway" in fold(bench.store.events("r")).error
    for _ in bench.engine.resume("r", here=True).events():
        pass
    view = fold(bench.store.events("r"))
    assert (view.status, view.outcome, view.answer) == ("completed", "answered", "Paris")
    assert sum(isinstance(event, Resumed) for event in bench.store.events("r")) == (2 if reclaimed else 1)
