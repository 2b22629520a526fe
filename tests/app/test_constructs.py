"""Every construct of Markdown on the page: the report and its draft, a comparison, the memory, and text in Streamlit."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from pages.parts.shared.safe import prose
from research.config.settings import load
from research.events.events import Asked, Streamed
from research.events.recipe import Recipe
from research.exports.blocks import content, parse
from research.memory import Entry
from research.workbench.workbench import Workbench
from tests.app.test_pages import Visit, press, report_text, reports
from tests.constructs import FORMULAS, MARKUP, REPORT, TEXT
from tests.long_run import LongRun

HIDDEN = "\u2060"


def written(home: Path, name: str) -> LongRun:
    run = LongRun(Workbench(load(home=home)).store, name)
    run.rounds(2)
    return run


def kinds(data: Any, found: set[str]) -> set[str]:
    """Return the kinds of blocks and of pieces of text in the data of a report, and the tags of its formulas."""
    for each in data if isinstance(data, list) else [data]:
        if isinstance(each, dict):
            found |= {str(each.get("t", "")), *(key for key in ("b", "i", "s", "c", "h", "f", "d", "m") if key in each)}
            kinds([value for value in each.values() if isinstance(value, list | dict)], found)
        elif isinstance(each, list):
            kinds(each, found)
    return found


def complete(data: dict[str, Any]) -> None:
    """Assert that the data of a report has all of it."""
    text = report_text(data)
    assert [piece for piece in TEXT if piece not in text] == []
    assert [sign for sign in MARKUP if sign in text] == []
    assert {
        "h",
        "p",
        "ul",
        "ol",
        "q",
        "code",
        "hr",
        "table",
        "b",
        "i",
        "s",
        "c",
        "f",
        "d",
        "m",
        "msup",
        "mfrac",
    } <= kinds(data["blocks"], set())
    assert ["left", "center", "right"] in [block.get("align") for block in data["blocks"]]


def test_a_report_shows_every_construct(visit: Visit, home: Path) -> None:
    written(home, "261121-130000-full").finish(REPORT)
    app = visit(home, run="261121-130000-full")
    assert not app.exception
    (data,) = reports(app.get_by_key("report"))
    complete(data)


def test_a_draft_shows_every_construct(visit: Visit, home: Path) -> None:
    run = LongRun(Workbench(load(home=home)).store, "261121-130000-live", recipe=Recipe())
    run.add([Asked(ask=1, round=1, purpose="act", model="extractive"), Streamed(ask=1, text=f"<answer>{REPORT}")])
    app = visit(home, run="261121-130000-live")
    assert not app.exception
    (data,) = reports(app)
    assert data["caret"] is True
    complete(data)


def test_a_comparison_shows_every_construct(visit: Visit, home: Path) -> None:
    for name, report in (("261121-130000-one", REPORT), ("261121-130000-two", f"{REPORT}\n\nThe end.")):
        written(home, name).finish(report)
    app = press(visit(home, "compare", runs="261121-130000-one,261121-130000-two"), "Compare")
    assert not app.exception
    drawn = reports(app)
    assert len(drawn) == 2
    for data in drawn:
        complete(data)


def test_an_opened_memory_entry_shows_every_construct(visit: Visit, home: Path) -> None:
    bench = Workbench(load(home=home))
    bench.memory.add([Entry(REPORT, id="full", kind="report", provenance="model")])
    app = visit(home, "memory", entry="full")
    assert not app.exception
    drawn = "\n".join(each.value for each in app.get_by_key("memory-opened").markdown)
    assert prose(REPORT) in drawn
    labels = [json.dumps(each.proto.label, ensure_ascii=False) for each in app.get("page_link")]
    assert not any("**" in label or "|:--" in label for label in labels if "outlook" in label)


# Markdown for Streamlit


def without_languages(text: str) -> str:
    return re.sub(r"language='[^']*'", "", repr(parse(text, cited=False)))


def test_streamlit_gets_every_construct_and_nothing_else() -> None:
    assert without_languages(prose(REPORT)) == without_languages(REPORT)
    for latex in FORMULAS:
        assert f"${latex}$" in prose(REPORT) or f"$$\n{latex}\n$$" in prose(REPORT)
    assert "| --- | :---: | ---: |" in prose(REPORT)


PIECES = (
    "a", "b c", " ", "\n", "\n\n", "**", "*", "_", "~~", "`", "``", "- ", "1. ", "> ", "# ", "| a | b |\n|---|:-:|\n", "|", "$x$", "$",
    "[l](https://a.test)", "![p](https://a.test)", "中文", "“引”", "。", "https://b.test/x", ":red[", "]", "<b>", "\\", "    ", "```\n",
    "[^n]", "[^n]: note\n", "---\n", "2024. ", "!", ":", "$$\ny\n$$\n", "- [x] ", "&amp;", "=", "+ ",
)  # fmt: skip


def test_any_mixture_keeps_its_text() -> None:
    chance = random.Random(11)
    for _ in range(600):
        text = "".join(chance.choices(PIECES, k=chance.randint(2, 12)))
        kept = content(parse(prose(text), cited=False))
        wanted = content(parse(text, cited=False))
        assert re.sub(r"\W", "", kept) == re.sub(r"\W", "", wanted), text
        tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(prose(text))
        assert not [each for token in tokens for each in token.children or () if each.type in ("image", "html_inline")]


@pytest.mark.parametrize(
    "text", ["**“引文”**中文", "a**b**c", "*a **b** c*", "~~**x**~~ y", "**`c`** d", "***x***y", "**a**`b`*c*"]
)
def test_emphasis_holds_wherever_it_stands(text: str) -> None:
    """Streamlit's parser knows no exception for Chinese, so signs are kept apart from what would disable them."""
    tokens = [
        each.type
        for token in MarkdownIt("commonmark").enable("strikethrough").parse(prose(text))
        for each in token.children or ()
    ]
    assert any(kind.endswith("_open") for kind in tokens)
    assert prose(text).replace(HIDDEN, "").replace("*", "").replace("~~", "").replace("`", "") in re.sub(
        r"[*~`]", "", text
    )
