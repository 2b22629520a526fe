"""What one search finds: runs, reports, memory entries and documents, each with the address that opens it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from pages.parts.library import collections
from pages.parts.memory import filters as memory_filters
from pages.parts.memory import similar
from pages.parts.run import head
from pages.parts.shared.language import later, t
from pages.parts.shared.words import ago
from research.errors import REFUSED, ToolError
from research.exports.blocks import content, parse
from research.store import EVALUATED, Filters, RunRow
from research.text import clip
from research.workbench.workbench import Workbench

KINDS: Final = {
    "run": later("Runs"),
    "report": later("Reports"),
    "memory": later("Memory"),
    "document": later("Library"),
}
"""Title of each kind, in the order of the results."""
BEFORE, SHOWN = 60, 200
"""Characters of an excerpt before the first word found, and in all."""
KNOWN = 200
"""Maximum number of runs with the longest word that are looked through for the others."""


class Found(Struct, frozen=True):
    """One result."""

    kind: str
    title: str
    excerpt: str
    about: str
    """Where it comes from, in a few words."""
    page: str
    query: Mapping[str, str]
    """The address parameters that open it."""


def everything(bench: Workbench, query: str, kinds: Sequence[str], most: int) -> tuple[list[Found], list[str]]:
    """Return at most `most` results of each kind, and the reasons why a part could not be searched."""
    searches: Mapping[str, Callable[[Workbench, str, int], list[Found]]] = {
        "run": _runs,
        "report": _reports,
        "memory": _memory,
        "document": _documents,
    }
    found: list[Found] = []
    problems: list[str] = []
    for kind in kinds:
        try:
            found += searches[kind](bench, query, most)
        except ToolError:  # no word to search for
            continue
        except REFUSED as error:
            problems.append(str(error))
    return found, problems


def _runs(bench: Workbench, query: str, most: int) -> list[Found]:
    rows = [row for row in _rows(bench, query) if _has(row.question, query)]
    return [_run(row, "run", clip(_words(row.answer), SHOWN)) for row in rows[:most]]


def _reports(bench: Workbench, query: str, most: int) -> list[Found]:
    """Return the runs whose report has words that their question lacks."""
    rows = [row for row in _rows(bench, query) if not _has(row.question, query)]
    return [_run(row, "report", _excerpt(row.answer, query)) for row in rows[:most]]


def _rows(bench: Workbench, query: str) -> list[RunRow]:
    """Return the runs, without those of evaluations, whose question and report have all words."""
    longest = max(query.split(), key=len, default="")
    rows = bench.store.runs(longest, KNOWN, filters=Filters(not_tagged=EVALUATED))
    return [row for row in rows if _has(f"{row.question}\n{row.answer}", query)]


def _run(row: RunRow, kind: str, excerpt: str) -> Found:
    question = " ".join(row.question.split())
    return Found(kind, question, excerpt, f"{head.state(row)} · {ago(row.created)}", "pages/runs.py", {"run": row.id})


def _memory(bench: Workbench, query: str, most: int) -> list[Found]:
    found = []
    for match in similar.strong(bench.memory.search(query, most)):
        if match.cosine < similar.LEAST and not match.word_rank:
            continue
        entry = match.entry
        about = f"{t(memory_filters.KIND_NAMES[entry.kind])} · {ago(entry.time)}"
        text = _words(entry.text)
        title = similar.subject(entry) or clip(text, BEFORE)
        found.append(Found("memory", title, clip(text, SHOWN), about, "pages/memory.py", {"entry": entry.id}))
    return found


def _documents(bench: Workbench, query: str, most: int) -> list[Found]:
    found = []
    for hit in sorted(bench.library.scored(query, most), key=lambda hit: hit.words is None):
        passage = hit.passage
        to = {"doc": passage.url, "quote": passage.quote}
        about = collections.title(hit.collection)
        found.append(Found("document", passage.title, _excerpt(passage.quote, query), about, "pages/library.py", to))
    return found


def _has(text: str, query: str) -> bool:
    folded = text.casefold()
    return all(word in folded for word in query.casefold().split())


def _excerpt(text: str, query: str) -> str:
    """Return the text around the first word of the query in it."""
    line = _words(text)
    folded = line.casefold()
    first = min((place for word in query.casefold().split() if (place := folded.find(word)) >= 0), default=0)
    start = max(0, first - BEFORE)
    return clip(("…" if start else "") + line[start:], SHOWN)


def _words(text: str) -> str:
    """Return the words of a Markdown text in one line."""
    return " ".join(content(parse(text, cited=False)).split())
