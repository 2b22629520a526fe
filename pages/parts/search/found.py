"""What one search finds: runs, reports, memory entries and documents, each with the address that opens it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from pages.parts.library import collections, search
from pages.parts.memory import filters as memory_filters
from pages.parts.memory import similar
from pages.parts.run import head
from pages.parts.shared.language import current, later, spoken, t
from pages.parts.shared.words import ago
from research._util.retold import said_lines
from research._util.sentences import sentences
from research.citations.marks import without_marks
from research.errors import REFUSED, ToolError
from research.events.view import RunView, without_quotes
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
TITLE, SHOWN, LONGEST = 60, 200, 500
"""Characters of a title; of an excerpt of several sentences; and of one that is a single sentence."""
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
    near: bool = False
    """Whether it has none of the words and is only similar in meaning."""


def everything(bench: Workbench, query: str, kinds: Sequence[str], most: int) -> tuple[list[Found], list[str]]:
    """Return at most `most` results of each kind, and the reasons why a part could not be searched.

    Results that are only similar in meaning are returned when no other is found.
    """
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
            problems.append(spoken(error))
    return [each for each in found if not each.near] or found, problems


def _runs(bench: Workbench, query: str, most: int) -> list[Found]:
    rows = [row for row in _rows(bench, query) if _has(row.question, query)]
    return [_run(row, "run", excerpt(row, query)) for row in rows[:most]]


def _reports(bench: Workbench, query: str, most: int) -> list[Found]:
    """Return the runs whose report has words that their question lacks."""
    rows = [row for row in _rows(bench, query) if not _has(row.question, query)]
    return [_run(row, "report", excerpt(row, query)) for row in rows[:most]]


def _rows(bench: Workbench, query: str) -> list[RunRow]:
    """Return the runs, without those of evaluations, whose question and report have all words."""
    longest = max(query.split(), key=len, default="")
    rows = bench.store.runs(longest, KNOWN, filters=Filters(not_tagged=EVALUATED))
    return [row for row in rows if _has(f"{row.question}\n{_words(_read(row))}", query)]


def _read(row: RunRow) -> str:
    """Return the report as the page of the run shows it, without the numbers of its sources, which that page counts anew."""
    return without_marks(without_quotes(RunView(report=row.answer, outcome=row.outcome)))


def excerpt(row: RunRow, query: str) -> str:
    """Return the first words of a run's report that have a word of the query."""
    return _excerpt(_read(row), query)


def _run(row: RunRow, kind: str, said: str) -> Found:
    question = " ".join(row.question.split())
    return Found(kind, question, said, f"{head.state(row)} · {ago(row.created)}", "pages/runs.py", {"run": row.id})


def _memory(bench: Workbench, query: str, most: int) -> list[Found]:
    found = []
    for match in similar.strong(bench.memory.search(query, most)):
        if match.cosine < similar.LEAST and not match.word_rank:
            continue
        entry = match.entry
        about = f"{t(memory_filters.KIND_NAMES[entry.kind])} · {ago(entry.time)}"
        text = _words(entry.text)
        title = similar.subject(entry) or clip(text, TITLE)
        excerpt = _excerpt(entry.text, query) if title != text else ""
        to, near = {"entry": entry.id}, match.word_rank is None
        found.append(Found("memory", title, excerpt, _way(about, near), "pages/memory.py", to, near))
    return found


def _documents(bench: Workbench, query: str, most: int) -> list[Found]:
    found = []
    for hit in search.to_the_point(bench.library.scored(query, most), query):
        passage = hit.passage
        to = {"doc": passage.url, "quote": passage.quote}
        near = hit.words is None
        about = _way(collections.title(hit.collection), near)
        excerpt = _excerpt("\n".join(said_lines(passage.quote, current())), query)
        found.append(Found("document", passage.title, excerpt, about, "pages/library.py", to, near))
    return found


def _way(about: str, near: bool) -> str:
    return f"{about} · {t('similar meaning')}" if near else about


def _has(text: str, query: str) -> bool:
    folded = text.casefold()
    return all(word in folded for word in query.casefold().split())


def _excerpt(text: str, query: str) -> str:
    """Return the first sentence that has a word of the query, and those after it for which there is room.

    Without one, the first that is no question: a report may repeat what was asked as headings.
    """
    said = [" ".join(sentence.split()) for sentence in sentences(content(parse(text, cited=False)))]
    words = query.casefold().split()
    found = (n for n, each in enumerate(said) if any(word in each.casefold() for word in words))
    first = next(found, next((n for n, each in enumerate(said) if not each.endswith(("?", "？"))), 0))
    room = [sum(map(len, said[first:end])) for end in range(first + 2, len(said) + 1)]
    fitting = 1 + sum(size <= SHOWN for size in room)
    return clip(" ".join(said[first : first + fitting]), LONGEST)


def _words(text: str) -> str:
    """Return the words of a Markdown text in one line."""
    return " ".join(content(parse(text, cited=False)).split())
