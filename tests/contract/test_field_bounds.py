"""Every text from outside that is stored and shown again has a bound: the inventory.

Each field gets a million characters.  It is refused with its limit, or what is kept of it is short.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec.structs import replace

import research
from research._util.bounds import FIELD, ITEMS, TAG, TAGS
from research.config import saved_settings
from research.config.settings import load
from research.engine.engine import LONGEST
from research.errors import ConfigError
from research.events.events import Asked, Event, RunStarted, ToolFinished, WaitingForUser
from research.events.recipe import Recipe
from research.mcp import sanitising
from research.memory import Entry
from research.search.library import uploads
from research.store import RunRow
from research.store.saved import Opinion, Preset
from research.types import Observation, Passage, Source
from research.web.readers import MAX_LINKS, FileText, Link, bounded
from research.workbench import run_import
from research.workbench.workbench import Workbench
from tests import fake_search as fake
from tests.fake_openai import FakeOpenAI, FakeReply
from tests.fake_search import FakeSearch, Hit, Paper
from tests.long_run import LongRun, stamp
from tests.unit.test_imported_numbers import whole

LONG = "word " * 200_000
QUESTION = "What is the population of Japan?"
OpenService = Callable[..., Any]


def waiting(bench: Workbench) -> str:
    """Return the id of a run that waits for a reply."""
    recipe = bench.recipe()
    bench.store.create(RunRow("a-run", QUESTION, recipe))
    events = [RunStarted(question=QUESTION, recipe=recipe), WaitingForUser(prompt="Which?")]
    bench.store.append([stamp(each, "a-run", seq, 1.0) for seq, each in enumerate(events)])
    return "a-run"


def finished(bench: Workbench) -> str:
    """Return the id of a run with one round."""
    run = LongRun(bench.store, "a-run")
    run.rounds(1)
    run.finish()
    return "a-run"


REFUSED: dict[str, Callable[[Workbench], object]] = {
    "question": lambda bench: bench.engine.start(LONG, bench.recipe()),
    "question of a fork": lambda bench: bench.engine.fork(finished(bench), 1, question=LONG),
    "edited text of a fork": lambda bench: bench.engine.fork(finished(bench), 1, edits={"main-1-1": LONG}),
    "reply to a run": lambda bench: bench.engine.resume(waiting(bench), LONG),
    "tag of a run": lambda bench: bench.store.tag(waiting(bench), [LONG]),
    "number of tags": lambda bench: bench.store.tag(waiting(bench), [str(n) for n in range(TAGS + 1)]),
    **{
        f"{field} of an entry": lambda bench, field=field: bench.memory.add([Entry(**{"text": "a", field: LONG})])  # type: ignore[misc]
        for field in ("text", "quote", "url", "title", "run", "id")
    },
    "tag of an entry": lambda bench: bench.memory.add([Entry("a", tags=(LONG,))]),
    "number of an entry's tags": lambda bench: bench.memory.add([Entry("a", tags=tuple(map(str, range(TAGS + 1))))]),
    "name of a preset": lambda bench: bench.saved.save_preset(Preset(LONG, {})),
    "options of a preset": lambda bench: bench.saved.save_preset(Preset("a", {"model": LONG})),
    "note on a comparison": lambda bench: bench.saved.save_opinion(Opinion("a", "b", note=LONG)),
    "model in the settings": lambda bench: saved_settings.save(bench.settings, model=f"openai:{LONG}"),
    "address in the settings": lambda bench: saved_settings.save(bench.settings, searxng_url=f"https://a/{LONG}"),
    "key in the settings": lambda bench: saved_settings.save(bench.settings, brave_api_key="a" * 10**6),
}


@pytest.mark.parametrize("field", REFUSED)
def test_a_long_text_of_a_user_is_refused_with_its_limit(field: str, bench: Workbench) -> None:
    with pytest.raises(ConfigError) as refused:
        REFUSED[field](bench)
    assert len(str(refused.value)) < 500 and re.search("at most|1 to 40|is not a|too long", str(refused.value)), (
        refused.value
    )


def test_texts_at_their_limits_are_accepted(bench: Workbench) -> None:
    run = waiting(bench)
    bench.store.tag(run, [f"{n:0{TAG}}" for n in range(TAGS)])
    assert len(bench.store.run(run).tags) == TAGS
    (added,) = bench.memory.add([Entry("a" * 100_000, tags=("t" * TAG,))])
    assert bench.memory.get(added.id).tags == ("t" * TAG,)
    assert bench.engine.start("q" * LONGEST, bench.recipe(), here=True).run_id


def longest(value: Any) -> int:
    """Return the length of the longest text, or the most items, in a value."""
    match value:
        case str():
            return len(value)
        case dict():
            return max([len(value), *map(longest, value), *map(longest, value.values())])
        case list() | tuple():
            return max([len(value), *map(longest, value)])
    return 0


HIT = Hit("https://a.example/x", LONG, LONG)
PAPER = Paper(LONG[:99_999], ["Name" * 999] * 99, abstract=LONG[:99_999], venue=LONG[:99_999])
HITS: dict[str, Any] = {"searxng": fake.searxng, "tavily": fake.tavily, "brave": fake.brave, "serper": fake.serper}
PAPERS: dict[str, Any] = {
    "semantic_scholar": fake.semantic_scholar,
    "openalex": fake.openalex,
    "arxiv": fake.arxiv,
}


@pytest.mark.parametrize("name", [*HITS, *PAPERS])
def test_a_result_of_a_search_service_is_short(name: str, open_service: OpenService) -> None:
    reply = HITS[name]([HIT]) if name in HITS else PAPERS[name]([PAPER])
    with FakeSearch([reply]) as server:
        found: list[Passage] = open_service(name, server.url).search("cats", 5)
    assert found
    for each in found:
        assert len(each.title) <= FIELD and len(each.url) <= 2_000 and len(each.quote) <= 20_000
        assert longest({key: value for key, value in each.csl.items() if key != "URL"}) <= max(FIELD, ITEMS)


def test_what_a_document_says_about_itself_is_short() -> None:
    csl = {"author": [{"literal": LONG}] * 999, "container-title": LONG, LONG: LONG}
    read = bounded(FileText(LONG, "text", tuple(Link(LONG, "/a") for _ in range(999)), "", csl), "a.html")
    assert len(read.title) <= FIELD and longest(read.csl) <= FIELD
    assert len(read.links) == MAX_LINKS and longest([each.text for each in read.links]) <= FIELD


@pytest.mark.parametrize("part", ["text", "reasoning", "arguments of a call"])
def test_a_reply_without_end_is_given_up_at_its_limit(part: str, bench: Workbench) -> None:
    """Four times a million characters of each, in events of half a million."""
    piece = "word " * 100_000
    deltas: dict[str, Callable[[str], Any]] = {
        "text": lambda text: {"content": text},
        "reasoning": lambda text: {"reasoning_content": text},
        "arguments of a call": lambda text: {
            "tool_calls": [{"index": 0, "id": "1", "function": {"name": "search", "arguments": text}}]
        },
    }
    reply = FakeReply(deltas=[deltas[part](piece) for _ in range(9)])
    with FakeOpenAI([reply]) as server:
        own = Workbench(load(home=bench.settings.home, openai_base_url=server.base_url))
        view = research.run(QUESTION, workbench=own, model="openai:fake", protocol="native")
    assert view.outcome == "failed" and "longer than 4 MB" in view.error
    assert longest(view.report) < 4_000_000


@pytest.mark.examples(2)
@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_every_text_of_an_imported_run_has_a_limit(kind: type[Event]) -> None:
    events = whole(kind)
    start = 0 if len(events) == 2 else 2
    for path in texts(events[start:]):
        copy = json.loads(json.dumps(events))
        place = copy[start:]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = "a" * (run_import._TEXT + 1)
        with pytest.raises(ConfigError) as refused:
            run_import.read_run("\n".join(map(json.dumps, copy)).encode())
        assert len(str(refused.value)) < 500, path


def test_names_in_an_imported_run_are_short_and_lists_have_a_limit() -> None:
    def run(*sources: Source, agents: int = 1) -> bytes:
        started = RunStarted(question=QUESTION, recipe=Recipe())
        asked = [Asked(ask=1, round=1, purpose="act", model="m", agent=f"main/{n}") for n in range(agents)]
        found = ToolFinished(observation=Observation("c", "search", "a", sources=sources))
        return run_import.to_jsonl(stamp(each, "a", seq, 1.0) for seq, each in enumerate([started, *asked, found]))

    named = Source(1, "https://a.example/", "a" * run_import._NAME, "q")
    assert run_import.read_run(run(*[named] * 50, agents=run_import._AGENTS - 1)).started.question == QUESTION
    for data in (
        run(replace(named, title=named.title + "a")),
        run(replace(named, url=named.url + "a" * run_import._NAME)),
        run(*[Source(1, "", "", "")] * (run_import._ITEMS + 1)),
        run(agents=run_import._AGENTS),
        b"[" * (run_import._MARKS + 1),
    ):
        with pytest.raises(ConfigError, match=r"at most|more than|limit of") as refused:
            run_import.read_run(data)
        assert len(str(refused.value)) < 200


def texts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every text, and of none that names a kind."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        if isinstance(each, str) and key != "type":
            yield (*path, key)
        else:
            yield from texts(each, (*path, key))


def test_the_names_and_texts_of_an_mcp_server_are_short() -> None:
    assert len(sanitising.offered_name(LONG, LONG, ())) <= 64
    assert len(sanitising.description("server", LONG)) <= sanitising.DESCRIPTION_CHARACTERS
    many = {f"{n}" * 9: {"description": LONG, "enum": [LONG], "default": LONG} for n in range(10_000)}
    assert (
        len(json.dumps(sanitising.parameters({"properties": many, "required": [*many]})))
        < 4 * sanitising.SCHEMA_CHARACTERS
    )
    for part in (
        {"required": [LONG]},
        {"required": ["a\u202eb"]},
        {"required": ["a"] * 10**6},
        {"type": ["string"] * 10**5},
        {"maximum": 10**4_000},
        {"default": float("nan")},
        {"minLength": 10**4_000},
    ):
        kept = sanitising.parameters({"properties": {"a": {"properties": {"b": part}, **part}}})
        written = json.dumps(kept, allow_nan=False)
        assert len(written) < 2 * sanitising.SCHEMA_CHARACTERS and "202e" not in written


def test_the_name_of_a_file_and_of_a_collection_are_short(tmp_path: Path) -> None:
    assert len(uploads.safe_name(LONG + ".md")) <= 200
    assert len(uploads.folder(load(home=tmp_path).home, LONG).name) <= 200
