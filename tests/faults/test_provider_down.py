"""With a provider that is down, busy or silent, a run retries a few times, as late as told, then pauses with the reason."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
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
from tests.workers import LONG_S, until

LONGEST_S = 300
"""The longest that a run waits for a service, whatever `Retry-After` says."""


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


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"Retry-After": "0"}, 0),
        ({"Retry-After": "1"}, 1),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:01 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 1),
        ({}, 0),
        ({"Retry-After": "-5"}, 0),
        ({"Retry-After": "soon"}, 0),
        ({"Retry-After": "nan"}, 0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
    ],
    ids=["0", "seconds", "date", "absent", "negative", "words", "nan", "past"],
)
def test_rate_limited_requests_wait_as_told_and_pause_the_run_after_three_tries(
    tmp_path: Path, headers: dict[str, str], wait_s: float
) -> None:
    """Two rate-limited replies are waited out; a third pauses the run."""
    player, busy = Player("native", laps=1), [2, TRIES]

    def storm(body: Body) -> FakeReply:
        if busy[0]:
            busy[0] -= 1
            return FakeReply(status=429, headers=headers, body={"error": {"message": "slow down"}})
        return player(body)

    with Provider(storm) as provider:
        bench = Bench(tmp_path, provider.base_url)
        events = list(
            bench.engine.start(QUESTION, bench.recipe(model="openai:fake", tools=["search"]), here=True).events()
        )
        assert [event.wait_s for event in events if isinstance(event, e.Withdrawn)] == [wait_s] * 2
        assert fold(events).outcome == "answered"
        assert provider.asked_for == 2 + 2
        if wait_s == 0:
            busy[0] = TRIES
            limited = list(
                bench.engine.start(QUESTION, bench.recipe(model="openai:fake", tools=["search"]), here=True).events()
            )
            assert isinstance(limited[-1], e.Paused)
            assert "429: slow down" in limited[-1].reason
            assert provider.asked_for == 4 + TRIES


def test_each_wait_without_a_given_time_is_twice_as_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[float, float]] = []
    monkeypatch.setattr(random, "uniform", lambda low, high: drawn.append((low, high)) or 0.001)
    with Provider(lambda body: FakeReply(status=503, body={"error": {"message": "unwell"}})) as provider:
        bench = Bench(tmp_path, provider.base_url)
        events = bench.engine.start(QUESTION, bench.recipe(model="openai:fake", tools=["search"]), here=True).events()
        waits = [event.wait_s for event in events if isinstance(event, e.Withdrawn)]
    assert (waits, drawn) == ([0.001, 0.002], [(0.5, 1.0)] * 2)


@pytest.mark.examples(2)
@pytest.mark.parametrize("retry_after", ["999999999", "1e400", "inf", "Fri, 31 Dec 9999 23:59:59 GMT"])
@pytest.mark.parametrize("request_", ["stop", "pause"])
def test_an_absurd_retry_after_is_capped_and_the_wait_can_be_stopped_or_paused(
    tmp_path: Path, retry_after: str, request_: str
) -> None:
    def storm(body: Body) -> FakeReply:
        return FakeReply(status=429, headers={"Retry-After": retry_after}, body={"error": {"message": "slow down"}})

    with Provider(storm) as provider:
        bench = Bench(tmp_path, provider.base_url)
        started = bench.engine.start(QUESTION, bench.recipe(model="openai:fake", tools=["search"]))
        run_id = started.run_id
        next(event for event in started.events() if isinstance(event, e.Withdrawn))  # from now on, the run waits
        getattr(bench.engine, request_)(run_id)
        assert bench.engine.wait(run_id, LONGEST_S / 2), "the run waits on"
        events = bench.store.events(run_id)
    assert [event.wait_s for event in events if isinstance(event, e.Withdrawn)] == [LONGEST_S]
    assert bench.store.run(run_id).status == {"stop": "stopped", "pause": "paused"}[request_]
    assert provider.asked_for == 1


class Impatient(Bench):
    """A workbench whose model gives up soon on a server that is `silent`, and waits long for one that will reply."""

    def __init__(self, home: Path, base_url: str, silent: Callable[[], bool]) -> None:
        super().__init__(home, base_url)
        self._silent = silent

    def model(self, name: str) -> Model:
        address = {"base_url": self.settings.openai_base_url or "", "api_key": ""}
        patient, impatient = (openai_model("fake", **address, timeout_s=seconds) for seconds in (LONG_S, 0.5))
        stream, gives_up = patient.stream, impatient.stream
        patient.stream = lambda request: (gives_up if self._silent() else stream)(request)  # type: ignore[method-assign]
        return patient


@pytest.mark.examples(3)
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
        bench = Impatient(tmp_path, provider.base_url, lambda: ill[0] and "idle" in fault and len(player.purposes) >= 2)
        before = list(
            bench.engine.start(QUESTION, bench.recipe(model="openai:fake", tools=["search"]), here=True).events()
        )
        assert isinstance(before[-1], e.Paused), before[-1]
        assert before[-1].reason
        until(lambda: provider.asked_for >= 2 + TRIES)  # a silent server may still be reading what was given up
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
