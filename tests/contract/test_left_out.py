"""A parameter that a provider refuses is omitted, and the run warns once."""

from __future__ import annotations

import pytest

import research
from research.config.settings import load
from research.events.events import Warned
from research.workbench.workbench import Workbench
from tests.fake_anthropic import FakeAnthropic
from tests.fake_openai import FakeOpenAI, FakeReply

CALL = ("search", {"query": "France"})


@pytest.mark.parametrize(("kind", "fake"), [("openai", FakeOpenAI), ("anthropic", FakeAnthropic)])
def test_a_refused_temperature_is_omitted_with_one_warning(bench: Workbench, kind: str, fake: type[FakeOpenAI]) -> None:
    with fake([FakeReply("", [CALL]), FakeReply("Nobody knows.")], refuses=["temperature"]) as server:
        other = Workbench(load(home=bench.settings.home, **{f"{kind}_base_url": server.base_url}))
        events = list(research.stream("Who?", workbench=other, model=f"{kind}:fake", temperature=0.5))
    warnings = [event.text for event in events if isinstance(event, Warned)]
    assert warnings == [f"{kind}:fake does not accept temperature."]
    assert len(server.requests) == 2
    assert all("temperature" not in body for body in server.requests)
