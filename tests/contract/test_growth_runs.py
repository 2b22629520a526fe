"""Folding, exporting and comparing a run, and reading documents, take linear time and memory.

A recorded run may have thousands of rounds, and a file from elsewhere as many as fit into it.
"""

from __future__ import annotations

import contextlib
import io
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from typing import Any

import docx as word
import pytest

from research.agent.follow_up import findings_of
from research.agent.journal import Journal
from research.compare.steps import steps
from research.events.events import Event, RunStarted
from research.events.view import fold
from research.exports.docx import docx
from research.exports.html import html
from research.exports.json import as_dict
from research.exports.markdown import markdown
from research.ops.metrics import figures
from research.web.readers import UnreadableFile, read_bytes
from research.web.url_guard import UrlGuard
from tests.long_run import QUESTION, RECIPE, ending, of_round, stamp
from tests.unit.test_growth import FACTOR, HOSTILE, READERS

LEAST_S = 0.05
LEAST_BYTES = 4_000_000
"""Peaks below these are not compared: constants are larger than what grows."""


def run_of(rounds: int) -> list[Event]:
    events: list[Event] = [RunStarted(question=QUESTION, recipe=RECIPE)]
    events += [event for n in range(1, rounds + 1) for event in of_round(n)]
    return [stamp(event, "a-run", seq, float(seq)) for seq, event in enumerate([*events, ending(rounds)])]


def guarded(events: list[Event]) -> None:
    guard = UrlGuard()
    for event in events:
        for observation in filter(None, [getattr(event, "observation", None)]):
            guard.observe(observation)


FOLDS: dict[str, Callable[[list[Event]], object]] = {
    "view": fold,
    "journal": Journal,
    "figures": lambda events: figures(fold(events)),
    "steps": lambda events: steps(fold(events)),
    "findings": lambda events: findings_of(fold(events), events),
    "guard": guarded,
}
"""What is made of the events of a run."""


def word_file(size: int) -> bytes:
    """Return a Word file with so many styles and so many paragraphs, each in the last style."""
    made, written = io.BytesIO(), io.BytesIO()
    word.Document().save(made)
    named = "".join(
        f'<w:style w:type="paragraph" w:styleId="s{n}"><w:name w:val="n{n}"/></w:style>' for n in range(size)
    )
    one = f'<w:p><w:pPr><w:pStyle w:val="s{size - 1}"/></w:pPr><w:r><w:t>a</w:t></w:r></w:p>'
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(written, "w") as new:
        for part in old.namelist():
            text = old.read(part)
            if part == "word/styles.xml":
                text = text.replace(b"</w:styles>", named.encode() + b"</w:styles>")
            if part == "word/document.xml":
                text = text.replace(b"<w:sectPr", one.encode() * size + b"<w:sectPr", 1)
            new.writestr(part, text)
    return written.getvalue()


def seconds(made: Callable[[Any], object], given: Any) -> float:
    begun = time.process_time()
    made(given)
    return time.process_time() - begun


def peak(made: Callable[[Any], object], given: Any) -> float:
    tracemalloc.start()
    try:
        made(given)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def swells(made: Callable[[Any], object], given: Callable[[int], Any], size: int) -> str:
    """Return what grows faster than the input, at four times this size: time, memory, or nothing."""
    small, large = given(size), given(4 * size)
    for name, cost, least in (("time", seconds, LEAST_S), ("memory", peak, LEAST_BYTES)):
        used = min(cost(made, large) for _ in range(2))
        if used > least and used > FACTOR * min(cost(made, small) for _ in range(2)):
            return name
    return ""


@pytest.mark.parametrize("name", FOLDS)
def test_what_is_made_of_a_run_grows_with_its_length(name: str) -> None:
    assert swells(FOLDS[name], run_of, 50) == ""


@pytest.mark.parametrize("name", ["html", "docx", "markdown", "json"])
def test_an_export_grows_with_its_report(name: str) -> None:
    exports: dict[str, Callable[[Any], object]] = {"html": html, "docx": docx, "markdown": markdown, "json": as_dict}

    def view(size: int) -> Any:
        paragraphs = "\n\n".join(f"Chapter {n} tells of {n * 7:,} ships [{n}]." for n in range(1, size))
        return fold([*run_of(1)[:-1], stamp(ending(1, paragraphs), "a-run", 99, 99.0)])

    assert swells(exports[name], view, 50) == ""


def test_a_word_file_is_read_in_linear_time() -> None:
    assert swells(lambda data: read_bytes(data, ".docx", "a"), word_file, 400) == ""


@pytest.mark.parametrize("suffix", [".html", ".md", ".txt"])
def test_a_document_is_read_in_linear_time(suffix: str) -> None:
    def made(text: str) -> None:
        with contextlib.suppress(UnreadableFile):
            read_bytes(text.encode(), suffix, "a")

    made("warm")
    pieces = (*HOSTILE, "<p>a ", "<div>", "<a href=x>", "<table><tr><td>", "<!--", "<ul><li>", "<script>", "&amp;")
    assert [each for each in pieces if swells(made, lambda n, each=each: f"<p>A. {each * n}"[:n], 5_000)] == []  # type: ignore[misc]


@pytest.mark.parametrize("name", READERS)
def test_no_reader_takes_more_than_linear_memory(name: str) -> None:
    reader = READERS[name]
    reader("warm")
    swollen = []
    for each in HOSTILE:
        large = peak(reader, (each * 8_000)[:8_000])
        if large > LEAST_BYTES and large > FACTOR * peak(reader, (each * 2_000)[:2_000]):
            swollen.append(each)
    assert swollen == []
