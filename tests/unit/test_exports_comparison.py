"""A comparison exported as Markdown: complete, safely escaped, and explicit about missing runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from markdown_it import MarkdownIt

from research.events.recipe import Budget, Recipe
from research.events.view import RunView
from research.exports import of_markdown
from research.exports.comparison import markdown
from research.store.saved import Comparison, Opinion
from research.types import Citation, Source
from tests.unit.test_comparing import Told
from tests.unit.test_exports_documents import docx_text, pdf_text

EVIL = (
    "x | y ![p](https://evil.example/p.png) <img src=x onerror=alert(1)> [l](javascript:alert(1))\n---\n\n# Fake\n```"
)


def told(run: str, query: str = "France GDP", report: str = "It is large [1].", **recipe: Any) -> RunView:
    source = Source(1, "https://example.org/france", "France", "It is large.")
    story = Told(run, recipe=Recipe(**recipe)).ask().use("search", query=query, found=[source]).ask(answer=report)
    return story.end(report=report, citations=(Citation(1, "It is large", "supported"),)).view


def compared(
    *views: RunView, question: str = "How large?", opinions: tuple[Opinion, ...] = (), more: tuple[str, ...] = ()
) -> str:
    comparison = Comparison("c0ffee", question, (*(view.run for view in views), *more), 1_000.0)
    return markdown(comparison, views, {each.run: each for each in opinions})


def front_of(text: str) -> dict[str, Any]:
    """Parse the front matter, whose lines are a name and a JSON value."""
    lines = text.split("\n---\n")[0].removeprefix("---\n").splitlines()
    return {name: json.loads(value) for name, _, value in (line.partition(": ") for line in lines)}


def test_the_file_contains_recipes_steps_sources_and_every_report() -> None:
    text = compared(told("a"), told("b", framework="iter_research", context="evolving", report="It is huge [1]."))
    assert front_of(text)["recipes"][1].startswith("iter_research / evolving / extractive")
    assert front_of(text)["comparable"] is True
    assert "| search: France GDP → 1 sources | search: France GDP → 1 sources |" in text
    assert "| France | \\[1\\] | \\[1\\] |" in text
    assert "# 1. ReAct / Full history / Offline model\n\nIt is large [1]." in text
    assert "ReAct / Full history | 2\\. IterResearch / Evolving report |" in text
    assert "It is huge [1]." in text
    assert text.count("## References") == 2
    assert "https://example.org/france" in text


@pytest.mark.parametrize(("kind", "read"), [("docx", docx_text), ("pdf", pdf_text)])
def test_the_same_file_is_made_for_word_and_as_pdf(kind: str, read: Callable[[bytes], str]) -> None:
    text = read(of_markdown(compared(told("a"), told("b", report="It is huge [1].")), kind))
    assert text.startswith("How large?") and "---" not in text
    assert "It is large" in text and "It is huge" in text
    assert "How it was made" not in text, "each run has its own"


def test_votes_and_notes_are_in_the_table() -> None:
    opinions = (Opinion("c0ffee", "a", 1, "good | clear"), Opinion("c0ffee", "b", -1))
    text = compared(told("a"), told("b"), opinions=opinions)
    assert "| Vote | better | worse |" in text
    assert "| Note | good \\| clear |  |" in text
    assert "Note" not in compared(told("a"), told("b"))


def test_different_budgets_and_deleted_runs_are_reported() -> None:
    text = compared(told("a"), told("b", budget=Budget(tokens=5)), more=("gone",))
    assert "do not have the same budget" in text
    assert "Deleted since: gone." in text
    assert front_of(text)["comparable"] is False


def test_runs_without_a_report_are_included() -> None:
    from research.events.events import RunFailed

    broken = Told("b")
    broken._add(RunFailed(error="no `model`", traceback=""))
    text = compared(Told("a").view, broken.end("failed", "failed", report="").view)
    assert "There is no report." in text
    assert "The run failed: no \\`model\\`" in text
    assert compared()


@pytest.mark.parametrize("where", ["question", "query", "report", "note", "title"])
def test_hostile_text_is_escaped(where: str) -> None:
    view = told("a", query=EVIL if where == "query" else "q", report=EVIL if where == "report" else "So [1].")
    if where == "title":
        view.sources[1] = [Source(1, "https://example.org", EVIL, EVIL)]
    note = (Opinion("c0ffee", "a", 0, EVIL),) if where == "note" else ()
    text = compared(view, told("b"), question=EVIL if where == "question" else "How large?", opinions=note)
    assert json.dumps(front_of(text))
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text.split("\n---\n\n", 1)[1])
    inline = [token for each in tokens for token in (each.children or [])]
    assert not [token for token in [*tokens, *inline] if token.type in ("image", "html_inline", "html_block")]
    assert not [token for token in inline if str(token.attrs.get("href", "")).startswith("javascript")]
    tables = [token for token in tokens if token.type == "table_open"]
    assert len(tables) == 3, "expected the tables of figures, steps and sources"
    if where in ("query", "note", "title"):
        assert any("x | y !" in token.content.replace("\\", "").replace("\u2060", "") for token in tokens), (
            "a cell was cut"
        )


def test_a_chinese_question_gives_a_chinese_file() -> None:
    text = compared(told("a"), told("b"), question="法国的国内生产总值是多少？")
    assert "## 步骤" in text
    assert "## Steps" not in text
