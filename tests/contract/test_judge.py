"""The judge of citations in a run: on by default for language models, cached, recorded apart, and harmless when it fails."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import research
from research.citations.verifiers import Pair, fused, overrules
from research.config.settings import load
from research.errors import ConfigError
from research.events.recipe import Recipe
from research.events.view import RunView, fold
from research.exports.json import as_dict
from research.types import Citation, Judgement
from research.workbench import doctor, presets, verifiers
from research.workbench.estimate import estimate
from research.workbench.workbench import Workbench
from tests.command import Cli
from tests.fake_openai import Body, FakeOpenAI, FakeReply

QUESTION = "What is the population of France?"


def is_verdict_request(body: Body) -> bool:
    return "Claim 1:" in str(body["messages"][-1]["content"])


def claims_of(body: Body) -> list[str]:
    return re.findall(r"^Claim \d+: (.*)$", str(body["messages"][-1]["content"]), re.M)


class Judge:
    """A model that searches once, writes a given answer, and judges by a function."""

    def __init__(self, answer: str, verdict: Callable[[str], Any]) -> None:
        self.answer, self.verdict = answer, verdict
        self.asked: list[list[str]] = []

    def __call__(self, body: Body) -> FakeReply:
        if is_verdict_request(body):
            claims = claims_of(body)
            self.asked.append(claims)
            found = [self.verdict(claim) for claim in claims]
            if any(isinstance(each, FakeReply) for each in found):
                return next(each for each in found if isinstance(each, FakeReply))
            entries = [{"claim": n, "verdict": v, "reason": "r", "quote": ""} for n, v in enumerate(found, 1)]
            return FakeReply(json.dumps({"verdicts": entries}))
        if any(message["role"] == "tool" for message in body["messages"]):
            return FakeReply(self.answer)
        return FakeReply("", [("search", {"query": "France population total"})])


@pytest.fixture
def ask(home: Path) -> Iterator[Callable[..., RunView]]:
    """Run a question with a served model; runs of one test share a workbench, so that they share its verdicts."""
    opened: list[tuple[FakeOpenAI, Workbench]] = []

    def run(model: Judge, **recipe: Any) -> RunView:
        if not opened:
            server = FakeOpenAI(lambda body: opened_model[0](body))
            server.__enter__()
            opened.append((server, Workbench(load(home=home, openai_base_url=server.base_url, judge="auto"))))
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


def test_a_judge_that_denies_what_the_rules_pass_takes_the_tick_away(
    ask: Callable[..., RunView], found: tuple[int, str]
) -> None:
    n, figure = found
    (citation,) = ask(Judge(f"France has a total population of {figure} [{n}].", lambda claim: "unsupported")).citations
    assert citation.status == "unverified"
    assert [each.status for each in citation.judgements] == ["supported", "unsupported"]
    assert "disagree" in citation.reason


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


@pytest.mark.parametrize(
    "failure",
    [
        FakeReply("I would rather not say."),
        FakeReply('{"verdicts": [{"claim": 1, "verdict": "definitely"}]}'),
        FakeReply('{"verdicts": [{"claim": 2, "verdict": "supported"}]}'),
        FakeReply(status=400, body={"error": {"message": "no", "type": "invalid_request_error"}}),
    ],
)
def test_a_judge_that_fails_ticks_nothing_and_a_note_says_so(
    ask: Callable[..., RunView], found: tuple[int, str], failure: FakeReply
) -> None:
    n, figure = found
    answer = f"Inhabitants, who number {figure}, enjoy good bread [{n}]."
    plain = ask(Judge(answer, lambda claim: "supported"), judge="off")
    view = ask(Judge(answer, lambda claim: failure))
    assert (view.status, view.outcome) == ("completed", plain.outcome)
    assert view.citations == plain.citations
    assert any("did not judge 1 of 1" in note for current in view.rounds for note in current.notes)


def test_an_unreachable_judge_lets_the_run_finish(ask: Callable[..., RunView], found: tuple[int, str]) -> None:
    busy = FakeReply(status=429, headers={"Retry-After": "0"}, body={"error": {"message": "slow down"}})
    assert ask(Judge(f"It is a fact [{found[0]}].", lambda claim: busy)).status == "completed"


def test_a_users_pause_during_judging_pauses_the_run(home: Path, found: tuple[int, str]) -> None:
    def verdict(claim: str) -> str:
        bench.engine.pause(handle.run_id)
        return "supported"

    answer = " ".join(f"Statement {each} is a fact [{found[0]}]." for each in range(20))
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
            if len(judge.asked) == 2 and type(event).__name__ == "Replied":
                break
        events.close()  # type: ignore[attr-defined]
        asked = len(judge.asked)
        other = Workbench(load(home=home, openai_base_url=server.base_url, judge="auto"))
        handle = other.engine.resume(kept[0].run, here=True)
        view = fold([*kept, *handle.events()])
    assert len(judge.asked) == asked
    assert {each.status for each in view.citations} == {"supported"}


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


def test_a_perfect_judge_decides_every_claim_and_each_disagreement_is_recorded(home: Path, tmp_path: Path) -> None:
    """Measured first, as nobody's verdict replaces that of the rules without; then it overrules them."""
    truth = {f"Person {n} was born in {1900 + n}.": bool(n % 2) for n in range(60)}

    def reply(body: Body) -> FakeReply:
        entries = [
            {"claim": n, "verdict": "supported" if truth[claim] else "unsupported", "reason": "", "quote": ""}
            for n, claim in enumerate(claims_of(body), 1)
        ]
        return FakeReply(json.dumps({"verdicts": entries}))

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
        measured = verifiers.measure(bench, "openai:fake", [file])
    assert (measured.supported.share, measured.flagged.share, measured.coverage) == (1.0, 1.0, 1.0)
    thresholds = bench.judges.thresholds("model:openai:fake")
    assert thresholds.overrule == 0.0
    by_rules = verifiers.open_verifier(bench, "rules").verify([Pair(c, (f"T\n{passages[c]}",)) for c in truth])
    for (claim, true), ruled in zip(truth.items(), by_rules, strict=True):
        said = Judgement("model:openai:fake", "supported" if true else "unsupported")
        after = fused(Citation(1, claim, ruled.status, by="rules"), said, overrule=overrules(said, thresholds))
        assert (after.status in ("supported", "calculated")) == true
        assert after.status != "unverified"
        assert [each.status for each in after.judgements] == [ruled.status, said.status]
    planted = Citation(1, "A", "supported", by="rules")  # the rules' own leaks are measured elsewhere
    said = Judgement("model:openai:fake", "unsupported")
    after = fused(planted, said, overrule=overrules(said, thresholds))
    assert (after.status, [each.status for each in after.judgements]) == ("unsupported", ["supported", "unsupported"])


def test_claims_files_of_every_form_are_read(tmp_path: Path) -> None:
    file = tmp_path / "claims.jsonl"
    rows = [
        {"claim": "a", "sources": [{"title": "T", "text": "x"}, {"text": "y"}], "verdict": "supported"},
        {"claim": "b", "text": "x", "true": False},
        {"claim": "c", "text": ["x", "y"], "label": "partially_supported"},
    ]
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    found = verifiers.samples([file])
    assert [each.true for each in found] == [True, False, False]
    assert found[0].pair.passages == ("T\nx", "\ny")
    file.write_text('{"claim": "d", "text": "x", "verdict": "perhaps"}', "utf-8")
    with pytest.raises(ConfigError, match="line 1: verdict 'perhaps'"):
        verifiers.samples([file])


def test_a_calibration_is_saved_and_doctor_shows_it(cli: Cli, home: Path, tmp_path: Path) -> None:
    file = tmp_path / "claims.jsonl"
    rows = [{"claim": f"Spain has {n} islands.", "text": f"Spain has {n} islands.", "true": True} for n in range(3)]
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    done = cli("verifiers", "calibrate", "rules", "--claims", str(file), "--json")
    assert done.json["claims"] == 3
    assert cli("verifiers", "list").out.startswith("rules: right in ")
    checks = {check.name: check for check in doctor.judges(Workbench(load(home=home)))}
    assert "of 3 claims" in checks["judge rules"].text
    assert checks["judge"].state == "off"
