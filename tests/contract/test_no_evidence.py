"""No evidence, no report: when every tool fails, a run says what it tried and never reads like research."""

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
    """A workbench whose only search service does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]  # nobody listens there once it is closed
    return Workbench(
        load(home=tmp_path, searxng_url=f"http://127.0.0.1:{port}", openalex_url=f"http://127.0.0.1:{port}")
    )


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_all_tools_failing_is_no_report(broken: Workbench, framework: str) -> None:
    view = research.run(
        QUESTION, workbench=broken, framework=framework, model="extractive", tools=("search",), search=("searxng",)
    )
    assert (view.status, view.outcome) == ("completed", "tool_errors")
    assert "searxng" in view.report, "what was tried, and why it failed"
    assert "search(" in view.report
    assert view.citations == ()


def test_what_a_model_invents_then_is_not_the_report(broken: Workbench, tmp_path: Path) -> None:
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
    assert any("4.2" in (each.reply.text if each.reply else "") for each in view.rounds), "nothing is lost either"


@pytest.mark.parametrize("tools", [("scholar",), ("python",), ("visit",), ()])
@pytest.mark.parametrize("framework", ["react", "iter_research", "tool_rounds"])
def test_the_offline_model_makes_do_with_the_tools_there_are(
    broken: Workbench, framework: str, tools: tuple[str, ...]
) -> None:
    view = research.run(
        QUESTION, workbench=broken, framework=framework, model="extractive", tools=tools, scholar=("openalex",)
    )
    assert view.status == "completed"
    assert view.outcome == ("tool_errors" if tools == ("scholar",) else "no_evidence")
