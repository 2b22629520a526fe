"""A report is checked against its sources: invented URLs, altered figures and unknown source numbers are flagged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import research
from research.events.view import RunView
from research.exports.json import as_dict
from research.exports.markdown import markdown
from research.workbench.workbench import Workbench

Script = Callable[..., str]
SEARCH = {"name": "search", "arguments": {"query": "France population total"}}
LOOK = {"text": f"<think>look</think>\n<tool_call>{json.dumps(SEARCH)}</tool_call>"}
QUESTION = "What is the population of France?"


@pytest.fixture
def answer_with(bench: Workbench, script: Script) -> Callable[..., RunView]:
    def run(answer: str, *more: dict[str, Any], **options: Any) -> RunView:
        lines = [LOOK, {"text": f"<think>done</think>\n<answer>{answer}</answer>"}, *more]
        return research.run(QUESTION, workbench=bench, model=script(*lines), **options)

    return run


def population(view: RunView) -> tuple[int, str]:
    """Return the source number and the figure of the page with the population of France."""
    for n, seen in view.sources.items():
        for source in seen:
            if "france" in source.url and "total: " in source.quote:
                return n, source.quote.partition("total: ")[2].split()[0]
    raise AssertionError("the search did not find France")


def test_a_claim_that_its_source_contains_is_supported_in_every_export(answer_with: Callable[..., RunView]) -> None:
    n, figure = population(answer_with("x [1]"))
    view = answer_with(f"France has a total population of {figure} [{n}].")
    assert [(each.n, each.status) for each in view.citations] == [(n, "supported")]
    assert as_dict(view)["citations"][0]["status"] == "supported"
    assert figure in view.citations[0].quote
    assert "supported" in markdown(view)


def test_false_claims_are_flagged_and_invented_urls_removed_in_every_export(
    answer_with: Callable[..., RunView],
) -> None:
    n, figure = population(answer_with("x [1]"))
    altered = figure.replace(figure[0], str(int(figure[0]) % 9 + 1), 1)
    view = answer_with(
        f"France has a total population of {altered} [{n}].\n\n"
        f"Portugal has a total population of {figure} [{n}].\n\n"
        "The census office counted them in May [77].\n\n"
        "Details: [the census](https://census.invented.example/france) and www.invented.example/again."
    )
    found = {(each.n, each.claim.split()[0]): each.status for each in view.citations}
    assert found == {(n, "France"): "contradicted", (n, "Portugal"): "unverified", (77, "The"): "dead"}
    assert all(each.reason for each in view.citations)
    assert "invented.example" not in view.report + view.answer
    assert len(view.removed) == 2
    assert as_dict(view)["removed"] == list(view.removed)
    exported = markdown(view)
    assert "✗ 1 contradicted" in exported
    assert "⌁ 1 without a source" in exported


def test_a_fact_without_a_citation_is_listed(answer_with: Callable[..., RunView]) -> None:
    n, figure = population(answer_with("x [1]"))
    view = answer_with(
        f"France has {figure} people [{n}]. Its capital Paris hosted the Games of 1924 with 3,089 athletes."
    )
    assert len(view.uncited) == 1
    assert "3,089" in view.uncited[0]
    assert as_dict(view)["uncited"] == list(view.uncited)


def test_a_judge_checks_doubtful_claims_only_if_the_recipe_names_one(
    answer_with: Callable[..., RunView], script: Script, tmp_path: Path
) -> None:
    n, figure = population(answer_with("x [1]"))
    claim = f"Inhabitants of the Republic, who number {figure}, enjoy a mild climate and good bread [{n}]."
    unjudged = answer_with(claim)
    assert unjudged.citations[0].status != "supported"
    verdict = {"verdicts": [{"claim": 1, "verdict": "unsupported", "reason": "bread is not mentioned"}]}
    path = tmp_path / "judge.jsonl"
    path.write_text(json.dumps({"purpose": "verify", "text": json.dumps(verdict)}), encoding="utf-8")
    judged = answer_with(claim, roles={"judge": f"scripted:{path}"})
    assert [each.purpose for each in judged.rounds][-1] == "verify"
    assert judged.citations[0].status == "unsupported"
    assert "bread" in judged.citations[0].reason


def test_a_failing_judge_changes_no_verdict(answer_with: Callable[..., RunView], tmp_path: Path) -> None:
    n, figure = population(answer_with("x [1]"))
    path = tmp_path / "judge.jsonl"
    path.write_text(json.dumps({"purpose": "verify", "text": "I would rather not say."}), encoding="utf-8")
    claim = f"Inhabitants, who number {figure}, enjoy good bread [{n}]."
    plain, judged = answer_with(claim), answer_with(claim, roles={"judge": f"scripted:{path}"})
    assert (judged.status, judged.outcome) == ("completed", plain.outcome)
    assert judged.citations == plain.citations


def test_a_failing_citation_check_fails_the_run_but_keeps_the_report(
    bench: Workbench, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: object) -> None:
        raise RuntimeError("no such layer")

    monkeypatch.setattr("research.agent.lifecycle.check", broken)
    answer = "Frenchmen abound, they number many millions and enjoy good bread [1]."
    view = research.run(QUESTION, workbench=bench, model=script(LOOK, {"text": f"<answer>{answer}</answer>"}))
    assert (view.status, view.outcome) == ("failed", "failed")
    assert "could not be checked" in view.error
    assert answer in view.report


def test_a_figure_that_follows_from_two_sources_is_calculated(bench: Workbench) -> None:
    view = research.run("What is the difference in area between Spain and Portugal?", workbench=bench)
    assert {each.status for each in view.citations} == {"supported", "calculated"}
    reasons = {each.reason for each in view.citations if each.status == "calculated"}
    assert "505,370 sq km − 92,090 sq km = 413,280 sq km" in reasons
    assert view.uncited == ()
