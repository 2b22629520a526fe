"""Everything in the library is a source by default; what was searched is said, and what of it found nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import research
from research.config.settings import load
from research.events.view import RunView, searched
from research.exports import markdown, progress
from research.exports.json import as_dict
from research.workbench.workbench import Workbench
from tests.command import Cli
from tests.conftest import LIBRARY, BuiltOnce, embedded_countries

OWN = {
    "spain-retail.md": "# Retail expansion in Spain\n\nOur company opened 14 stores in Spain in 2023, most of them in Valencia."
    "\n\nSales of the Spanish stores reached 42.7 million euros in 2024.\n\nThe regional manager for Spain is Lucía Ferrer.",
    "handbook.md": "# Staff handbook\n\nEmployees receive 27 days of paid leave per year.\n\nThe office in Lyon has 212 "
    "employees.\n\nExpenses over 500 euros need the approval of Marta Oduya.",
    "kestrel.txt": "Project Kestrel is a turbine test bed in Aberdeen. Its budget is 3.4 million pounds. The lead engineer of "
    "Project Kestrel is Ingrid Solberg.",
    "works.md": "# Works contract of Tamsin Quill\n\nThe works begin on 3 June 2024. They end on 9 August 2025.\n\n## Paint "
    "Corvex 40\n\nKeep the tins at 8 to 21 °C. Mix it with water in the ratio 3:1. The pot lasts five weeks.\n\n## Boiler\n\n"
    "The vote was four to one; Idris Bale voted against.",
    "lease.txt": "House lease\nOutside noise\nMusic is not allowed after ten at night on the balconies of the house\n"
    "unless the neighbours were told of it two days before.\n",
    "仓储合同.md": "# 仓储合同\n\n任何一方解约的，应提前四十五日书面通知对方。",
    "meeting-zh.md": "# 供应商会议纪要\n\n华东仓库的租金为每月18万元。\n\n供应商蓝海电子的交货期为35天。",
}  # fmt: skip


@pytest.fixture(scope="module")
def bench(prepared_home: Path, built_once: BuiltOnce, tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """A library of a few countries, and a folder of the user's own that was added to it once."""
    countries = built_once(
        "own-sources", lambda folder: embedded_countries(prepared_home, folder, ["spain", "france", "world"])
    )
    home = tmp_path_factory.mktemp("sources")
    shutil.copy(countries / LIBRARY, home)
    folder = home / "my notes"
    folder.mkdir()
    for name, text in OWN.items():
        (folder / name).write_text(text, encoding="utf-8")
    bench = Workbench(load(home=home))
    bench.library.add_folder(folder)
    return bench


def asked(bench: Workbench, question: str, **choices: object) -> RunView:
    return research.run(question, workbench=bench, **{"model": "extractive", **choices})


@pytest.mark.examples(3)
@pytest.mark.parametrize(
    ("question", "answer", "source"),
    [
        # Of a country that the Factbook has thousands of lines about, in words that it uses too.
        ("How many stores did our company open in Spain in 2023?", "14", "spain-retail.md"),
        ("What were the sales of the Spanish stores in 2024?", "42.7 million euros", "spain-retail.md"),
        ("Who is the regional manager for Spain?", "Lucía Ferrer", "spain-retail.md"),
        ("How many days of paid leave do employees receive?", "27 days", "handbook.md"),
        ("How many employees work in the office in Lyon?", "212", "handbook.md"),
        ("What is the budget of Project Kestrel?", "3.4 million pounds", "kestrel.txt"),
        ("华东仓库的租金是多少？", "18万元", "meeting-zh.md"),
        ("蓝海电子的交货期是多少天？", "35天", "meeting-zh.md"),
        # What the title or a heading says, the sentence need not repeat.
        ("When does Tamsin Quill's contract end?", "9 August 2025", "works.md"),
    ],
)
def test_a_folder_of_the_library_answers_without_being_chosen(
    bench: Workbench, question: str, answer: str, source: str
) -> None:
    view = asked(bench, question)
    assert (view.outcome, answer in view.short) == ("answered", True), view.report
    assert [each.url.rpartition("/")[2] for each in view.cited_sources] == [source]


@pytest.mark.examples(3)
@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Who voted against the boiler?", "Idris Bale voted against."),
        ("Is music allowed on the balconies?", "unless the neighbours were told of it two days before."),
        ("解约需要提前多少天通知？", "应提前四十五日书面通知对方。"),
    ],
)
def test_a_sentence_answers_as_a_whole(bench: Workbench, question: str, sentence: str) -> None:
    view = asked(bench, question)
    assert (view.outcome, sentence in view.report.partition("\n")[0]) == ("answered", True), view.report


def test_where_no_sentence_is_certain_the_closest_is_shown(bench: Workbench) -> None:
    view = asked(bench, "At what temperature must Corvex 40 be kept?")
    assert view.outcome == "no_evidence"
    lead = view.report.partition("###")[0]
    assert lead.startswith("**No certain answer found.**") and "Keep the tins at 8 to 21 °C." in lead


def test_what_was_approved_is_not_what_is_unspent(bench: Workbench) -> None:
    view = asked(bench, "How much of the budget of Project Kestrel is unspent?")
    assert (view.outcome, view.short) == ("no_evidence", "")


@pytest.mark.parametrize(
    ("question", "answer"),
    [("What is the population of Spain?", "47,280,433"), ("What was France's GDP per capita in 2023?", "$54,000")],
)
def test_the_factbook_answers_beside_a_folder_that_names_the_country(
    bench: Workbench, question: str, answer: str
) -> None:
    view = asked(bench, question)
    assert answer in view.short
    assert all("factbook" in each.url for each in view.cited_sources)


def test_a_recipe_names_what_is_in_the_library_when_it_is_made(bench: Workbench) -> None:
    assert [Path(each).name for each in bench.recipe().folders] == ["my notes"]
    assert bench.recipe(folders=()).folders == ()
    assert bench.recipe(tools=("visit",)).folders == ()
    assert bench.recipe(search=("duckduckgo",)).folders == ()


def test_a_run_says_what_it_searched_and_what_found_nothing(bench: Workbench) -> None:
    view = asked(bench, "What is the population of France?")
    own = bench.recipe().folders[0]
    found = searched(view)
    assert set(found) == {own, "factbook"}
    assert found[own].results == 0
    assert found[own].searches == found["factbook"].searches > 0
    said = as_dict(view)["searched"]
    assert {each["name"]: each["results"] > 0 for each in said} == {own: False, "factbook": True}
    assert "Searched: the CIA World Factbook; nothing found in my notes" in progress.summary(view)
    assert "my notes" not in markdown.markdown(view), "it says nothing about the answer"


def test_a_collection_that_was_removed_is_named_and_the_others_are_searched(
    bench: Workbench, script: Callable[..., str]
) -> None:
    recipe = bench.recipe(
        model=script('<tool_call>{"name": "search", "arguments": {"query": "France"}}</tool_call>', ".")
    )
    own = recipe.folders[0]
    bench.library.forget(own)
    try:
        view = research.run("France?", workbench=bench, model=recipe.model, folders=recipe.folders)
    finally:
        bench.library.restore(own)
    (call,) = view.rounds[0].calls
    assert call.observation is not None
    assert f"not searched, because the library no longer has it: {own}" in call.observation.text
    assert "library://factbook/france/" in call.observation.text


def test_a_small_collection_is_not_hidden_by_a_large_one(bench: Workbench) -> None:
    titles = [hit.title for hit in bench.library.search("Who is the regional manager for Spain?")]
    assert titles[0] == "Retail expansion in Spain"
    about_france = bench.library.scored("France GDP per capita 2023")
    assert {hit.collection for hit in about_france} == {"factbook"}, "a document with one stray word is no result"


@pytest.mark.usefixtures("own_library")
def test_the_command_line_searches_all_and_can_be_told_what(cli: Cli, tmp_path: Path) -> None:
    for name in ("papers", "plans"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"# {name}\n\nThe zorgon of the {name} is {name.title()}ville.\n")
        assert cli("library", "add", str(tmp_path / name)).status == 0

    def places(*words: str) -> list[str]:
        done = cli("run", "What is the zorgon of the plans?", "--json", "--no-ask", "--model", "extractive", *words)
        return [Path(each["name"]).name for each in json.loads(done.out)["searched"]]

    assert places() == ["factbook", "papers", "plans"]
    assert places("--collections", "factbook,plans") == ["factbook", "plans"]
    assert places("--collections", str(tmp_path / "plans")) == ["plans"]
    wrong = cli("run", "What?", "--collections", "plan")
    assert wrong.status == 2
    assert "collection 'plan' is not in the library; known: factbook, " in wrong.err
    shutil.rmtree(tmp_path / "plans")
    gone = cli("run", "What is the zorgon of the plans?", "--no-ask", "--model", "extractive")
    assert "plans does not exist; not read again, so its earlier index is searched" in gone.err
    assert "Plansville" in gone.out
