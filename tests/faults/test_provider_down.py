"""With a provider that is down, busy or silent, a run retries a few times, as late as told, then pauses with the reason."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from research.agent.model_call import TRIES
from research.events import events as e
from research.events.recipe import Recipe
from research.events.view import fold
from research.exports.json import as_dict
from research.types import Model, Passage, ToolOutput
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.faults.kills import FRAMEWORKS, Bench, Look, Provider
from tests.player import QUESTION, Player
from tests.served import openai_model

LONGEST_S = 300
"""The longest that a run waits for a service, whatever `Retry-After` says."""


@pytest.fixture(autouse=True)
def no_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda low, high: 0.0)


class Closing(Provider):
    """A provider that shuts down after `last` replies and leaves the next request without one."""

    def __init__(self, player: Player, last: int, port: int = 0) -> None:
        super().__init__(self._until_closed)
        if port:  # take over the port of an earlier one
            self._server.server_close()
            self._server = type(self._server)(("127.0.0.1", port), self._server.RequestHandlerClass)
            self._server.fake = self
            self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.answered = 0
        self._player, self._last, self._closing = player, last, threading.Lock()

    @property
    def port(self) -> int:
        return self._server.server_port

    def _until_closed(self, body: Body) -> FakeReply:
        with self._closing:
            if self.answered < self._last:
                self.answered += 1
                return self._player(body)
            self._server.shutdown()
            self._server.server_close()
        return FakeReply(reset_after=-1)


class Book(Look):
    """A search tool that works without the provider."""

    def __call__(self, *args: Any, query: str = "", **arguments: Any) -> ToolOutput:
        return ToolOutput(passages=(Passage("https://example.org", query, "Japan has 123,201,945 people."),))


class Apart(Bench):
    """A workbench whose only tool is `Book`."""

    def _tools(self, recipe: Recipe, stop: threading.Event) -> Iterator[Look]:
        yield Book("")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_run_pauses_when_its_provider_goes_down_and_resumes_without_repeating(tmp_path: Path, framework: str) -> None:
    """The provider goes down in the middle of a run or of its branches; none of them continues without it."""
    player = Player("native", laps=2)
    with Closing(player, 1 if framework == "rewoo" else 2) as provider:
        bench = Apart(tmp_path, provider.base_url)
        options = {"framework.n": 2} if framework == "parallel" else {}
        recipe = bench.recipe(framework=framework, model="openai:fake", tools=["search"], options=options)
        before = list(bench.engine.start(QUESTION, recipe, here=True).events())
    run_id, paused = before[0].run, before[-1]
    assert isinstance(paused, e.Paused)
    assert "connection" in paused.reason or "cannot reach" in paused.reason
    assert as_dict(fold(before))["error"] == paused.reason
    assert bench.store.run(run_id).status == "paused"
    kept = [(v.agent, v.ask) for v in before if isinstance(v, e.Replied)]
    assert len(kept) == provider.answered
    with Closing(player, 100, provider.port) as again:
        events = [*before, *bench.engine.resume(run_id, here=True).events()]
    replied = [(v.agent, v.ask) for v in events if isinstance(v, e.Replied)]
    assert replied[: len(kept)] == kept
    assert len(set(replied)) == len(replied) == provider.answered + again.answered
    assert fold(events).outcome == "answered"
    assert "error" not in as_dict(fold(events))
    assert player.refused == []


def in_a_second() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)


@pytest.mark.parametrize(
    ("retry_after", "least", "most"),
    [
        (lambda: "0", 0, 0),
        (lambda: "1", 1, 1),
        (in_a_second, 0, 1),
        (lambda: None, 0, 0),
        (lambda: "-5", 0, 0),
        (lambda: "soon", 0, 0),
        (lambda: "nan", 0, 0),
        (lambda: "Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
    ],
    ids=["0", "seconds", "date", "absent", "negative", "words", "nan", "past"],
)
def test_rate_limited_requests_wait_as_told_and_pause_the_run_after_three_tries(
    tmp_path: Path, retry_after: Callable[[], str | None], least: float, most: float
) -> None:
    """Two rate-limited replies are waited out; a third pauses the run."""
    player, busy = Player("native", laps=1), [2, TRIES]

    def storm(body: Body) -> FakeReply:
        if busy[0]:
            busy[0] -= 1
            given = retry_after()
            headers = {} if given is None else {"Retry-After": given}
            return FakeReply(status=429, headers=headers, body={"error": {"message": "slow down"}})
        return player(body)

    with Provider(storm) as provider:
        bench = Bench(tmp_path, provider.base_url)
        events = list(
            bench.engine.start(QUESTION, bench.recipe(model="openai:fake", tools=["search"]), here=True).events()
        )
        waits = [event.wait_s for event in events if isinstance(event, e.Withdrawn)]
        assert len(waits) == 2
        assert all(least <= wait <= most for wait in waits), waits
        assert fold(events).outcome == "answered"
        assert provider.asked_for == 2 + 2
        if most == 0:
            busy[0] = TRIES
            limited = list(
                bench.engine.start(QUESTION, bench.recipe(model="openai:fake", tools=["search"]), here=True).events()
            )
            assert isinstance(limited[-1], e.Paused)
            assert "429: slow down" in limited[-1].reason
            assert provider.asked_for == 4 + TRIES


@pytest.mark.parametrize("retry_after", ["999999999", "1e400", "inf", "Fri, 31 Dec 9999 23:59:59 GMT"])
@pytest.mark.parametrize("request_", ["stop", "pause"])
def test_an_absurd_retry_after_is_capped_and_the_wait_can_be_stopped_or_paused(
    tmp_path: Path, retry_after: str, request_: str
) -> None:
    asked = threading.Event()

    def storm(body: Body) -> FakeReply:
        asked.set()
        return FakeReply(status=429, headers={"Retry-After": retry_after}, body={"error": {"message": "slow down"}})

    with Provider(storm) as provider:
        bench = Bench(tmp_path, provider.base_url)
        run_id = bench.engine.start(QUESTION, bench.recipe(model="openai:fake", tools=["search"])).run_id
        assert asked.wait(30)
        getattr(bench.engine, request_)(run_id)
        assert bench.engine.wait(run_id, 30)
        events = bench.store.events(run_id)
    assert [event.wait_s for event in events if isinstance(event, e.Withdrawn)] in ([LONGEST_S], [])
    assert bench.store.run(run_id).status == {"stop": "stopped", "pause": "paused"}[request_]
    assert provider.asked_for == 1


class Impatient(Bench):
    """A workbench whose model gives up on a server that is silent for a moment."""

    patience_s = 1.5  # longer than a working server on a busy machine is silent

    def model(self, name: str) -> Model:
        return openai_model("fake", base_url=self.settings.openai_base_url or "", api_key="", timeout_s=self.patience_s)


@pytest.mark.parametrize(
    "fault", ["500", "503", "529", "reset", "reset in the middle", "idle", "idle in the middle", "cut"]
)
def test_a_run_pauses_after_three_failed_tries_and_can_be_resumed(tmp_path: Path, fault: str) -> None:
    """A partly streamed reply never counts as a reply."""
    player, ill, silence = Player("native", laps=2), [True], threading.Event()

    def play(body: Body) -> FakeReply:
        well = player(body)
        if len(player.purposes) < 3 or not ill[0]:
            return well
        half = "half of an answer that never came"
        faults = {
            "reset": FakeReply(reset_after=-1),
            "reset in the middle": FakeReply(half, reset_after=4),
            "idle": FakeReply(half, gate=silence, gate_after=0),
            "idle in the middle": FakeReply(half, gate=silence, gate_after=4),
            "cut": FakeReply(half, end_after=4),
        }
        return faults.get(fault) or FakeReply(status=int(fault), body={"error": {"message": "unwell"}})

    with Provider(play) as provider:
        bench = Impatient(tmp_path, provider.base_url)
        before = list(
            bench.engine.start(QUESTION, bench.recipe(model="openai:fake", tools=["search"]), here=True).events()
        )
        assert isinstance(before[-1], e.Paused), before[-1]
        assert before[-1].reason
        assert provider.asked_for == 2 + TRIES
        ill[0] = False
        silence.set()
        events = [*before, *bench.engine.resume(before[0].run, here=True).events()]
        assert provider.asked_for == 2 + TRIES + 1
    assert [event.ask for event in events if isinstance(event, e.Replied)] == [1, 2, 3]
    assert "half" not in fold(events).answer
    assert fold(events).outcome == "answered"


def test_a_wrong_key_fails_the_run_at_once(tmp_path: Path) -> None:
    """Waiting would not help, so the run does not retry."""
    with FakeOpenAI(key="right") as server:
        bench = Bench(tmp_path, server.base_url)
        events = list(
            bench.engine.start(QUESTION, bench.recipe(model="openai:fake", tools=["search"]), here=True).events()
        )
        assert (fold(events).outcome, len(server.authorizations)) == ("failed", 1)
