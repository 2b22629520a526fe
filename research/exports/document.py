"""The parts of an exported report that all formats share: title, facts, body, references, checks, plots.

All text is ready to read: in the language of the report, without invisible characters, and not escaped yet.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from research._util.egress import Sent
from research._util.http import is_loopback
from research._util.retold import retold, said_lines
from research.citations import cited, shelf
from research.citations.marks import SYMBOLS
from research.citations.reasons import told
from research.events.events import Edited, ReportEdited
from research.events.view import RunView, quotes, stated, without_quotes
from research.exports.blocks import (
    UNSOURCED,
    Align,
    Block,
    Heading,
    Paragraph,
    Span,
    Table,
    content,
    parse,
    visible,
    words,
)
from research.exports.charts import Chart, charts, headline
from research.exports.csl_json import web
from research.exports.labels import Words, words_of
from research.exports.numbering import by_first_use
from research.exports.progress import OUTCOMES, missing, quiet
from research.sandbox.png import sanitized
from research.text import clip, language_of
from research.types import HOLDS, Citation, Part, Source, Verdict
from research.web.url_guard import LIBRARY, MEMORY

STATUSES: Final[dict[Verdict, str]] = {
    "supported": "supported",
    "calculated": "calculated",
    "partial": "partly supported",
    "unverified": "not verified",
    "unsupported": "not supported",
    "contradicted": "contradicted",
    "dead": "without a source",
}
"""The status of a citation, in words."""
COLOURS: Final[dict[Verdict, str]] = {
    "supported": "1A7F37",
    "calculated": "1A7F37",
    "partial": "8A5A00",
    "unverified": "5B636D",
    "unsupported": "C02A2A",
    "contradicted": "C02A2A",
    "dead": "C02A2A",
}
"""The colour of each status where it is drawn."""

PLOTS = 8
PLOT_BYTES = 2_000_000
"""Limit for all plots together.  Plots beyond either limit are left out and counted."""
_PLOT_PIXELS = 4_000
_LISTED = 10
"""Maximum number of items in a list of statements or addresses."""
_CLIPPED = 300
"""Characters of a title, statement or reason."""


class Reference(Struct, frozen=True):
    """One numbered source."""

    n: int
    title: str
    addresses: tuple[str, ...]
    """Empty for sources in the library or memory: the title names the collection."""
    quote: tuple[str, ...]
    """The quoted lines seen by the run."""
    verdict: str
    """How many statements that cite it are supported, with a sign, and whether it is from memory; may be empty."""
    doubts: tuple[str, ...]
    """One line for each statement it does not fully support, with the reason; one that another reference has is left out."""
    notes: str = ""
    """What was left out of it, and the date of a copy; empty if there is nothing to say."""

    @property
    def address_spans(self) -> tuple[Span, ...]:
        """The addresses, formatted to follow the title; those that may be linked are links."""
        spans = (Span(url, href=url) if web(url) else Span(url, code=True) for url in self.addresses)
        return tuple(part for span in spans for part in (Span("  "), span))


class Note(Struct, frozen=True):
    """A sentence of the workbench and the list under it."""

    text: str
    items: tuple[str, ...] = ()
    addresses: bool = False
    """Whether the items are addresses that must not become links."""


class Drawn(Struct, frozen=True):
    """A chart of the answer's figures, as on the page, with its table."""

    title: str
    picture: bytes
    """A PNG file without the title, which is shown above it."""
    told: str
    """The figures in one line, for readers who do not see the picture."""
    table: Table | None
    """None if the report has these figures in tables."""


class Document(Struct, frozen=True):
    """A report to export."""

    say: Words
    title: str
    started: datetime.datetime
    facts: tuple[tuple[str, str], ...]
    """Pairs of name and value: date, recipe, cost and so on."""
    body: tuple[Block, ...]
    left: str = ""
    """Note on the part of the report that was cut; empty if there is none."""
    charts: tuple[Drawn, ...] = ()
    references: tuple[Reference, ...] = ()
    checked: tuple[Note, ...] = ()
    plots: tuple[bytes, ...] = ()
    """PNG files without metadata."""
    plots_left: str = ""
    """Note on the plots that were left out; empty if there are none."""
    numbers: frozenset[int] = frozenset()
    """Those of the references."""


def compose(view: RunView, longest: int) -> Document:
    """Return the document of a run, with at most `longest` characters of its report."""
    say, view = words_of(view), by_first_use(view)
    title = visible(clip(" ".join(view.question.split()), _CLIPPED))
    report = without_quotes(view).strip()
    drawn, left = _cut(report, longest, say)
    judged = [each for each in view.citations if not quiet(view.outcome, each)]
    body = parse(drawn, judged, uncited=view.uncited) if drawn else parse(say("There is no report yet."))
    match body:
        case (Heading(spans=spans), *_) if words(spans) == title:
            body = body[1:]  # the title repeats it
    if view.short:
        label = f"{say('Answer:')} ".replace("： ", "：")  # a Chinese colon brings its own space
        body = (Paragraph((Span(label, bold=True), Span(visible(headline(view))))), *body)
    listed = references(view, say)
    return Document(
        say,
        title,
        datetime.datetime.fromtimestamp(view.started, datetime.UTC),
        facts(view, say),
        body,
        left,
        tuple(_drawn(chart, say) for chart in charts(view)),
        listed,
        checked(view, say, UNSOURCED),
        *plots(view.images, say),
        frozenset(each.n for each in listed),
    )


_HEAD = re.compile(r"\A(?:---\n.*?\n---\s+)?(?:# ([^\n]+)\n)?", re.S)
"""The properties and the title of a Markdown file of ours."""


def paper(text: str, longest: int) -> Document:
    """Return the document of a Markdown file of ours, such as a comparison, with at most its first `longest` characters."""
    head = _HEAD.match(text)
    title, body = (head[1] or "", text[head.end() :]) if head else ("", text)
    say = Words(language_of(title))
    drawn, left = _cut(body, longest, say)
    heading = content(parse(title, cited=False))
    return Document(say, heading, datetime.datetime.now(datetime.UTC), facts=(), body=parse(drawn), left=left)


def _cut(text: str, longest: int, say: Words) -> tuple[str, str]:
    """Return the lines of a text within its first `longest` characters, and the note on the rest; empty if there is none."""
    if len(text) <= longest:
        return text, ""
    drawn = text[: text.rfind("\n", 0, longest) + 1 or longest]
    left, whole = f"{len(text) - len(drawn):,}", f"{len(text):,}"
    return drawn, say("The rest of the report is not drawn here: {left} of {all} characters.", left=left, all=whole)


def _drawn(chart: Chart, say: Words) -> Drawn:
    from research.exports.drawing import png  # loads matplotlib

    columns: dict[str, list[Span]] = {
        say("Subject"): [Span(point.subject) for point in chart.points],
        say("Year"): [Span(str(point.year or "–")) for point in chart.points if chart.dated],
        say("Value"): [Span(point.written) for point in chart.points],
        say("Source"): [Span(f"[{point.n}]", cites=point.n) for point in chart.points],
    }
    shown = {name: spans for name, spans in columns.items() if spans}
    align: dict[str, Align] = {say("Value"): "right"}
    told = "; ".join(say("{name}: {value}", name=chart.label(point), value=point.written) for point in chart.points)
    rows = tuple(tuple((span,) for span in row) for row in zip(*shown.values(), strict=True))
    table = Table(tuple((Span(name),) for name in shown), rows, tuple(align.get(name, "left") for name in shown))
    return Drawn(visible(chart.name), png(chart, titled=False), visible(told), None if chart.tabled else table)


def facts(view: RunView, say: Words) -> tuple[tuple[str, str], ...]:
    """Return what the report says about its run, as pairs of name and value."""
    started = datetime.datetime.fromtimestamp(view.started, datetime.UTC)
    recipe = view.recipe
    models = dict.fromkeys(
        [say.model(recipe.model), *(f"{say.model(model)} ({role})" for role, model in recipe.roles.items())]
    )
    tokens = say(
        "{sent} read, {written} written", sent=f"{view.prompt_tokens:,}", written=f"{view.completion_tokens:,}"
    )
    calls = say(
        "{models}, {tools}",
        models=say.count(view.model_calls, "model call"),
        tools=say.count(view.tool_calls, "tool call").strip(),
    )
    found = {
        "Date": f"{started:%Y-%m-%d %H:%M} UTC",
        "Outcome": _outcome(view, say),
        "Recipe": say.way(recipe),
        "Model": ", ".join(models),
        "Rounds": f"{view.round_count():,}",
        "Calls": calls,
        "Tokens": say("about {tokens}", tokens=tokens) if view.estimated else tokens,
        "Cost": say("unknown") if view.cost_usd is None else f"${view.cost_usd:,.4f}".removesuffix("00"),
        "Time": say("{seconds} s", seconds=f"{view.seconds:,.1f}"),
        **({} if view.sent is None else {"Left this machine": left(view.sent, say)}),
        **({"Follow-up to": _line(view.earlier.exchanges[-1].question)} if view.earlier else {}),
        "Run": view.run,
    }
    return tuple((say(name), visible(value)) for name, value in found.items())


KINDS: Final = ("question", "passages", "memory", "search words", "addresses", "arguments")
"""What can be sent."""


def left(sent: Sequence[Sent], say: Words) -> str:
    """Return what left this machine: hosts, requests, bytes and kinds of content."""
    sent = [each for each in sent if not is_loopback(f"//{each.host}")]
    if not sent:
        return say("nothing")
    return "; ".join(
        say(
            "{requests} to {host}, {size} kB ({kinds})",
            requests=say.count(each.requests, "request"),
            host=each.host,
            size=f"{each.bytes / 1000:,.1f}",
            kinds=", ".join(say(kind) if kind in KINDS else kind for kind in each.kinds),
        )
        for each in sent
    )


def _outcome(view: RunView, say: Words) -> str:
    ended = {"answered": "Report checked", "no_evidence": "Nothing could be judged"} if view.given else {}
    words = say({**OUTCOMES, **ended}[view.outcome] if view.outcome else "Still running")
    if view.outcome != "partly_answered" or len(view.parts) < 2:
        return words
    good = sum(part.status == "answered" for part in view.parts)
    return f"{words} · " + say("{good} of {all} parts", good=good, all=len(view.parts))


def references(view: RunView, say: Words) -> tuple[Reference, ...]:
    """Return the sources that the file cites, in the order of their numbers in the report.

    Those that only its quotes cite, which the file leaves out, come only if there are no others.
    """
    drawn = {*cited(without_quotes(view)), *(point.n for chart in charts(view) for point in chart.points)}
    shown = [source for source in view.cited_sources if source.n in drawn] or view.cited_sources
    own: dict[int, list[Citation]] = {source.n: [] for source in shown}
    read = stated(view)
    for each in view.citations:
        if each.n in own and each.claim in read:
            own[each.n].append(each)
    answered, doubts = view.outcome != "no_evidence", _doubts(own, say)
    return tuple(
        _reference(source, quotes(view, source.n), own[source.n], say, answered, doubts.get(source.n, ()))
        for source in shown
    )


def _reference(
    source: Source,
    quoted: list[tuple[str, str]],
    own: list[Citation],
    say: Words,
    answered: bool,
    doubts: Sequence[str],
) -> Reference:
    """Return a source with the verdicts on its own citations."""
    verdict = _counted(Counter(citation.status for citation in own), say) if answered else ""
    if source.memory:
        verdict = " · ".join(filter(None, [say("from memory"), verdict]))
    said = (("\n".join(said_lines(text, say.language)), place) for text, place in quoted)
    text = "\n".join(f"{text} ({place})" if place else text for text, place in said)
    lines = tuple(visible(line) for line in text.splitlines())
    title = shelf.written(source.title, source.addresses, say.language)
    # addresses of library and memory lead nowhere outside the workbench
    outside = (url for url in source.addresses if not url.startswith((LIBRARY, MEMORY)))
    addresses = tuple(" ".join(visible(url).split()) for url in outside)
    notes = say("Of this source: {notes}", notes="; ".join(retold(note, say.language) for note in source.notes))
    notes = visible(notes) if source.notes else ""
    return Reference(source.n, _line(title), addresses, lines, verdict, tuple(doubts), notes)


def _doubts(citations: Mapping[int, Sequence[Citation]], say: Words) -> dict[int, list[str]]:
    """Return what is said of statements that their sources do not fully support, by source.

    What concerns several sources is said once, at the first, with the numbers of all.
    """
    numbers: dict[str, dict[int, None]] = {}
    for n, own in citations.items():
        for each in own:
            if each.status not in HOLDS:
                numbers.setdefault(_doubt(each, say), {})[n] = None
    found: dict[int, list[str]] = {}
    for text, places in numbers.items():
        first, *others = places
        found.setdefault(first, []).append(f"[{', '.join(map(str, places))}] {text}" if others else text)
    return found


def _counted(statuses: Mapping[Verdict, int], say: Words) -> str:
    """Return how many statements have each verdict, with its sign: `✓ 1 supported, ✗ 2 contradicted`."""
    comma = "，" if say.language == "zh" else ", "
    return comma.join(
        f"{SYMBOLS[each]} {statuses[each]} {say(STATUSES[each])}" for each in STATUSES if statuses.get(each)
    )


def _doubt(citation: Citation, say: Words) -> str:
    verdict, claim = say(STATUSES[citation.status]), _line(_unmarked(citation.claim))
    if not citation.reason:
        return say("{verdict} (“{claim}”)", verdict=verdict, claim=claim)
    reason = _line(told(citation, say.language))
    return say("{verdict}: {reason} (“{claim}”)", verdict=verdict, reason=reason, claim=claim)


def checked(view: RunView, say: Words, mark: str = "") -> tuple[Note, ...]:
    """Return the notes on missing parts, edits, citations and removed addresses; empty if there is nothing to report.

    `mark` is the mark of an unsourced sentence, if the file shows it.
    """
    statuses = view.verdicts
    dead = [f"[{c.n}] {_line(c.claim)}" for c in view.citations if c.status == "dead"]
    uncited = [_line(_unmarked(sentence)) for sentence in view.uncited]
    removed = [_line(url) for url in view.removed]
    notes = []
    if parts := missing(view):
        notes.append(Note(say("Parts of the question that were not found:"), _listed([_part(p) for p in parts], say)))
    if view.edits:
        text = say(
            "{count} edited by the user before the research went on:", count=say.count(len(view.edits), "finding")
        )
        notes.append(Note(text, _listed([_edit(edit, say) for edit in view.edits], say)))
    if view.citations and view.outcome != "no_evidence":
        number = say.count(sum(statuses.values()), "citation")
        notes.append(Note(say("{count} checked: {told}.", count=number, told=_counted(statuses, say))))
    if dead:
        notes.append(Note(say("Cited numbers that no source has:"), _listed(dead, say)))
    if uncited:
        counted = say.count(len(uncited), "sentence")
        text = say("{count} without a source:", count=counted)
        if mark:
            text = say("{count} without a source, marked {mark}:", count=counted, mark=mark)
        notes.append(Note(text, _listed(uncited, say)))
    if removed:
        text = say("{count} taken out that no source had shown:", count=say.count(len(removed), "address"))
        notes.append(Note(text, _listed(removed, say), addresses=True))
    return tuple(notes)


def _part(part: Part) -> str:
    return _line(f"{part.text} ({part.reason})" if part.reason else part.text)


def _edit(edit: Edited | ReportEdited, say: Words) -> str:
    if isinstance(edit, ReportEdited):
        return say("the evolving report")
    return _line(f"{edit.observation.name}: {edit.observation.text}")


def _listed(items: list[str], say: Words) -> tuple[str, ...]:
    left = len(items) - _LISTED
    return (*items[:_LISTED], *([say("and {left} more", left=left)] if left > 0 else []))


def _unmarked(statement: str) -> str:
    """Return the words of a statement of the report without its markup."""
    return content(parse(statement, cited=False))


def _line(text: str) -> str:
    return visible(clip(" ".join(text.split()), _CLIPPED))


def plots(images: Sequence[bytes], say: Words) -> tuple[tuple[bytes, ...], str]:
    """Return the plots that are valid PNG files, within the limits on number and size, and a note on the others."""
    drawn: list[bytes] = []
    bytes_left = PLOT_BYTES
    for image in images:
        if len(image) <= bytes_left and len(drawn) < PLOTS and (plot := sanitized(image, _PLOT_PIXELS)):
            bytes_left -= len(image)
            drawn.append(plot)
    left = len(images) - len(drawn)
    note = say("{count} not shown here: too large, too many, or no PNG.", count=say.count(left, "plot"))
    return tuple(drawn), note if left else ""
