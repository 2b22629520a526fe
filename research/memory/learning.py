"""Turn an ended run into entries: supported citations into findings, sources into passages, and the report."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from research._util.glossary import small
from research.citations import cited, statements, without_marks
from research.citations.checking import rowed
from research.citations.labelled import label_of, told
from research.errors import ConfigError
from research.events.view import RunView, stated
from research.memory import Entry
from research.text import clip, has_cjk, language_of, line_tokens
from research.types import HOLDS, Citation, Source

MAX_PASSAGES = 200
"""Maximum number of passages from one run."""
REPORT_CHARACTERS = 20_000
"""Maximum length of a report in the memory."""
ANSWERED = ("answered", "partly_answered")
"""Outcomes of runs whose report is worth keeping; of other runs, only supported statements are."""
_EMPHASIS = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
_FRAGMENT_START = re.compile(r"[\s,;:，；、：)）]")
_WORD = re.compile(r"\w")
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"\d")
_YEAR, _YEARS = re.compile(r"(?:1[5-9]|20)\d\d\b|(?:1[5-9]|20)\d\d年"), re.compile(r"\byears?\b|年", re.I)
"""Match a year, and the head of its column."""
_ALSO = {"en": "(Also from: {titles})", "zh": "（另见：{titles}）"}
"""The line below a statement that names its further sources."""


def supported_findings(view: RunView) -> tuple[Entry, ...]:
    """Return a finding for each statement of the report that its sources support, in the order of the report.

    Each has the statement, the supporting quote of its first source, and the round in which the quote was seen; further
    sources are named below the statement.  Its provenance is "page" when the quote contains the statement word for word,
    else "model".  Raises `ConfigError` while the run is still running.
    """
    if view.running:
        raise ConfigError(f"run {view.run!r} is still running; keep its findings after it has ended")
    return _findings(view, _supported(view))


def new_findings(view: RunView) -> tuple[Entry, ...]:
    """Return the findings of a run, without those that rest only on a passage recalled from the memory.

    Otherwise runs would store the same finding repeatedly in different words.
    """
    return _findings(view, [each for each in _supported(view) if not _passage(view, each).memory])


def _findings(view: RunView, citations: Sequence[Citation]) -> tuple[Entry, ...]:
    """Return one finding for each statement, however many sources it cites."""
    cited_by: dict[str, list[Citation]] = {}
    contexts = {without_marks(each.text): each.context for each in statements(view.report) if each.row}
    for citation in citations:
        claim = _sentence(citation.claim, contexts.get(citation.claim, ""))
        cited_by.setdefault(claim, []).append(replace(citation, claim=claim))
    return tuple(dict.fromkeys(_finding(view, group) for group in cited_by.values()))


def _sentence(claim: str, context: str) -> str:
    """Return a row of a table as a sentence about its first cell of words alone, or of its year; any other claim as it is.

    What stands left of the words, such as a rank, comes last, and the year in brackets behind a figure.
    """
    cells = claim.split(" | ")
    about = next((place for place, cell in enumerate(cells) if _LETTER.search(cell) and not _DIGIT.search(cell)), None)
    pairs = list(zip(context.split("; ")[-len(cells) :], cells, strict=False))
    year = next((place for place, pair in enumerate(pairs) if _YEARS.search(pair[0]) and _YEAR.match(pair[1])), None)
    if len(cells) < 2 or about is None and year is None:
        return rowed(claim, context)
    comma, colon, brackets = ("，", "：", "（{}）") if has_cjk(claim + context) else (", ", ": ", " ({})")
    after = 0 if about is None else about + 1
    order = [place for place in (*range(after, len(pairs)), *range(after)) if place not in (about, year)]
    said = [
        " ".join((small(pairs[place][0]) if about is not None else pairs[place][0], cells[place])) for place in order
    ]
    if year is not None and said:
        said[0] += brackets.format(cells[year])
    return (f"{cells[about]}{colon}" if about is not None else "") + comma.join(said)


def _supported(view: RunView) -> list[Citation]:
    read = stated(view)  # a passage quoted below an answer is stored with its statement
    supported = [
        each for each in view.citations if each.status in HOLDS and each.n in view.sources and each.claim in read
    ]
    # A claim that begins with a comma is a fragment of a sentence and means nothing by itself.
    return [each for each in supported if not _FRAGMENT_START.match(each.claim) and _measured(view, each)]


def _measured(view: RunView, citation: Citation) -> bool:
    """Return whether a calculated claim names what was measured, and of what, unlike `The difference is 4.6 %`."""
    if citation.status != "calculated":
        return True
    titles = [each.title for each in view.sources[citation.n]]
    label = line_tokens(" ".join(map(label_of, citation.quote.partition("\n")[0].split("; "))))
    said = line_tokens(told(citation.claim, (), titles).text)
    subjects = [name for name, section, _ in (title.partition(" · ") for title in titles) if section]
    return (not label or bool(label & said)) and all(line_tokens(each) <= said for each in subjects)


def everything(view: RunView) -> tuple[Entry, ...]:
    """Return the new findings, the passages that the run read, and the report; recalled passages are left out.

    At most `MAX_PASSAGES` passages, those of cited sources first.
    """
    order = cited(view.report)
    numbers = sorted(view.sources, key=lambda n: order.index(n) if n in order else len(order))
    read = [source for n in numbers for source in view.sources[n] if source.quote.strip() and not source.memory]
    passages = [
        Entry(
            source.quote,
            kind="passage",
            provenance="page",
            run=view.run,
            round=_round(view, source.n, source.quote),
            url=source.url,
            title=source.title,
            quote=source.quote,
            time=view.updated,
        )
        for source in read[:MAX_PASSAGES]
    ]
    text = clip(view.report or view.answer, REPORT_CHARACTERS) if view.outcome in ANSWERED else ""
    report = Entry(text, kind="report", provenance="model", run=view.run, title=view.question, time=view.updated)
    return (*new_findings(view), *passages, *([report] if text.strip() and order else []))


def _finding(view: RunView, citations: Sequence[Citation]) -> Entry:
    citation = citations[0]
    source = _passage(view, citation)
    quote = citation.quote or source.quote
    text = _EMPHASIS.sub("", citation.claim)
    # A statement that consists of the title and the quote only adds nothing to the quote.
    if not _WORD.search(normalized(text).replace(normalized(source.title), "").replace(normalized(quote), "")):
        text = quote
    # An entry has only one source: its document is checked for the quote before the entry is recalled.
    others = dict.fromkeys(_passage(view, each).title for each in citations[1:] if each.n != citation.n)
    others.pop(source.title, None)
    also = f"\n{_ALSO[language_of(text)].format(titles='; '.join(others))}" if others else ""
    return Entry(
        text + also,
        kind="finding",
        provenance="page" if normalized(text) in normalized(quote) else "model",
        run=view.run,
        round=_round(view, citation.n, citation.quote),
        url=source.url,
        title=source.title,
        quote=quote,
        time=view.updated,
    )


def _passage(view: RunView, citation: Citation) -> Source:
    """Return the passage that supports the citation, preferring one that the run read over one that it recalled."""
    passages = sorted(view.sources[citation.n], key=lambda source: bool(source.memory))
    return next((each for each in passages if _contains(each, citation.quote)), passages[0])


def normalized(text: str) -> str:
    """Normalise case, spacing and final full stop, for comparison word for word."""
    return " ".join(text.split()).rstrip(".。").casefold()


def _round(view: RunView, n: int, quote: str) -> int:
    """Return the main agent's round in which the quote, or else its source, was first seen; 0 if neither was."""
    number, first = 0, 0
    for current in view.rounds:
        if current.agent == "main":
            number = current.number
        for source in (s for call in current.calls if call.observation for s in call.observation.sources):
            if source.n == n:
                first = first or number
                if _contains(source, quote):
                    return number
    return first


def _contains(source: Source, quote: str) -> bool:
    """Return whether the source has any line of the quote, which may join lines of several passages."""
    return any(line in source.quote for line in quote.splitlines() if line.strip())
