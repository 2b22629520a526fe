"""Folding, exporting and comparing a run, and reading documents, take linear time and memory.

A recorded run may have thousands of rounds, and a file from elsewhere as many as fit into it.
"""

from __future__ import annotations

import contextlib
import gc
import io
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from typing import Any

import docx as word
import pytest
from pypdf import PdfWriter

from research.agent.follow_up import findings_of
from research.agent.journal import Journal
from research.compare.alignment import steps
from research.events.events import (
    Asked,
    ChildFinished,
    ChildStarted,
    Event,
    RunStarted,
    Streamed,
    ToolFinished,
    ToolStarted,
    Warned,
)
from research.events.view import fold
from research.exports import csl_json
from research.exports.docx import docx
from research.exports.html import html
from research.exports.json import as_dict
from research.exports.markdown import markdown
from research.ops.metrics import figures
from research.types import Citation, Observation, Source, ToolCall
from research.web.readers import UnreadableFile, read_bytes
from research.web.url_guard import UrlGuard
from tests.contract.test_readers import changed_pdf, pdf
from tests.growth import FACTOR, repeating, steeper
from tests.long_run import QUESTION, RECIPE, ending, of_round, stamp
from tests.unit.test_growth import HOSTILE, READERS

DOUBLED = 2**8
"""Rounds and paragraphs at last: one, doubled eight times."""
LEAST_BYTES = 500_000
"""Peaks below this are not compared: constants are larger than what grows."""
pytestmark = pytest.mark.slow


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
    """Return the processor time without collections, which grow with what other tests have left."""
    gc.collect()
    gc.disable()
    try:
        begun = time.process_time()
        made(given)
        return time.process_time() - begun
    finally:
        gc.enable()


def peak(made: Callable[[Any], object], given: Any) -> float:
    tracemalloc.start()
    try:
        made(given)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def swells(made: Callable[[Any], object], given: Callable[[int], Any], size: int) -> str:
    """Return what grows faster than the input, from an eighth of this size: time, memory, or nothing."""
    if steeper(lambda each: seconds(made, each), given, (size // 8, size)):
        return "time"
    return "memory" if memory_swells(made, given, size) else ""


def memory_swells(made: Callable[[Any], object], given: Callable[[int], Any], size: int) -> bool:
    """Return whether memory grows faster than the input; what is loaded once counts only once."""
    for _ in range(2):
        used = peak(made, given(size))
        if used < LEAST_BYTES or used <= FACTOR * peak(made, given(size // 8)):
            return False
    return True


@pytest.mark.parametrize("name", FOLDS)
def test_what_is_made_of_a_run_grows_with_its_length(name: str) -> None:
    assert swells(FOLDS[name], run_of, DOUBLED) == ""


def of(*events: Event, report: str = "A [1].", citations: tuple[Citation, ...] = ()) -> list[Event]:
    """Return a run with these events between its first and its last."""
    first, last = RunStarted(question=QUESTION, recipe=RECIPE), ending(1, report, citations)
    return [stamp(event, "a-run", seq, float(seq)) for seq, event in enumerate([first, *events, last])]


def asked(ask: int = 1, agent: str = "main") -> Asked:
    return Asked(ask=ask, round=ask, purpose="act", model="m", agent=agent)


def found(call: str, *sources: Source, agent: str = "main") -> ToolFinished:
    return ToolFinished(observation=Observation(call, "search", "a", sources=sources), agent=agent)


def child(name: str) -> list[Event]:
    answer = ChildFinished(outcome="answered", answer="a", agent=name)
    return [ChildStarted(question="q", recipe="r", agent=name), asked(agent=name), answer]


def same(n: int) -> Source:
    return Source(n, "https://a.example/", "One title", "The river is 12 km long.")


REPEATED: dict[str, Callable[[int], list[Event]]] = {
    "rounds, then text of the first": lambda n: of(*map(asked, range(n)), *[Streamed(ask=0, text="a")] * n),
    "notes of one of many agents": lambda n: of(
        asked(agent="main/a"), *map(asked, range(n)), *[Warned(kind="tool", text="a", agent="main/a")] * n
    ),
    "calls": lambda n: of(
        asked(), *(ToolStarted(call=ToolCall(str(k), "a", {})) for k in range(n)), *(found(str(k)) for k in range(n))
    ),
    "sub-agents": lambda n: of(asked(), *(event for k in range(n) for event in child(f"main/{k}"))),
    "rounds beside sub-agents": lambda n: of(
        *(asked(agent=f"main/{k}") for k in range(n)), *(event for k in range(n) for event in (asked(k), found("a")))
    ),
    "passages of one source": lambda n: of(asked(), found("a", *(Source(1, "u", str(k), "q") for k in range(n)))),
    "sources": lambda n: of(
        asked(),
        found("a", *map(same, range(1, n))),
        report="\n\n".join(f"A [{k}]." for k in range(1, n)),
        citations=tuple(Citation(k, "A.", "supported", "q") for k in range(1, n)),
    ),
    "lines": lambda n: of(report="a\n" * n),
    "marks": lambda n: of(report="[1]" * n),
}
"""What is repeated in a run."""


@pytest.mark.parametrize("name", REPEATED)
def test_a_run_is_read_in_linear_time_whatever_is_repeated_in_it(name: str) -> None:
    assert swells(fold, REPEATED[name], 4_096) == ""


@pytest.mark.parametrize("name", ["sources", "lines", "marks"])
def test_an_export_grows_with_what_is_repeated(name: str) -> None:
    exports: dict[str, Callable[[Any], object]] = {"html": html, "markdown": markdown, "csl": csl_json.render}
    assert [each for each, made in exports.items() if swells(made, lambda n: fold(REPEATED[name](n)), 2_048)] == []


@pytest.mark.parametrize("name", ["html", "docx", "markdown", "json"])
def test_an_export_grows_with_its_report(name: str) -> None:
    exports: dict[str, Callable[[Any], object]] = {"html": html, "docx": docx, "markdown": markdown, "json": as_dict}

    def view(size: int) -> Any:
        paragraphs = "\n\n".join(f"Chapter {n} tells of {n * 7:,} ships [{n}]." for n in range(1, size))
        return fold([*run_of(1)[:-1], stamp(ending(1, paragraphs), "a-run", 99, 99.0)])

    assert swells(exports[name], view, DOUBLED) == ""


def test_a_word_file_is_read_in_linear_time() -> None:
    assert swells(lambda data: read_bytes(data, ".docx", "a"), word_file, 1_600) == ""


def nested(size: int) -> bytes:
    """Return a PDF whose document outline is that deep."""

    def change(writer: PdfWriter) -> None:
        parent = None
        for _ in range(size):
            parent = writer.add_outline_item(title="a", page_number=0, parent=parent)

    return changed_pdf(change)


PDFS: dict[str, tuple[Callable[[int], bytes], int]] = {
    "pages": (lambda size: pdf(*["A line"] * size), 512),
    "lines": (lambda size: pdf(" ) Tj T* (".join(["A line"] * size)), 8_192),
    "one line": (lambda size: pdf("A line " * size), 32_768),
    "fonts": (lambda size: pdf(") Tj ET BT /F1 12 Tf (".join(["a"] * size)), 4_096),
    "states": (lambda size: pdf(") Tj ET " + "q " * size + "BT /F1 12 Tf (a"), 32_768),
    "brackets": (lambda size: pdf(") Tj ET " + "[" * size + "BT /F1 12 Tf (a"), 32_768),
    "no table of objects": (lambda size: pdf(*["A line"] * size).replace(b"startxref", b"startxrxx"), 512),
    "title": (lambda size: changed_pdf(lambda writer: writer.add_metadata({"/Title": "a\n" * size})), 65_536),
    "outline": (nested, 256),
}
"""What is repeated in a PDF, and how often at last."""


@pytest.mark.parametrize("name", PDFS)
def test_a_pdf_is_read_in_linear_time(name: str) -> None:
    def made(data: bytes) -> None:
        with contextlib.suppress(UnreadableFile):
            read_bytes(data, ".pdf", "a")

    written, size = PDFS[name]
    made(written(1))
    assert swells(made, written, size) == ""


@pytest.mark.parametrize("suffix", [".html", ".md", ".txt"])
def test_a_document_is_read_in_linear_time(suffix: str) -> None:
    def made(text: str) -> None:
        with contextlib.suppress(UnreadableFile):
            read_bytes(f"<p>A. {text}".encode(), suffix, "a")

    made("warm")
    pieces = (*HOSTILE, "<p>a ", "<div>", "<a href=x>", "<table><tr><td>", "<!--", "<ul><li>", "<script>", "&amp;")
    tried = repeating(pieces)
    assert [each for each, text in tried.items() if swells(made, text, 20_000)] == []


@pytest.mark.parametrize("name", READERS)
def test_no_reader_takes_more_than_linear_memory(name: str) -> None:
    reader = READERS[name]
    reader("warm")
    tried = repeating(HOSTILE)
    assert [each for each, text in tried.items() if memory_swells(reader, text, 16_000)] == []
