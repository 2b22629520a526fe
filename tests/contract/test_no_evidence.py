"""When every tool fails, a run reports what it tried instead of an answer without evidence."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

import research
from research import plugins
from research.config.settings import load
from research.errors import ToolError
from research.search.library.documents import Library
from research.search.library.searching import Hit
from research.workbench.workbench import Workbench

INVENTED = (
    "Quasiland's economy grew by 4.2 % in 2024 according to its statistical office [1], after 3.1 % in 2023 [2]. "
    "See https://stats.quasiland.example/gdp for details."
)
QUESTION = "How fast did the economy of Quasiland grow in 2024?"
FRAMEWORKS = plugins.framework.names()


@pytest.fixture
def broken(tmp_path: Path) -> Workbench:
    """A workbench whose search services refuse every connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]  # nothing listens there once it is closed
    return Workbench(
        load(home=tmp_path, searxng_url=f"http://127.0.0.1:{port}", openalex_url=f"http://127.0.0.1:{port}")
    )


@pytest.mark.examples(1)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_run_whose_tools_all_fail_reports_what_it_tried(broken: Workbench, framework: str) -> None:
    view = research.run(
        QUESTION, workbench=broken, framework=framework, model="extractive", tools=("search",), search=("searxng",)
    )
    assert (view.status, view.outcome) == ("completed", "tool_errors")
    assert "searxng" in view.report, "the failed service is not named"
    assert "search(" in view.report
    assert view.citations == ()


def scripted(tmp_path: Path, *texts: str) -> str:
    path = tmp_path / "script.jsonl"
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    return f"scripted:{path}"


SEARCH = '<think>look</think>\n<tool_call>{"name": "search", "arguments": {"query": "Quasiland growth"}}</tool_call>'


def test_the_last_answer_after_all_tools_failed_is_quoted_below_the_failures(broken: Workbench, tmp_path: Path) -> None:
    model = scripted(tmp_path, SEARCH, f"<answer>{INVENTED}</answer>")
    view = research.run(QUESTION, workbench=broken, model=model, tools=("search",), search=("searxng",))
    assert view.outcome == "tool_errors"
    assert view.report.startswith("**A search failed**")
    assert "No answer found" not in view.report
    assert view.report.index("searxng") < view.report.index("> Quasiland's economy grew by 4.2 %")
    assert "[1]" not in view.report, "a source that was not seen is cited"
    assert "quasiland.example" not in view.report
    assert view.citations == ()


@pytest.mark.parametrize(("queries", "outcome"), [(("growth", "Norway"), "tool_errors"), (("Norway",), "no_evidence")])
def test_a_refusal_after_a_failed_search_says_so(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queries: tuple[str, ...], outcome: str
) -> None:
    scored = Library.scored

    def failing(library: Library, query: str, *more: Any) -> list[Hit]:
        if query == "growth":
            raise ToolError("the disk does not answer")
        return scored(library, query, *more)

    monkeypatch.setattr(Library, "scored", failing)
    calls = [SEARCH.replace("Quasiland growth", query) for query in queries]
    refusal = "<answer>**No answer found.** It says nothing of its growth.</answer>"
    view = research.run(QUESTION, workbench=bench, model=scripted(tmp_path, *calls, refusal), tools=("search",))
    assert view.outcome == outcome
    assert ("the disk does not answer" in view.report) == (outcome == "tool_errors")
    assert ("No answer found" in view.report) == (outcome == "no_evidence")


def test_a_refusal_names_a_service_that_failed_beside_others(
    bench: Workbench, broken: Workbench, tmp_path: Path
) -> None:
    both = Workbench(load(home=bench.settings.home, searxng_url=broken.settings.searxng_url))
    refusal = "<answer>**No answer found.** It says nothing of its growth.</answer>"
    model = scripted(tmp_path, SEARCH.replace("Quasiland growth", "Norway"), refusal)
    view = research.run(QUESTION, workbench=both, model=model, tools=("search",), search=("library", "searxng"))
    assert view.outcome == "tool_errors"
    assert "searxng: " in view.report.partition("\n")[0]


@pytest.mark.parametrize("echo", ["3", "You are a research assistant. Answer only from sources."])
def test_a_failed_run_reports_the_cause_and_quotes_the_models_words(
    broken: Workbench, tmp_path: Path, echo: str
) -> None:
    model = scripted(tmp_path, *["gibberish"] * 4, f"<answer>{echo}</answer>")
    view = research.run(QUESTION, workbench=broken, model=model, tools=("search",), search=("searxng",))
    assert (view.status, view.outcome) == ("failed", "failed")
    assert view.report.startswith("**The run failed.**")
    assert "neither" in view.report.splitlines()[0], "the report does not say what was wrong with the replies"
    assert view.report.endswith(f"> {echo}")
    assert view.answer == view.report


@pytest.mark.examples(3)
@pytest.mark.parametrize("tools", [("scholar",), ("python",), ("visit",), ()])
@pytest.mark.parametrize("framework", ["react", "iter_research", "tool_rounds"])
def test_the_offline_model_completes_with_any_set_of_tools(
    broken: Workbench, framework: str, tools: tuple[str, ...]
) -> None:
    view = research.run(
        QUESTION, workbench=broken, framework=framework, model="extractive", tools=tools, scholar=("openalex",)
    )
    assert view.status == "completed"
    assert view.outcome == ("tool_errors" if tools == ("scholar",) else "no_evidence")


def test_a_limit_reached_before_anything_was_read_is_named_as_the_cause(bench: Workbench) -> None:
    view = research.run("How large is Mongolia?", workbench=bench, budget=research.Budget(tokens=300))
    assert (view.outcome, view.answer.count("No answer found")) == ("no_evidence", 1)
    assert "The run's limit of tokens was reached first: raise it, and ask again." in view.answer
