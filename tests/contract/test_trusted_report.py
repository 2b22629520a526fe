"""A run's report is compared with what was seen: invented addresses, altered figures and numbers of no source are told."""

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
def told(bench: Workbench, script: Script) -> Callable[..., RunView]:
    def tell(answer: str, *more: dict[str, Any], **options: Any) -> RunView:
        lines = [LOOK, {"text": f"<think>done</think>\n<answer>{answer}</answer>"}, *more]
        return research.run(QUESTION, workbench=bench, model=script(*lines), **options)

    return tell


def population(view: RunView) -> tuple[int, str]:
    """Number and figure of the page that tells how many people live in France."""
    for n, seen in view.sources.items():
        for source in seen:
            if "france" in source.url and "total: " in source.quote:
                return n, source.quote.partition("total: ")[2].split()[0]
    raise AssertionError("the search did not find France")


def test_what_stands_in_the_source_is_supported_in_page_json_and_export(told: Callable[..., RunView]) -> None:
    n, figure = population(told("x [1]"))
    view = told(f"France has a total population of {figure} [{n}].")
    assert [(each.n, each.status) for each in view.citations] == [(n, "supported")]
    assert as_dict(view)["citations"][0]["status"] == "supported"
    assert figure in view.citations[0].quote
    assert "supported" in markdown(view)


def test_planted_lies_are_told_in_every_place(told: Callable[..., RunView]) -> None:
    n, figure = population(told("x [1]"))
    altered = figure.replace(figure[0], str(int(figure[0]) % 9 + 1), 1)
    view = told(
        f"France has a total population of {altered} [{n}].\n\n"
        f"Portugal has a total population of {figure} [{n}].\n\n"
        "The census office counted them in May [77].\n\n"
        "Details: [the census](https://census.invented.example/france) and www.invented.example/again."
    )
    found = {(each.n, each.claim.split()[0]): each.status for each in view.citations}
    assert found[n, "France"] in ("unsupported", "partial")
    assert found[n, "Portugal"] in ("unsupported", "partial")
    assert found[77, "The"] == "dead"
    assert all(each.reason for each in view.citations)
    assert "invented.example" not in view.report + view.answer
    assert len(view.removed) == 2
    assert as_dict(view)["removed"] == list(view.removed)
    exported = markdown(view)
    assert "unsupported" in exported or "partly" in exported or "partial" in exported
    assert "dead" in exported or "no source" in exported


def test_a_fact_that_cites_nothing_is_counted(told: Callable[..., RunView]) -> None:
    n, figure = population(told("x [1]"))
    view = told(f"France has {figure} people [{n}]. Its capital Paris hosted the Games of 1924 with 3,089 athletes.")
    assert len(view.uncited) == 1
    assert "3,089" in view.uncited[0]
    assert as_dict(view)["uncited"] == list(view.uncited)


def test_a_judge_is_asked_about_doubtful_claims_only_where_the_recipe_names_one(
    told: Callable[..., RunView], script: Script, tmp_path: Path
) -> None:
    n, figure = population(told("x [1]"))
    claim = f"Inhabitants of the Republic, who number {figure}, enjoy a mild climate and good bread [{n}]."
    unjudged = told(claim)
    assert unjudged.citations[0].status != "supported"
    verdict = {"verdicts": [{"claim": 1, "verdict": "unsupported", "reason": "bread is not mentioned"}]}
    path = tmp_path / "judge.jsonl"
    path.write_text(json.dumps({"purpose": "verify", "text": json.dumps(verdict)}), encoding="utf-8")
    judged = told(claim, roles={"judge": f"scripted:{path}"})
    assert [each.purpose for each in judged.rounds][-1] == "verify"
    assert judged.citations[0].status == "unsupported"
    assert "bread" in judged.citations[0].reason


def test_a_judge_that_fails_changes_nothing(told: Callable[..., RunView], tmp_path: Path) -> None:
    n, figure = population(told("x [1]"))
    path = tmp_path / "judge.jsonl"
    path.write_text(json.dumps({"purpose": "verify", "text": "I would rather not say."}), encoding="utf-8")
    claim = f"Inhabitants, who number {figure}, enjoy good bread [{n}]."
    plain, judged = told(claim), told(claim, roles={"judge": f"scripted:{path}"})
    assert (judged.status, judged.outcome) == ("completed", plain.outcome)
    assert judged.citations == plain.citations


def test_a_check_that_breaks_loses_no_word(bench: Workbench, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        id, dimension = "broken", 2

        def encode(self, texts: object) -> Any:
            raise RuntimeError("no such layer")

    bench.__dict__["embedder"] = Broken()
    answer = "Frenchmen abound, they number many millions and enjoy good bread [1]."
    view = research.run(QUESTION, workbench=bench, model=script(LOOK, {"text": f"<answer>{answer}</answer>"}))
    assert (view.status, view.outcome) == ("failed", "failed")
    assert "could not be checked" in view.error
    assert answer in view.report


def test_what_was_calculated_from_two_sources_is_supported(bench: Workbench) -> None:
    view = research.run("What is the difference in area between Spain and Portugal?", workbench=bench)
    assert {each.status for each in view.citations} == {"supported"}
    assert view.uncited == ()
