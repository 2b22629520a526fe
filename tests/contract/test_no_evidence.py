"""When every tool fails, a run reports what it tried instead of an answer without evidence."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

import research
from research import plugins
from research.config.settings import load
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


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_run_whose_tools_all_fail_reports_what_it_tried(broken: Workbench, framework: str) -> None:
    view = research.run(
        QUESTION, workbench=broken, framework=framework, model="extractive", tools=("search",), search=("searxng",)
    )
    assert (view.status, view.outcome) == ("completed", "tool_errors")
    assert "searxng" in view.report, "the failed service is not named"
    assert "search(" in view.report
    assert view.citations == ()


def test_an_answer_invented_after_all_tools_failed_is_not_reported(broken: Workbench, tmp_path: Path) -> None:
    search = {"name": "search", "arguments": {"query": "Quasiland growth"}}
    lines = [
        {"text": f"<think>look</think>\n<tool_call>{json.dumps(search)}</tool_call>"},
        {"text": f"<answer>{INVENTED}</answer>"},
    ]
    path = tmp_path / "script.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    view = research.run(QUESTION, workbench=broken, model=f"scripted:{path}", tools=("search",), search=("searxng",))
    assert view.outcome == "tool_errors"
    assert "4.2" not in view.report + view.answer
    assert "quasiland.example" not in view.report + view.answer
    assert any("4.2" in (each.reply.text if each.reply else "") for each in view.rounds), (
        "the model's reply was not saved"
    )


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
