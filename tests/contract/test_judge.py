"""The judge of citations in a run: on by default for language models, cached, recorded apart, and harmless when it fails."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import research
from research import plugins
from research.citations.verification import Pair, fused, overrules
from research.config.settings import load
from research.errors import ConfigError, ProviderError
from research.events.events import Asked, Replied, ReportUpdated
from research.events.recipe import Recipe
from research.events.view import RunView, fold
from research.exports.json import as_dict
from research.store import RunRow
from research.types import Citation, Completion, Judgement, Message, Reply, Request, Usage
from research.workbench import diagnostics, presets, verifier_registry
from research.workbench.estimate import estimate
from research.workbench.workbench import Workbench
from tests.command import Cli
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.registrations import registering
from tests.workers import LONG_S

QUESTION = "What is the population of France?"


def is_verdict_request(body: Body) -> bool:
    return bool(claims_of(body))


def claims_of(body: Body) -> list[str]:
    return re.findall(r"^(?:Claim \d+: |陈述 \d+：)(.*)$", str(body["messages"][-1]["content"]), re.M)


def shown(body: Body) -> list[str]:
    """Return the last line of the source that the judge sees of each claim."""
    text = str(body["messages"][-1]["content"])
    lines = dict(line.split(" ", 1) for line in text.split("=====")[2].splitlines() if line)
    return [lines[last] for last in re.findall(r"^(?:Lines of claim \d+: |陈述 \d+ 的行：).*?(\d+)$", text, re.M)]


Verdict = str | tuple[str, str] | FakeReply
"""A verdict with its quote, a verdict that quotes the source, or another reply than verdicts."""


def verdicts(entries: Iterable[tuple[str, str]]) -> FakeReply:
    """Return a reply with verdicts and their quotes."""
    found = [{"claim": n, "verdict": v, "reason": "r", "quote": quote} for n, (v, quote) in enumerate(entries, 1)]
    return FakeReply(json.dumps({"verdicts": found}))


class Judge:
    """A model that searches once, writes a given answer, and judges by a function."""

    def __init__(
        self, answer: str, verdict: Callable[[str], Verdict], query: str = "France population total railways"
    ) -> None:
        self.answer, self.verdict, self.query = answer, verdict, query
        self.asked: list[list[str]] = []

    def __call__(self, body: Body) -> FakeReply:
        if is_verdict_request(body):
            claims = claims_of(body)
            self.asked.append(claims)
            found = [self.verdict(claim) for claim in claims]
            if any(isinstance(each, FakeReply) for each in found):
                return next(each for each in found if isinstance(each, FakeReply))
            return verdicts(
                (each, quote) if isinstance(each, str) else each  # type: ignore[misc]
                for each, quote in zip(found, shown(body), strict=True)
            )
        if any(message["role"] == "tool" for message in body["messages"]):
            return FakeReply(self.answer)
        return FakeReply("", [("search", {"query": self.query})])


@pytest.fixture
def ask(home: Path) -> Iterator[Callable[..., RunView]]:
    """Run a question with a served model; runs of one test share a workbench, so that they share its verdicts."""
    opened: list[tuple[FakeOpenAI, Workbench]] = []

    def run(model: Judge, **recipe: Any) -> RunView:
        if not opened:
            server = FakeOpenAI(lambda body: opened_model[0](body))
            server.__enter__()
            opened.append((server, Workbench(load(home=home, openai_base_url=server.base_url, judge="all"))))
        opened_model[:] = [model]
        return research.run(
            QUESTION, workbench=opened[0][1], **{"model": "openai:fake", "tools": ("search",), **recipe}
        )

    opened_model: list[Judge] = []
    yield run
    for server, _ in opened:
        server.__exit__(None, None, None)


def france(view: RunView) -> tuple[int, str]:
    """Return the source number and the figure of the page with the population of France."""
    for n, seen in view.sources.items():
        for source in seen:
            if "france" in source.url and "total: " in source.quote:
                return n, source.quote.partition("total: ")[2].split()[0]
    raise AssertionError("the search did not find France")


@pytest.fixture
def found(ask: Callable[..., RunView]) -> tuple[int, str]:
    return france(ask(Judge("Nothing [1].", lambda claim: "unsupported")))


def test_a_language_model_judges_every_claim_and_who_said_what_is_recorded(
    ask: Callable[..., RunView], found: tuple[int, str]
) -> None:
    n, figure = found
    good, odd = f"France has a total population of {figure}", "Its people enjoy good bread"
    judge = Judge(f"{good} [{n}]. {odd} [{n}]. It is said [99].", lambda claim: "supported")
    view = ask(judge)
    assert judge.asked == [[f"{good}.", f"{odd}."]], "the judge sees what the rules pass, and no dead number"
    first, second, dead = view.citations
    assert [(first.status, second.status, dead.status)] == [("supported", "supported", "dead")]
    assert second.by == "model:openai:fake"
    assert [each.by for each in second.judgements] == ["rules", "model:openai:fake"]
    assert second.judgements[0].status != "supported"
    shown = as_dict(view)["citations"][1]
    assert (shown["by"], shown["judgements"][1]["status"]) == ("model:openai:fake", "supported")


def test_by_default_the_judge_is_asked_only_what_the_rules_leave_open(
    ask: Callable[..., RunView], found: tuple[int, str]
) -> None:
    n, figure = found
    good, bad, odd = (
        f"France has a total population of {figure}",
        "France has a total population of 71 million",
        "Its people enjoy good bread",
    )
    judge = Judge(f"{good} [{n}]. {bad} [{n}]. {odd} [{n}]. It is said [99].", lambda claim: "partial")
    view = ask(judge, judge="uncertain")
    assert judge.asked == [[f"{odd}."]]
    assert [each.status for each in view.citations] == ["supported", "contradicted", "partial", "dead"]
    assert [len(each.judgements) for each in view.citations] == [0, 0, 2, 0]


def test_the_report_stands_with_the_verdicts_of_the_rules_before_the_judge_is_asked(
    home: Path, ask: Callable[..., RunView], found: tuple[int, str]
) -> None:
    n, figure = found
    answer = f"France has a total population of {figure} [{n}]. Its people enjoy good bread [{n}]."
    view = ask(Judge(answer, lambda claim: "partial"), judge="uncertain")
    events = Workbench(load(home=home)).store.events(view.run)
    first = next(at for at, event in enumerate(events) if isinstance(event, Asked) and event.purpose == "verify")
    before = fold(events[:first])
    assert before.running
    assert before.report == view.report
    assert [each.status for each in before.citations] == ["supported", "unverified"]
    assert [each.status for each in view.citations] == ["supported", "partial"]
    assert view.agents == ["main"]
    assert view.round_count() == before.round_count()
    assert not view.reports


def test_a_judge_that_denies_what_the_rules_pass_takes_the_tick_away(
    ask: Callable[..., RunView], found: tuple[int, str]
) -> None:
    n, figure = found
    (citation,) = ask(Judge(f"France has a total population of {figure} [{n}].", lambda claim: "unsupported")).citations
    assert (citation.status, citation.by) == ("unsupported", "model:openai:fake")
    assert citation.reason == "judged by openai:fake: no; because r"
    assert [each.status for each in citation.judgements] == ["supported", "unsupported"]


def test_thirty_claims_take_three_requests_and_a_second_run_takes_none(
    ask: Callable[..., RunView], found: tuple[int, str]
) -> None:
    answer = " ".join(f"Statement {each} is a fact [{found[0]}]." for each in range(30))
    judge = Judge(answer, lambda claim: "supported")
    first, asked = ask(judge), len(judge.asked)
    assert asked >= 3
    assert sorted(sum(judge.asked, [])) == sorted(f"Statement {each} is a fact." for each in range(30))
    second = ask(judge)
    assert len(judge.asked) == asked
    assert second.citations == first.citations


@pytest.mark.parametrize("recipe", [{"judge": "off"}, {"judge": "off", "roles": {"judge": "openai:fake"}}])
def test_one_switch_turns_the_judge_off(
    ask: Callable[..., RunView], found: tuple[int, str], recipe: dict[str, Any]
) -> None:
    judge = Judge(f"It is a fact [{found[0]}].", lambda claim: "supported")
    view = ask(judge, **recipe)
    assert judge.asked == []
    assert view.citations[0].status != "supported"


NET = "Internet users, percent of population: 87%"
ALL = "Population, total: 68,512,806"
RAIL = "Railways, total: 27,860 km (2020) 16,660 km electrified"
CLAIMS: dict[str, tuple[str, str]] = {
    "France has a total population of 68,512,806 [{p}].": ("supported", ALL),
    "Roughly 68.5 million people call France their home [{p}].": ("supported", ALL),
    "87 out of every hundred people in France are online [{c}].": ("supported", NET),
    "Most of France's rail network runs on electric power [{t}].": ("supported", RAIL),
    "France has 68,512,806 people, and 87% of them are online [{p}][{c}].": ("supported", f"{ALL} … {NET}"),
    "France has 61 million inhabitants [{p}].": ("contradicted", ALL),
    "France has 16,660 km of railways [{t}].": ("contradicted", RAIL),
    "The electrified railways of France total 27,860 km [{t}].": ("contradicted", RAIL),
    "Fewer than half of the French use the internet [{c}].": ("contradicted", NET),
    "The French are fond of bread [{p}].": ("unsupported", ""),
    "France plans to sell its railways [{t}].": ("unsupported", ""),
    "France's population has grown to 68,512,806 [{p}].": ("partial", ALL),
    "The population of France is 68,512,806 [{p}].": ("partial", ALL),
    "法国总人口为68,512,806人[{p}]。": ("supported", ALL),
    "法国每一百人中就有八十七人上网[{c}]。": ("supported", NET),
    "法国人口为7100万[{p}]。": ("contradicted", ALL),
    "法国电气化铁路长27,860公里[{t}]。": ("contradicted", RAIL),
    "法国人爱吃面包[{p}]。": ("unsupported", ""),
}
"""Claims about France with what a perfect judge says of them."""


def pages(view: RunView) -> dict[str, int]:
    """Return the numbers of the pages of France that `CLAIMS` cite."""
    paths = {"people-and-society": "p", "communications": "c", "transportation": "t"}
    numbers = {seen[0].url.removeprefix("library://factbook/france/"): n for n, seen in view.sources.items()}
    return {short: numbers[path] for path, short in paths.items()}


@pytest.fixture
def report(ask: Callable[..., RunView]) -> str:
    """A report of all claims; another run found the numbers of the pages."""
    return "\n\n".join(CLAIMS).format(**pages(ask(Judge("Nothing [1].", lambda claim: "unsupported"))))


def bare(claim: str) -> str:
    return re.sub(r" ?\[\{?\w+\}?\]", "", claim)


def test_a_perfect_judge_decides_every_claim_against_the_rules_too(ask: Callable[..., RunView], report: str) -> None:
    truth = {bare(claim): said for claim, said in CLAIMS.items()}
    view = ask(Judge(report, truth.__getitem__))
    rules = {each.claim: each for each in ask(Judge(report, truth.__getitem__), judge="off").citations}
    assert {each.claim: each.status for each in view.citations} == {claim: said for claim, (said, _) in truth.items()}
    for each in view.citations:
        assert [(seen.by, seen.status) for seen in each.judgements] == [
            ("rules", rules[each.claim].status),
            ("model:openai:fake", truth[each.claim][0]),
        ]
    assert any(rules[claim].status == "supported" and said != "supported" for claim, (said, _) in truth.items())
    assert not any("The judge" in note for current in view.rounds for note in current.notes)


def test_a_judge_ticks_no_figure_that_the_rules_cross_and_its_quote_lacks(
    ask: Callable[..., RunView], found: tuple[int, str]
) -> None:
    claim = "France has a total population of 71 million"
    p = pages(ask(Judge("Nothing [1].", lambda claim: "unsupported")))["p"]
    (ruled,) = ask(Judge(f"{claim} [{p}].", lambda claim: "partial"), judge="off").citations
    assert ruled.status == "contradicted"
    (citation,) = ask(Judge(f"{claim} [{p}].", lambda claim: ("supported", ALL))).citations
    assert (citation.n, citation.status, len(citation.judgements)) == (p, "unverified", 2)
    assert "disagree" in citation.reason


def numbered(*numbers: Any) -> FakeReply:
    entries = [{"claim": number, "verdict": "supported", "reason": "r", "quote": ALL} for number in numbers]
    return FakeReply(json.dumps({"verdicts": entries}))


FAILURES: dict[str, tuple[Verdict, str]] = {
    "prose": (FakeReply("I would rather not say."), "no usable reply"),
    "nothing": (FakeReply(""), "no usable reply"),
    "empty JSON": (FakeReply("{}"), "no usable reply"),
    "no verdicts": (FakeReply('{"verdicts": []}'), "no usable reply"),
    "cut JSON": (FakeReply('{"verdicts": [{"claim": 1, "verdict": "supp'), "no usable reply"),
    "another verdict": (FakeReply('{"verdicts": [{"claim": 1, "verdict": "definitely"}]}'), "no usable reply"),
    "tool call": (FakeReply("", [("search", {"query": "x"})]), "no usable reply"),
    "refused": (FakeReply(status=400, body={"error": {"message": "no", "type": "invalid_request_error"}}), "no"),
    "broken off": (FakeReply(error_inside={"message": "out of memory"}), "out of memory"),
    "counts from zero": (numbered(0), "no usable reply"),
    "another claim": (numbered(4), "no usable reply"),
    "number in words": (numbered("one"), "no usable reply"),
    "same claim twice": (numbered(1, 1), "no usable reply"),
    "invented quote": (("supported", "Inhabitants enjoy good bread"), "does not contain its quote"),
    "no quote": (("supported", ""), "quotes no words"),
    "one word": (("supported", "population"), "quotes no words"),
    "omission": (("supported", "… …"), "does not contain its quote"),
}


@pytest.mark.examples(6)
@pytest.mark.parametrize("failure", FAILURES)
def test_a_judge_that_fails_ticks_nothing_and_a_note_says_so(
    ask: Callable[..., RunView], found: tuple[int, str], failure: str
) -> None:
    n, figure = found
    said, why = FAILURES[failure]
    answer = (
        f"France has a total population of {figure} [{n}]. Inhabitants, who number {figure}, enjoy good bread [{n}]. "
        f"France has a total population of 71 million [{n}]."
    )
    plain = ask(Judge(answer, lambda claim: "supported"), judge="off")
    assert [each.status for each in plain.citations] == ["supported", "unverified", "contradicted"]
    view = ask(Judge(answer, lambda claim: said))
    assert (view.status, view.outcome) == ("completed", plain.outcome)
    assert [each.status for each in view.citations] == [each.status for each in plain.citations]
    (note,) = (note for current in view.rounds for note in current.notes if "The judge" in note)
    assert note.startswith("The judge model:openai:fake ")
    assert why in note


@pytest.mark.parametrize("error", [TimeoutError("timed out"), RuntimeError("broken"), ProviderError("timed out")])
def test_a_judge_that_raises_changes_nothing_and_a_note_says_so(
    ask: Callable[..., RunView], found: tuple[int, str], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Raising:
        name, native = "raising:x", True

        def stream(self, request: Request) -> Iterator[Completion]:
            raise error

    def raising(name: str, host: object) -> Raising:
        return Raising()

    n, figure = found
    answer = f"France has a total population of {figure} [{n}]. Its people enjoy good bread [{n}]."
    with registering():
        plugins.provider("Raising")(raising)
        view = ask(Judge(answer, lambda claim: "supported"), roles={"judge": "raising:x"})
    assert view.status == "completed"
    assert [(each.status, each.judgements) for each in view.citations] == [("supported", ()), ("unverified", ())]
    (note,) = (note for current in view.rounds for note in current.notes if "The judge" in note)
    assert note.startswith("The judge model:raising:x did not judge 2 of 2 statements: ")
    assert str(error) in note


def test_an_unreachable_judge_lets_the_run_finish(ask: Callable[..., RunView], found: tuple[int, str]) -> None:
    busy = FakeReply(status=429, headers={"Retry-After": "0"}, body={"error": {"message": "slow down"}})
    assert ask(Judge(f"It is a fact [{found[0]}].", lambda claim: busy)).status == "completed"


def test_batches_are_read_at_the_same_time(ask: Callable[..., RunView], found: tuple[int, str]) -> None:
    together = threading.Barrier(3, timeout=LONG_S)

    def verdict(claim: str) -> str:
        if claim in ("Statement 0 is a fact.", "Statement 12 is a fact.", "Statement 24 is a fact."):
            together.wait()  # the first of each batch waits until the others have been asked, too
        return "supported"

    answer = " ".join(f"Statement {each} is a fact [{found[0]}]." for each in range(36))
    view = ask(Judge(answer, verdict))
    assert {each.status for each in view.citations} == {"supported"}


def test_a_users_pause_during_judging_pauses_the_run(home: Path, found: tuple[int, str]) -> None:
    def verdict(claim: str) -> str:
        bench.engine.pause(handle.run_id)
        return "supported"

    answer = " ".join(f"Statement {each} is a fact [{found[0]}]." for each in range(100))  # more than are read at once
    with FakeOpenAI(Judge(answer, verdict)) as server:
        bench = Workbench(load(home=home, openai_base_url=server.base_url, judge="auto"))
        handle = bench.engine.start(QUESTION, bench.recipe(model="openai:fake", tools=("search",)), here=True)
        assert fold(handle.events()).status == "paused"


def test_a_resumed_run_asks_the_judge_nothing_twice(
    home: Path, ask: Callable[..., RunView], found: tuple[int, str]
) -> None:
    """The run is interrupted after the verdicts; another process, without the cache, ends it."""
    answer = " ".join(f"Statement {each} is a fact [{found[0]}]." for each in range(20))
    judge = Judge(answer, lambda claim: "supported")
    with FakeOpenAI(judge) as server:
        bench = Workbench(load(home=home, openai_base_url=server.base_url, judge="auto"))
        events = research.stream(QUESTION, workbench=bench, model="openai:fake", tools=("search",))
        kept = []
        for event in events:
            kept.append(event)
            if sum(isinstance(each, Replied) and each.purpose == "verify" for each in kept) == 2:
                break
        events.close()  # type: ignore[attr-defined]
        asked = len(judge.asked)
        other = Workbench(load(home=home, openai_base_url=server.base_url, judge="auto"))
        handle = other.engine.resume(kept[0].run, here=True)
        view = fold([*kept, *handle.events()])
    assert len(judge.asked) == asked
    assert {each.status for each in view.citations} == {"supported"}


def test_a_run_of_an_earlier_version_goes_on_with_the_verdicts_that_it_has(
    home: Path, found: tuple[int, str], script: Callable[..., str]
) -> None:
    """It was interrupted after one request of the main agent to the judge, which showed the sources with each claim."""
    claims = [f"Statement {each} is a fact." for each in range(20)]
    judge = Judge(" ".join(f"{each[:-1]} [{found[0]}]." for each in claims), lambda claim: "supported")
    with FakeOpenAI(judge) as server:
        bench = Workbench(load(home=home, openai_base_url=server.base_url, judge="all"))
        view = research.run(QUESTION, workbench=bench, model="openai:fake", tools=("search",))
        events = bench.store.events(view.run)
        kept = events[: next(at for at, event in enumerate(events) if isinstance(event, ReportUpdated))]
        last = kept[-1]
        page = "\n\n".join(
            f"Claim {n}: {claim}\nSource of claim {n}:\n=====a=====\nF\n{ALL}\n=====a====="
            for n, claim in enumerate(claims[:12], 1)
        )
        ask = max(event.ask for event in kept if isinstance(event, Replied)) + 1
        old = [
            Asked(ask=ask, round=3, purpose="verify", model="openai:fake", messages=(Message("user", page),)),
            Replied(
                ask=ask,
                purpose="verify",
                reply=Reply(answer=verdicts([("unsupported", "")] * 12).text),
                usage=Usage(),
                seconds=1.0,
            ),
        ]
        old = [replace(event, run="old", seq=last.seq + n, time=last.time) for n, event in enumerate(old, 1)]
        bench.store.create(RunRow("old", QUESTION, view.recipe))
        bench.store.append([*(replace(event, run="old") for event in kept), *old])
        judge.asked.clear()
        other = Workbench(load(home=home, openai_base_url=server.base_url, judge="all"))
        resumed = fold([*other.store.events("old"), *other.engine.resume("old", here=True).events()])
    assert judge.asked == [claims[12:]]
    assert [each.status for each in resumed.citations] == ["unsupported"] * 12 + ["supported"] * 8


def test_the_offline_model_and_scripts_have_no_judge_and_keep_their_recipes_hash(
    home: Path, script: Callable[..., str]
) -> None:
    bench = Workbench(load(home=home, judge="auto", openai_base_url="http://127.0.0.1:9/v1"))
    offline = bench.recipe(model="extractive")
    assert (offline.judge, offline.judged_by) == ("", "")
    assert "judge" not in offline.fields
    assert bench.recipe(model=script("x")).judged_by == ""
    assert bench.recipe(model="openai:fake").judged_by == "model:openai:fake"
    assert bench.recipe(model="extractive", roles={"judge": "openai:fake"}).judged_by == "model:openai:fake"
    assert bench.recipe(model="extractive", judge="model:openai:x").judged_by == "model:openai:x"
    named = bench.recipe(model="extractive", judge="cross-encoder:here")
    assert named.judged_by == "cross-encoder:here"
    assert named.hash != offline.hash
    with pytest.raises(ConfigError, match="unknown judge 'poet'"):
        bench.recipe(judge="poet")


def test_the_judge_reads_what_is_open_or_everything_and_old_names_keep_their_meaning(home: Path) -> None:
    def said(setting: str, **chosen: Any) -> tuple[str, bool, str]:
        bench = Workbench(load(home=home, judge=setting, openai_base_url="http://127.0.0.1:9/v1"))
        recipe = bench.recipe(model="openai:fake", **chosen)
        assert bench.recipe(**presets.of(recipe).arguments()).judge == recipe.judge
        return recipe.judge, recipe.judges_open, recipe.judged_by

    own, other = "model:openai:fake", "model:openai:x"
    for usual in ("uncertain", "auto"):
        assert said(usual) == ("uncertain", True, own)
        assert said(usual, judge="all") == ("model", False, own)
    assert said("all") == ("model", False, own)
    for chosen in ("auto", "uncertain"):
        assert said("off", judge=chosen) == ("uncertain", True, own)
    assert said("off") == ("off", False, "")
    assert said("uncertain", roles={"judge": "openai:x"}) == ("uncertain", True, other)
    assert said("uncertain", judge=other) == ("uncertain", True, other)
    assert said("uncertain", judge="model") == ("model", False, own)
    assert said("uncertain", judge="cross-encoder:x") == ("cross-encoder:x", False, "cross-encoder:x")
    assert said("all", judge="uncertain:cross-encoder:x") == ("uncertain:cross-encoder:x", True, "cross-encoder:x")
    assert Recipe(judge="model", model="openai:x").judges_open is False


def test_a_recipe_of_an_earlier_version_has_no_judge() -> None:
    assert Recipe(model="openai:x").judged_by == ""
    assert Recipe(model="openai:x", roles={"judge": "openai:y"}).judged_by == "model:openai:y"


def test_a_run_repeated_from_its_choices_keeps_its_judge(home: Path) -> None:
    bench = Workbench(load(home=home, judge="auto", openai_base_url="http://127.0.0.1:9/v1"))
    for judge in ("off", "cross-encoder:here"):
        recipe = bench.recipe(model="openai:fake", judge=judge)
        assert bench.recipe(**presets.of(recipe).arguments()) == recipe


def test_the_estimate_contains_the_judge(home: Path) -> None:
    bench = Workbench(load(home=home, judge="auto", openai_base_url="http://127.0.0.1:9/v1"))
    plain, judged = (
        estimate(bench.recipe(model="openai:fake", judge=judge), QUESTION, models=bench.model)
        for judge in ("off", "auto")
    )
    assert judged.calls.high == plain.calls.high + 4
    assert judged.tokens.high > plain.tokens.high
    assert judged.calls.low == plain.calls.low


def test_a_judge_that_was_measured_as_perfect_decides_every_claim(home: Path, tmp_path: Path) -> None:
    truth = {f"Person {n} was born in {1900 + n}.": bool(n % 2) for n in range(60)}

    def reply(body: Body) -> FakeReply:
        return verdicts(
            ("supported" if truth[claim] else "unsupported", quote)
            for claim, quote in zip(claims_of(body), shown(body), strict=True)
        )

    passages = {claim: claim.replace("19", "19" if true else "18") for claim, true in truth.items()}
    file = tmp_path / "claims.jsonl"
    rows = [
        {"id": claim, "claim": claim, "sources": [{"title": "T", "text": passages[claim]}],
         "verdict": "supported" if true else "contradicted"}
        for claim, true in truth.items()
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    with FakeOpenAI(reply) as server:
        bench = Workbench(load(home=home, openai_base_url=server.base_url, judge="auto"))
        measured = verifier_registry.measure(bench, "openai:fake", [file])
    assert (measured.supported.share, measured.flagged.share, measured.coverage) == (1.0, 1.0, 1.0)
    thresholds = bench.judges.thresholds("model:openai:fake")
    assert (thresholds.overrule, thresholds.arithmetic) == (0.0, True)
    by_rules = verifier_registry.open_verifier(bench, "rules").verify([Pair(c, (f"T\n{passages[c]}",)) for c in truth])
    for (claim, true), ruled in zip(truth.items(), by_rules, strict=True):
        said = Judgement("model:openai:fake", "supported" if true else "unsupported", quote=passages[claim])
        before = Citation(1, claim, ruled.status, by="rules")
        after = fused(before, said, overrule=overrules(said, thresholds, before))
        assert (after.status in ("supported", "calculated")) == true
        assert after.status != "unverified"
        assert [each.status for each in after.judgements] == [ruled.status, said.status]


def test_claims_files_of_every_form_are_read(tmp_path: Path) -> None:
    file = tmp_path / "claims.jsonl"
    rows = [
        {"claim": "a", "sources": [{"title": "T", "text": "x"}, {"text": "y"}], "verdict": "supported"},
        {"claim": "b", "text": "x\u2028y", "true": False},
        {"claim": "c", "text": ["x", "y"], "label": "partially_supported"},
    ]
    file.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    found = verifier_registry.samples([file])
    assert [each.true for each in found] == [True, False, False]
    assert found[0].pair.passages == ("T\nx", "\ny")
    file.write_text('{"claim": "d", "text": "x", "verdict": "perhaps"}', "utf-8")
    with pytest.raises(ConfigError, match="line 1: verdict 'perhaps'"):
        verifier_registry.samples([file])


def test_a_calibration_is_saved_and_doctor_shows_it(cli: Cli, home: Path, tmp_path: Path) -> None:
    file = tmp_path / "claims.jsonl"
    rows = [{"claim": f"Spain has {n} islands.", "text": f"Spain has {n} islands.", "true": True} for n in range(3)]
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    done = cli("verifiers", "calibrate", "rules", "--claims", str(file), "--json")
    assert done.json["claims"] == 3
    assert cli("verifiers", "list").out.startswith("rules: right in ")
    checks = {check.name: check for check in diagnostics.judges(Workbench(load(home=home)))}
    assert "of 3 claims" in checks["judge rules"].text
    assert checks["judge"].state == "off"
