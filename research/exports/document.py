"""What stands in an exported report, whatever its format: title, facts, body, references, what was checked, plots.

All text is as it will be read: in the language of the report, free of invisible characters, and not yet escaped.
"""

from __future__ import annotations

import datetime
from collections import Counter
from typing import Final, Literal

from msgspec import Struct

from research.events import Edited, ReportEdited
from research.exports.blocks import Block, Heading, Span, parse, visible, words
from research.exports.csl import web
from research.exports.words import SYMBOLS, Words, words_of
from research.guard import MEMORY
from research.progress import OUTCOMES
from research.sandbox.png import copied
from research.text import clip
from research.types import Citation, Source
from research.view import RunView

STATUSES: Final[dict[Literal["supported", "partial", "unsupported", "dead"], str]] = {
    "supported": "supported", "partial": "partly supported", "unsupported": "not supported", "dead": "without a source",
}  # fmt: skip
"""How a cited statement stands to its source, in words."""

PLOTS = 8
PLOT_BYTES = 2_000_000
"""Of all plots together: what goes beyond either is left out and counted."""
_PLOT_PIXELS = 4_000
_LISTED = 10
"""Statements without a source, or addresses taken out, that are listed."""
_CLIPPED = 300


class Reference(Struct, frozen=True):
    """One numbered source."""

    n: int
    title: str
    address: str
    """Empty for a note in the memory."""
    quote: tuple[str, ...]
    """The lines that were seen."""
    verdict: str
    """In words: whether only the memory showed it, and how the statements that cite it stand, with a sign; may be empty."""
    doubts: tuple[str, ...]
    """Each statement that it does not fully support, and why."""

    @property
    def href(self) -> str:
        """The address where a link may lead to it, else empty."""
        return self.address if web(self.address) else ""

    @property
    def address_spans(self) -> tuple[Span, ...]:
        """The address as it stands behind the title."""
        if not self.address:
            return ()
        return Span("  "), Span(self.address, href=self.href, code=not self.href)


class Told(Struct, frozen=True):
    """A sentence of ours and the list under it."""

    text: str
    items: tuple[str, ...] = ()
    addresses: bool = False
    """The items are addresses that no link may lead to."""


class Document(Struct, frozen=True):
    say: Words
    title: str
    started: datetime.datetime
    facts: tuple[tuple[str, str], ...]
    """Name and value: when, with what, at what cost."""
    body: tuple[Block, ...]
    left: str
    """What is told of the rest of the report; empty when it is all here."""
    references: tuple[Reference, ...]
    checked: tuple[Told, ...]
    plots: tuple[bytes, ...]
    """PNG without anything but pixels."""
    plots_left: str
    """What is told of plots that are not here."""


def compose(view: RunView, longest: int) -> Document:
    """The document of a run; of its report at most `longest` characters."""
    say = words_of(view)
    title = visible(clip(" ".join(view.question.split()), _CLIPPED))
    report = view.report.strip()
    drawn = report if len(report) <= longest else report[: report.rfind("\n", 0, longest) + 1 or longest]
    body = parse(drawn, view.citations) if drawn else parse(say("There is no report yet."))
    match body:
        case (Heading(spans=spans), *_) if words(spans) == title:
            body = body[1:]  # it stands above already
    plots = _plots(view.images)
    left, hidden = len(report) - len(drawn), len(view.images) - len(plots)
    return Document(
        say, title, datetime.datetime.fromtimestamp(view.started, datetime.UTC), facts(view, say), body,
        say("The rest of the report is not drawn here: {left} of {all} characters.", left=f"{left:,}", all=f"{len(report):,}")
        if left else "",
        references(view, say), checked(view, say), plots,
        say("{count} not shown here: too large, too many, or no PNG.", count=say.count(hidden, "plot")) if hidden else "",
    )  # fmt: skip


def facts(view: RunView, say: Words) -> tuple[tuple[str, str], ...]:
    started = datetime.datetime.fromtimestamp(view.started, datetime.UTC)
    recipe = view.recipe
    models = dict.fromkeys([recipe.model, *(f"{model} ({role})" for role, model in recipe.roles.items())])
    tokens = say(
        "{sent} read, {written} written", sent=f"{view.prompt_tokens:,}", written=f"{view.completion_tokens:,}"
    )
    calls = say("{models}, {tools}", models=say.count(view.model_calls, "model call"),
                tools=say.count(view.tool_calls, "tool call").strip())  # fmt: skip
    found = {
        "Date": f"{started:%Y-%m-%d %H:%M} UTC",
        "Outcome": say(OUTCOMES[view.outcome] if view.outcome else "Still running"),
        "Recipe": f"{recipe.framework} / {recipe.context} · {recipe.hash}",
        "Model": ", ".join(models),
        "Rounds": f"{view.round_count():,}",
        "Calls": calls,
        "Tokens": say("about {tokens}", tokens=tokens) if view.estimated else tokens,
        "Cost": say("unknown") if view.cost_usd is None else f"${view.cost_usd:,.4f}".removesuffix("00"),
        "Time": say("{seconds} s", seconds=f"{view.seconds:,.1f}"),
        "Run": view.run,
    }
    return tuple((say(name), visible(value)) for name, value in found.items())


def references(view: RunView, say: Words) -> tuple[Reference, ...]:
    return tuple(_reference(source, view.citations, say) for source in view.cited_sources)


def _reference(source: Source, citations: tuple[Citation, ...], say: Words) -> Reference:
    own = [citation for citation in citations if citation.n == source.n]
    bad = [citation for citation in own if citation.status != "supported"]
    verdict = ""
    if own:
        sign = SYMBOLS["partial" if bad and len(bad) < len(own) else own[0].status if len(own) == 1 else
                       "unsupported" if bad else "supported"]  # fmt: skip
        verdict = f"{sign} " + say(
            "{good} of {all} supported", good=len(own) - len(bad), all=say.count(len(own), "statement")
        )
    if source.memory:
        verdict = " · ".join(filter(None, [say("from memory"), verdict]))
    lines = tuple(visible(line).strip() for line in source.quote.splitlines() if line.strip())
    doubts = tuple(_doubt(citation, say) for citation in bad)
    # A note has no address that leads anywhere.
    address = "" if source.url.startswith(MEMORY) else " ".join(visible(source.url).split())
    return Reference(source.n, _line(source.title), address, lines, verdict, doubts)


def _doubt(citation: Citation, say: Words) -> str:
    verdict, claim = say(STATUSES[citation.status]), _line(citation.claim)
    if not citation.reason:
        return say("{verdict} (“{claim}”)", verdict=verdict, claim=claim)
    return say("{verdict}: {reason} (“{claim}”)", verdict=verdict, reason=_line(citation.reason), claim=claim)


def checked(view: RunView, say: Words) -> tuple[Told, ...]:
    """How far the statements stand in the sources; empty when there was nothing to check."""
    statuses = Counter(citation.status for citation in view.citations)
    comma = "，" if say.language == "zh" else ", "
    counts = comma.join(
        f"{SYMBOLS[each]} {statuses[each]} {say(STATUSES[each])}" for each in STATUSES if statuses[each]
    )
    dead = [f"[{c.n}] {_line(c.claim)}" for c in view.citations if c.status == "dead"]
    uncited = [_line(sentence) for sentence in view.uncited]
    removed = [_line(url) for url in view.removed]
    told = []
    if view.edits:
        text = say(
            "{count} edited by the user before the research went on:", count=say.count(len(view.edits), "finding")
        )
        told.append(Told(text, _listed([_edit(edit, say) for edit in view.edits], say)))
    if view.citations:
        told.append(
            Told(say("{count} checked: {told}.", count=say.count(len(view.citations), "citation"), told=counts))
        )
    if dead:
        told.append(Told(say("Cited numbers that no source has:"), _listed(dead, say)))
    if uncited:
        text = say("{count} without a source:", count=say.count(len(uncited), "sentence"))
        told.append(Told(text, _listed(uncited, say)))
    if removed:
        text = say("{count} taken out that no source had shown:", count=say.count(len(removed), "address"))
        told.append(Told(text, _listed(removed, say), addresses=True))
    return tuple(told)


def _edit(edit: Edited | ReportEdited, say: Words) -> str:
    if isinstance(edit, ReportEdited):
        return say("the evolving report")
    return _line(f"{edit.observation.name}: {edit.observation.text}")


def _listed(items: list[str], say: Words) -> tuple[str, ...]:
    left = len(items) - _LISTED
    return (*items[:_LISTED], *([say("and {left} more", left=left)] if left > 0 else []))


def _line(text: str) -> str:
    return visible(clip(" ".join(text.split()), _CLIPPED))


def _plots(images: list[bytes]) -> tuple[bytes, ...]:
    """The plots that any reader can draw, as many as there is room for."""
    drawn: list[bytes] = []
    room = PLOT_BYTES
    for image in images:
        if len(image) <= room and len(drawn) < PLOTS and (plot := copied(image, _PLOT_PIXELS)):
            room -= len(image)
            drawn.append(plot)
    return tuple(drawn)
