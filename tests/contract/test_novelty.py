"""A run whose results add nothing is told so, then concluded; new facts on the same topic never are."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

import research
from bench.novelty import CHOSEN_ON, REPORTED_ON, topics
from research.agent.journal import Journal
from research.agent.lifecycle import execute
from research.agent.novelty import Novelty
from research.agent.run import Run
from research.config.settings import load
from research.errors import ConfigError
from research.events import events as e
from research.events.branches import first_rounds
from research.events.events import Event
from research.events.view import fold, messages_sent
from research.search.embedders import Embedder
from research.types import Observation
from research.workbench.workbench import Workbench
from tests.command import Cli
from tests.word_encoder import WordEncoder

Script = Callable[..., str]
QUESTION = "What is known about Lake Baikal?"
FACTS = [
    "Lake Baikal in Siberia is the deepest lake on Earth, reaching 1,642 metres.",
    "Baikal formed in a rift valley some 25 million years ago, which makes it the oldest lake known.",
]
STALE = [
    *FACTS,
    "With a depth of 1,642 metres, Baikal is deeper than every other lake on Earth.",
    "No known lake is older: Baikal formed 25 million years ago in a rift valley.",
    "The deepest lake on Earth is Lake Baikal in Siberia, 1,642 metres deep.",
    "Lake Baikal, which formed in a rift 25 million years ago, is the oldest known lake.",
    "At 1,642 metres, the Siberian lake Baikal is the deepest on Earth.",
    "The oldest lake known is Baikal; it formed 25 million years ago in a rift.",
    "In Siberia lies Baikal, the deepest lake on Earth, with 1,642 metres.",
]
FRESH = [
    *FACTS,
    "The nerpa, a seal found nowhere else, lives in the lake.",
    "More than 300 rivers flow into it, and only the Angara flows out.",
    "Since 1996 it has been on the list of World Heritage sites.",
    "A paper mill on its southern shore was closed in 2013 after protests.",
    "Each winter trucks drive over its ice, which is a metre thick.",
    "Shamans of the Buryats hold the island of Olkhon sacred.",
    "Neutrinos are counted by detectors that hang on cables in its water.",
]
ANSWER = "<answer>Lake Baikal is the deepest lake on Earth [1].</answer>"


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(load(home=tmp_path / "home"))


Visits = Callable[..., list[str]]


@pytest.fixture
def visits(bench: Workbench, tmp_path: Path) -> Visits:
    """Returns a function that writes each text as a document and returns the replies of a model that visits them all."""

    def written(texts: list[str]) -> list[str]:
        folder = tmp_path / "pages"
        folder.mkdir()
        for number, text in enumerate(texts):
            (folder / f"{number}.md").write_text(text, encoding="utf-8")
        bench.library.add_folder(folder)
        urls = sorted(info.url for info in bench.library.documents(str(folder)))
        calls = [{"name": "visit", "arguments": {"url": url, "goal": "Baikal"}} for url in urls]
        return [*(f"<tool_call>{json.dumps(call)}</tool_call>" for call in calls), ANSWER]

    return written


def played(bench: Workbench, model: str, question: str = QUESTION, **recipe: object) -> list[Event]:
    return list(research.stream(question, workbench=bench, model=model, **recipe))


def warnings(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, e.Warned) and event.kind == "loop"]


def outcome(events: list[Event]) -> str:
    final = events[-1]
    assert isinstance(final, e.RunFinished)
    return final.outcome


def test_results_that_add_nothing_get_a_hint_and_then_end_the_run(
    bench: Workbench, visits: Visits, script: Script
) -> None:
    model = script(*visits(STALE[:8])[:-1], {"text": ANSWER, "purpose": "conclude"})
    events = played(bench, model)
    assert (outcome(events), len(warnings(events))) == ("loop", 1)
    assert [event.observation.new for event in events if isinstance(event, e.ToolFinished)] == [None] * 2 + [0] * 6
    assert warnings(events)[0] not in messages_sent(fold(events), "main", 5)[-1].content
    assert messages_sent(fold(events), "main", 6)[-1].content.endswith(warnings(events)[0])
    (concluding,) = [event for event in events if isinstance(event, e.Asked) and event.purpose == "conclude"]
    assert (concluding.ask, concluding.tools) == (9, ())


def test_new_facts_on_the_same_topic_are_never_stale(bench: Workbench, visits: Visits, script: Script) -> None:
    events = played(bench, script(*visits(FRESH)))
    assert (outcome(events), warnings(events)) == ("answered", [])
    assert [event.observation.new for event in events if isinstance(event, e.ToolFinished)] == [None] * 2 + [1] * 7


def test_one_new_fact_in_time_lets_the_run_go_on(bench: Workbench, visits: Visits, script: Script) -> None:
    pages = STALE[:4] + FRESH[2:3] + STALE[4:6] + FRESH[3:4] + STALE[6:8]
    events = played(bench, script(*visits(pages)))
    assert (outcome(events), warnings(events)) == ("answered", [])


def test_the_recipe_can_switch_it_off(bench: Workbench, visits: Visits, script: Script) -> None:
    events = played(bench, script(*visits(STALE)), novelty=False)
    assert (outcome(events), warnings(events)) == ("answered", [])
    assert {event.observation.new for event in events if isinstance(event, e.ToolFinished)} == {None}


def test_the_hint_is_in_the_language_of_the_question(bench: Workbench, visits: Visits, script: Script) -> None:
    events = played(bench, script(*visits(STALE)), question="关于贝加尔湖有哪些已知的事实？")
    assert warnings(events)[0].startswith("工作台提示")


def test_a_resumed_run_comes_to_the_same_end_without_an_encoder(
    bench: Workbench, visits: Visits, script: Script
) -> None:
    lines = [*visits(STALE[:8])[:-1], {"text": ANSWER, "purpose": "conclude"}]
    events = played(bench, script(*lines))
    for cut in range(1, len(events)):
        recipe = bench.recipe(model=script(*lines))
        shared = bench.context_for(recipe, Journal(events[:cut]), threading.Event())
        seen = {event.observation.call_id for event in events[:cut] if isinstance(event, e.ToolFinished)}
        if len(seen) == 8:  # nothing is left to count
            shared.services = replace(shared.services, embedder=None)
        whole = [*events[:cut], *execute(Run(QUESTION, recipe, shared), events[0].run)]
        assert (outcome(whole), warnings(whole)) == ("loop", warnings(events)), f"cut at {cut}"


def test_a_fork_under_another_recipe_has_read_the_hint_and_knows_what_was_seen(
    bench: Workbench, visits: Visits, script: Script
) -> None:
    lines = visits(STALE)
    events = played(bench, script(*lines))
    recipe = bench.recipe(model=script(*lines[5:]), framework="tool_rounds")
    fork = bench.engine.fork(events[0].run, 5, recipe=recipe, here=True)
    forked = list(fork.events())
    first = messages_sent(fold(bench.store.events(fork.run_id)), "main", 6)
    assert warnings(events)[0] in first[-1].content
    counted = [event.observation.new for event in forked if isinstance(event, e.ToolFinished)]
    assert counted[-1] == 0, "the statements of the adopted rounds are unknown"
    assert len(first_rounds(events, 5)) < len(events)


def test_a_run_shorter_than_three_rounds_needs_no_encoder(bench: Workbench, visits: Visits, script: Script) -> None:
    recipe = bench.recipe(model=script(*visits(STALE[:2])))
    shared = bench.context_for(recipe, Journal(), threading.Event())
    loads: list[str] = []

    def load_() -> Embedder:
        loads.append("loaded")
        return WordEncoder()

    shared.services = replace(shared.services, embedder=load_)
    events = list(execute(Run(QUESTION, recipe, shared), "run"))
    finished = [n for n, event in enumerate(events) if isinstance(event, e.Replied)][-1]
    assert finished, "the run made no request"
    assert not loads


@pytest.mark.parametrize("path", [CHOSEN_ON, REPORTED_ON])
def test_without_an_encoder_words_are_compared(path: Path) -> None:
    def missing() -> Embedder:
        raise ConfigError("no such encoder")

    for topic in topics(path):
        counter = Novelty(missing)
        for text in topic["seen"]:
            counter.remember(Observation("", "visit", text))
        assert all(counter.count(Observation("", "visit", text)) for text in topic["fresh"])
        assert all(counter.count(Observation("", "visit", text)) == 0 for text in topic["seen"])


def test_a_number_that_was_not_seen_is_new_and_a_failed_call_does_not_count() -> None:
    counter = Novelty()
    counter.remember(Observation("", "visit", "The lake is 1,642 metres deep."))
    assert counter.count(Observation("", "visit", "The lake is 1,637 metres deep.")) == 1
    assert counter.count(Observation("", "visit", "The lake is 1642 metres deep.")) == 0
    assert counter.count(Observation("", "visit", "It timed out.", ok=False)) is None
    assert counter.count(Observation("", "python", "")) is None


def test_the_command_line_switches_it_off_and_old_recipes_keep_their_hash(cli: Cli) -> None:
    made = cli("run", "How many people live in Japan?", "--novelty", "off", "--json").json
    assert made["recipe"]["novelty"] is False
    made = cli("run", "How many people live in Japan?", "--json").json
    assert "novelty" not in made["recipe"]
