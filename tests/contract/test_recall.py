"""A run that recalls earlier findings says so, cites their sources and is not misled by them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import research
from research import defaults
from research.agent.inherited import fork_of
from research.agent.journal import Journal
from research.agent.lifecycle import execute
from research.agent.run import Run
from research.config.settings import load
from research.defaults import TOOLS
from research.errors import ConfigError
from research.events import events as e
from research.events.events import Event
from research.events.recipe import RECALL_MOST
from research.events.view import RunView, fold, messages_sent
from research.memory import Entry
from research.memory.entries import Memory
from research.search import embedders
from research.search.embedders import Embedder
from research.types import Completion, Delta, Request
from research.web.url_guard import MEMORY
from research.workbench.recipes import pairs
from research.workbench.workbench import Workbench
from tests.conftest import linked_home
from tests.fake_openai import FakeOpenAI, FakeReply
from tests.pairwise import slow_but_each_value
from tests.player import ANSWER, QUESTION, Player
from tests.workers import LONG_S

CELLS = pairs()
Make = Callable[..., Workbench]


@pytest.fixture(scope="module")
def place(prepared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return linked_home(prepared_home, tmp_path_factory.mktemp("recall") / "home")


@pytest.fixture(scope="module")
def encoder() -> Embedder:
    return embedders.create("universal")


@pytest.fixture
def make(place: Path, encoder: Embedder, tmp_path: Path) -> Iterator[Make]:
    """Returns a function that opens a home with its own memory, and the library and encoder that all tests share."""
    shared = Workbench(load(home=place))
    made: list[Workbench] = []

    def bench(name: str = "home", **settings: Any) -> Workbench:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        made.append(Workbench(load(home=folder, **settings)))
        made[-1].library, made[-1].embedder = shared.library, encoder
        return made[-1]

    yield bench
    shared.library.close()
    for each in made:
        if "memory" in each.__dict__:
            each.memory.close()


@pytest.fixture
def bench(make: Make) -> Workbench:
    return make()


def ask(bench: Workbench, question: str, **recipe: Any) -> RunView:
    return research.run(question, workbench=bench, **recipe)


def searches(view: RunView) -> int:
    return sum(call.call.name == "search" for each in view.rounds for call in each.calls)


def essence(view: RunView) -> str:
    """Return the outcome and the answer, without the evidence and the source numbers."""
    head = re.split(r"\n\n###|\n\n(?:The sources remembered|来源取自以往)", view.answer)[0]
    return f"{view.outcome}: " + re.sub(r"\[\d+\]", "[n]", head)


# -- the second run -----------------------------------------------------------------------------------------------------


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    ("first", "second", "figure"),
    [
        (
            "What was Poland's real GDP in 2023 and in 2024?",
            "By what percentage did Poland's real GDP grow in 2024?",
            "2.93 %",
        ),
        ("How many people live in Kenya?", "Does Kenya have more inhabitants than Haiti?", "55,751,717"),
        ("japan population", "日本有多少人口？", "123,201,945"),
        ("法国的首都是哪里？", "What is the capital of France?", "Paris"),
        (
            "What is the median age in Niger?",
            "What's the difference between the median ages of Niger and Japan?",
            "34.9",
        ),
    ],
)
def test_a_second_run_says_that_it_remembers_cites_the_source_and_searches_less(
    bench: Workbench, first: str, second: str, figure: str
) -> None:
    ask(bench, first, remember="findings")
    plain = ask(bench, second)
    view = ask(bench, second, recall=5)
    assert (view.status, view.outcome, view.error) == ("completed", "answered", "")
    assert figure in view.answer
    assert essence(view) == essence(plain)
    assert searches(view) < searches(plain)
    assert view.recalled is not None
    assert view.recalled.private
    remembered = [source for source in view.cited_sources if source.memory]
    assert remembered
    assert all(source.url.startswith("library://factbook/") for source in view.cited_sources)
    assert {each.status for each in view.citations} <= {"supported", "calculated"}
    assert view.uncited == ()
    said = re.search(
        r"(?:The sources remembered from earlier runs, not looked up again: |来源取自以往运行的记忆，这次没有重新查找：)(.*)",
        view.answer,
    )
    assert said is not None
    assert all(source.title in said[1] for source in remembered)


@pytest.mark.examples(3)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        # The remembered year is not the last one of its series.
        ("What was Brazil's inflation rate in 2022?", "What is Brazil's inflation rate?"),
        ("What was Brazil's unemployment rate in 2022?", "unemployment brazil vs chile"),
        ("By what percentage did Guyana's real GDP rise from 2022 to 2023?", "How fast does Guyana's real GDP grow?"),
        ("By what percentage did Guyana's real GDP rise from 2022 to 2023?", "How much did Guyana's GDP grow since 2022?"),
        # The name resembles another one or contains it.
        ("What is the population of Nigeria?", "What is the population of Niger?"),
        ("What is the population of Nigeria?", "Which of Chad's neighbours has the smallest population?"),
        ("What is the population of Guinea-Bissau?", "What is the population of Guinea?"),
        ("What is the population of South Korea?", "What is the population of North Korea?"),
        ("What is the capital of the Democratic Republic of the Congo?", "What is the capital of the Republic of the Congo?"),
        ("What is the population of Samoa?", "What is the population of American Samoa?"),
        # Another measure of the same subject.
        ("What is the life expectancy at birth in Japan?", "What is the male life expectancy in Japan?"),
        ("What is the population growth rate of Kenya?", "What is the birth rate of Kenya?"),
        # No source contains the answer.
        ("What is the population of Japan?", "Population forecast for Japan in the year 2050?"),
        ("What is the capital of Kenya?", "Who is the mayor of Nairobi?"),
        ("法国2022年的实际国内生产总值是多少？", "法国的实际国内生产总值是多少？"),
    ],
)  # fmt: skip
def test_a_similar_finding_in_memory_does_not_change_the_answer(bench: Workbench, first: str, second: str) -> None:
    assert ask(bench, first, remember="findings").remembered
    assert bench.memory.count()
    view = ask(bench, second, recall=5)
    assert essence(view) == essence(ask(bench, second))
    # A superlative over all neighbours cannot be told from one page.
    assert {each.status for each in view.citations} <= {"supported", "calculated", "unverified"}
    assert not view.citations or any(each.status in ("supported", "calculated") for each in view.citations)


def test_a_remembered_year_in_an_evolving_report_is_not_taken_for_the_latest(bench: Workbench) -> None:
    """The report of a round contains the recalled findings and tells the next round that they were recalled."""
    ask(bench, "What was Portugal's GDP per capita in 2022 and in 2024?", remember="findings")
    question = "Who has the higher GDP per capita, Slovenia or Portugal?"
    plain = ask(bench, question, framework="iter_research")
    for more in ({"recall": 5}, {"tools": (*TOOLS, "recall")}):
        assert essence(ask(bench, question, framework="iter_research", **more)) == essence(plain)


# -- every framework and strategy ---------------------------------------------------------------------------------------


def add_finding(bench: Workbench) -> str:
    """Add a finding about the player's question to the memory; return its URL."""
    url = "library://factbook/japan/people-and-society"
    quote = "Population, total: 123,201,945 (2024 est.)"
    bench.memory.add(
        [Entry("Japan has 123,201,945 people.", "finding", "known", "model", "r1", url=url, title="Japan", quote=quote)]
    )
    return url


@pytest.mark.parametrize(("framework", "context"), slow_but_each_value(CELLS))
def test_recalled_findings_appear_once_in_every_prompt(make: Make, framework: str, context: str) -> None:
    protocol = "native" if CELLS.index((framework, context)) % 2 else "tagged"
    player = Player(protocol, laps=4)  # type: ignore[arg-type]
    options: dict[str, Any] = {"resum": {"context.max_tokens": 2_500}, "window": {"context.k": 1}}.get(context, {})
    with FakeOpenAI(player) as server:
        bench = make(openai_base_url=server.base_url)
        url = add_finding(bench)
        view = ask(
            bench, QUESTION, model="openai:fake", framework=framework, context=context, protocol=protocol,
            options=options, recall=3,
        )  # fmt: skip
    assert (view.status, view.outcome, view.error, player.refused) == ("completed", "answered", "", [])
    assert ANSWER in view.answer
    assert view.sources[1][0].url == url
    assert view.sources[1][0].memory == "known"
    blocks: dict[str, set[int]] = {}
    for each in view.rounds:
        if each.sent:
            sent = "\n".join(message.content for message in messages_sent(view, each.agent, each.ask))
            blocks.setdefault(each.purpose, set()).add(sent.count("<recalled>"))
            assert sent.count("</recalled>") == sent.count("<recalled>")
    without = {purpose for purpose, counts in blocks.items() if counts == {0}}
    assert without <= {"evaluate"}, "a prompt other than the judge's lacks the findings"
    assert all(counts <= {0, 1} if purpose in without else counts == {1} for purpose, counts in blocks.items())


@pytest.mark.examples(3)
@pytest.mark.parametrize("framework", defaults.FRAMEWORKS)
def test_the_offline_model_uses_recalled_findings_in_every_framework(bench: Workbench, framework: str) -> None:
    ask(bench, QUESTION, remember="findings")
    view = ask(bench, QUESTION, framework=framework, recall=5)
    assert (view.status, view.outcome, view.error) == ("completed", "answered", "")
    assert "123,201,945" in view.answer
    assert {each.status for each in view.citations} == {"supported"}
    if framework != "rewoo":  # it plans before it sees any evidence
        assert searches(view) == 0
        assert "The sources remembered from earlier runs" in view.answer


@pytest.mark.parametrize(
    ("framework", "context"), [("react", "full"), ("iter_research", "evolving"), ("react", "evolving")]
)
def test_the_recall_tool_is_called_once_and_before_any_search(bench: Workbench, framework: str, context: str) -> None:
    ask(bench, QUESTION, remember="findings")
    for question, found in ((QUESTION, True), ("What is the capital of Namibia?", False)):
        view = ask(bench, question, framework=framework, context=context, tools=(*TOOLS, "recall"))
        names = [call.call.name for each in view.rounds for call in each.calls]
        assert (view.outcome, view.error, names[0], names.count("recall")) == ("answered", "", "recall", 1)
        assert ("search" not in names, "remembered from earlier runs" in view.answer) == (found, found)


def test_recalled_sources_are_shown_whole_in_a_small_context(make: Make) -> None:
    """Of twenty long entries as many as fit, each with its number and its URL."""
    player = Player("tagged", laps=3)
    with FakeOpenAI(player) as server:
        bench = make(openai_base_url=server.base_url)
        bench.memory.add(
            Entry(
                f"Statement {n} of how many people live in Japan. " + "word " * 100, "finding", url=f"https://a.example/{n}",
                provenance="model", quote=f"Line {n} of how many people live in Japan. " + f"quote{n} " * 60,
            )
            for n in range(20)
        )  # fmt: skip
        view = ask(
            bench, QUESTION, model="openai:fake", context="resum", options={"context.max_tokens": 8_000}, recall=20
        )
    assert (view.status, view.error) == ("completed", "")
    assert view.recalled is not None
    assert len(view.recalled.sources) == 20
    for each in view.rounds:
        block = re.search(r"<recalled>\n(.*?)\n</recalled>", messages_sent(view, "main", each.ask)[1].content, re.S)
        assert block is not None
        assert len(block[1]) < 8_000 // 4 + 400
        numbered = re.findall(r"^\[\d+\] .*\n<https://a\.example/\d+>\n> Line", block[1], re.M)
        assert len(numbered) == len(re.findall(r"^\[", block[1], re.M)) >= 2


# -- resumed, forked and followed-up runs -------------------------------------------------------------------------------


def drive(bench: Workbench, question: str, events: Sequence[Event]) -> list[Event]:
    """Resume from these events, as another process would."""
    recipe = next(event.recipe for event in events if isinstance(event, e.RunStarted))
    shared = bench.context_for(recipe, Journal(events), threading.Event())
    made: list[Event] = list(events)
    for event in execute(Run(question, recipe, shared), events[0].run, lambda: made):
        made.append(event)
    return made


def one(events: Sequence[Event], kind: type[Event]) -> Any:
    (found,) = (event for event in events if isinstance(event, kind))
    return found


def test_a_resumed_run_recalls_the_same_findings_and_remembers_nothing_twice(make: Make) -> None:
    """Cut at every event; meanwhile all entries are forgotten and others are added."""
    bench = make()
    ask(bench, QUESTION, remember="findings")
    question = "Does Kenya have more inhabitants than Japan?"
    tools = ("search", "visit")
    events = list(research.stream(question, workbench=bench, tools=tools, recall=5, remember="findings"))
    plain = fold(events)
    first = one(events, e.Remembered)
    assert first.added
    assert [type(event) for event in events[-2:]] == [e.Remembered, e.RunFinished]
    other = make("other")
    for cut in (n for n in range(2, len(events)) if not isinstance(events[n - 1], e.Streamed)):
        other.memory.forget([entry.id for entry in other.memory.entries()])
        other.memory.add([Entry("Japan has 3 inhabitants.", "note"), Entry("Kenya has 4 inhabitants.", "note")])
        # An entry that the log already records as added is not added again, even if it was forgotten since.
        left = 2 + (len(first.added) if cut < len(events) - 1 else 0)
        for _ in range(2 if cut % 2 else 1):
            whole = drive(other, question, events[:cut])
            view = fold(whole)
            assert one(whole, e.Recalled) == one(events, e.Recalled)
            assert (view.answer, view.outcome) == (plain.answer, plain.outcome)
            assert [event.seq for event in whole] == list(range(len(whole)))
            assert [type(event) for event in whole[-2:]] == [e.Remembered, e.RunFinished]
            assert one(whole, e.Remembered).added == first.added
            assert other.memory.count() == left


def test_a_fork_inherits_the_recalled_findings_and_remembers_its_own(bench: Workbench) -> None:
    ask(bench, QUESTION, remember="findings")
    recipe = bench.recipe(recall=5, remember="findings")
    question = "Does Kenya have more inhabitants than Japan?"
    run = bench.engine.start(question, recipe, here=True)
    events = list(run.events())
    bench.memory.forget([entry.id for entry in bench.memory.entries()])
    for other in (
        recipe,
        bench.recipe(recall=5, remember="findings", context="window"),
        bench.recipe(context="window"),
    ):
        made = list(bench.engine.fork(run.run_id, fold(events).forkable, recipe=other, here=True).events())
        view = fold(made)
        assert one(made, e.Recalled).observation == one(events, e.Recalled).observation
        assert (view.outcome, view.error) == ("answered", "")
        assert "The sources remembered from earlier runs" in view.answer
        assert view.sources[1] == fold(events).sources[1]
        if other.remember == "findings":
            assert one(made, e.Remembered).added
            assert {entry.run for entry in bench.memory.entries()} == {view.run}
            bench.memory.forget([entry.id for entry in bench.memory.entries()])
        else:
            assert view.remembered is None
            assert bench.memory.count() == 0


def test_a_fork_at_the_last_round_does_not_inherit_the_remembered_entries(bench: Workbench) -> None:
    """A run that spent its budget makes no last request, so everything after the round belongs to the origin."""
    run = bench.engine.start(QUESTION, bench.recipe(remember="findings"), here=True)
    events = list(run.events())
    last = max(n for n, event in enumerate(events) if isinstance(event, e.Asked))
    spent = [*events[:last], one(events, e.Remembered), events[-1]]
    row = bench.store.run(run.run_id)
    made = fork_of(row, spent, fold(spent).forkable, row.recipe, row.question)
    assert [type(event) for event in made[last:]] == [e.Resumed]


def test_a_follow_up_recalls_again_and_sources_keep_their_numbers(bench: Workbench) -> None:
    ask(bench, QUESTION, remember="findings")
    recipe = bench.recipe(recall=5)
    first = bench.engine.start(QUESTION, recipe, here=True)
    before = fold(first.events())
    events = list(bench.engine.follow_up(first.run_id, "And Kenya?", here=True).events())
    view = fold(events)
    assert one(events, e.Recalled).query == "And Kenya?"
    assert "55,751,717" in view.answer
    assert view.earlier is not None
    assert view.earlier.private
    assert {n: passages[0].url for n, passages in before.sources.items()}.items() <= {
        n: passages[0].url for n, passages in view.sources.items()
    }.items()
    again = bench.engine.rerun(first.run_id, bench.recipe(recall=2)).run_id
    assert bench.engine.wait(again, LONG_S)
    assert one(bench.store.events(again), e.Recalled).query == QUESTION


# -- what is remembered -------------------------------------------------------------------------------------------------


def test_each_memory_policy_saves_the_entries_that_it_names(make: Make) -> None:
    nothing, some, all_ = (make(policy) for policy in ("off", "findings", "everything"))
    assert ask(nothing, QUESTION, remember="off").remembered is None
    assert not (nothing.settings.home / "memory.sqlite").exists()
    view = ask(some, QUESTION, remember="findings")
    entries = some.memory.entries()
    assert entries
    assert {(entry.kind, entry.run) for entry in entries} == {("finding", view.run)}
    assert all(entry.quote and entry.url.startswith("library://factbook/") for entry in entries)
    assert view.remembered is not None
    assert set(view.remembered.added) == {entry.id for entry in entries}
    view = ask(all_, QUESTION, remember="everything")
    kinds = [entry.kind for entry in all_.memory.entries(limit=1_000)]
    assert (kinds.count("report"), "passage" in kinds, "finding" in kinds) == (1, True, True)
    with pytest.raises(ConfigError, match=r"memory policy 'all'.*findings"):
        ask(nothing, QUESTION, remember="all")
    with pytest.raises(ConfigError, match=f"0 to {RECALL_MOST}"):
        ask(nothing, QUESTION, recall=RECALL_MOST + 1)


def test_an_unsupported_claim_is_not_remembered(make: Make) -> None:
    with FakeOpenAI(Player("native", laps=1)) as server:
        bench = make(openai_base_url=server.base_url)
        bench.memory.add([Entry("Japan had 7 people.", "note")])
        # The player cites [1], which is a note with another statement.
        view = ask(bench, QUESTION, model="openai:fake", recall=5, remember="findings")
    assert view.sources[1][0].url.startswith(MEMORY)
    assert {each.status for each in view.citations} == {"unverified"}
    assert view.remembered is not None
    assert (view.remembered.added, bench.memory.count()) == ((), 1)


def test_a_run_does_not_remember_again_what_it_only_recalled(bench: Workbench) -> None:
    """The same question is asked repeatedly, also by a model that rewords its answers."""
    url = "https://long.example/"
    long = "How many people live in Japan? " + "Many, and more than that. " * 100
    bench.memory.add([Entry(long, "passage", url=url, title="Japan", quote=long, provenance="page", pinned=True)])
    counts = []
    for _ in range(4):
        view = ask(bench, QUESTION, recall=5, remember="everything")
        assert view.outcome == "answered"
        counts.append(bench.memory.count())
    assert counts[1:] == [counts[1]] * 3
    assert counts[1] - counts[0] <= 1, "expected at most one new entry: the report, which mentions the memory"
    assert [entry.text for entry in bench.memory.entries(limit=1_000) if entry.url == url] == [long.strip()]
    said = {entry.text for entry in bench.memory.entries(limit=1_000)}

    class Rewords:
        """A model that states a recalled finding in new words."""

        native, name = False, "rewords"

        def stream(self, request: Request) -> Iterator[Delta | Completion]:
            found = re.search(r"\[(\d+)\] Japan · .*\n<.*>\n> Population, total: 123", request.messages[1].content)
            assert found is not None
            yield Completion(f"<answer>The population of Japan is 123,201,945 [{found[1]}].</answer>")

    recipe = bench.recipe(recall=5, remember="findings")
    shared = bench.context_for(recipe, Journal(), threading.Event())
    shared.models = lambda name: Rewords()
    made: list[Event] = []
    for event in execute(Run(QUESTION, recipe, shared), "again", lambda: made):
        made.append(event)
    assert {each.status for each in fold(made).citations} == {"supported"}
    assert one(made, e.Remembered) == made[-2]
    assert {entry.text for entry in bench.memory.entries(limit=1_000)} == said


def test_a_stopped_or_failed_run_remembers_nothing(make: Make) -> None:
    bench = make()
    events = bench.engine.start(QUESTION, bench.recipe(remember="everything"), here=True)
    for event in events.events():
        if isinstance(event, e.ToolFinished):
            bench.engine.stop(event.run)
            bench.engine.stop(event.run)
    assert bench.store.run(events.run_id).status == "stopped"
    with FakeOpenAI([FakeReply(status=401, body={"error": {"message": "no"}})]) as server:
        gone = make(openai_base_url=server.base_url)
        view = ask(gone, QUESTION, model="openai:fake", remember="everything")
    assert view.status == "failed"
    assert not (bench.settings.home / "memory.sqlite").exists()


def test_two_homes_in_one_process_do_not_share_their_memories(make: Make) -> None:
    anna, bert = make("anna"), make("bert")
    anna.memory.add([Entry("Anna's door code for Japan is 4711.", "note")])
    ask(anna, QUESTION, remember="everything")
    for more in ({"recall": 20}, {"tools": (*TOOLS, "recall")}):
        events = list(research.stream(QUESTION, workbench=bert, **more))
        log = b"\n".join(map(e.encode, events)).decode()
        assert "4711" not in log
        assert events[0].run not in {entry.run for entry in anna.memory.entries(limit=1_000)}
        assert "Nothing is remembered" in log
        assert "4711" in b"\n".join(map(e.encode, research.stream(QUESTION, workbench=anna, **more))).decode()
    assert bert.memory.count() == 0
    assert isinstance(bert.memory, Memory)


def test_an_entry_that_misquotes_the_library_is_not_recalled(make: Make) -> None:
    bench = make("forged", embedder="universal")
    url = "library://factbook/france/people-and-society"
    true = next(line for line in bench.library.open(url).text.splitlines() if line.startswith("Population"))
    forged = "Population, total: 3 (2025 est.)"
    page = "https://example.org/france"
    for quote, source in ((forged, url), (forged, page), (true, url), (true, "library://factbook/gone/economy")):
        bench.memory.add([Entry(quote, "finding", provenance="page", url=source, title="France", quote=quote)])
    view = ask(bench, "What is the population of France?", recall=5)
    assert view.recalled is not None
    assert {(source.url, source.quote) for source in view.recalled.sources} == {(url, true), (page, forged)}
    assert "2 left out" in view.recalled.text
    tool = list(bench._tools(bench.recipe(tools=("recall",)), threading.Event()))
    output = tool[0](query="population of France")
    assert {passage.url for passage in output.passages} == {url, page}
