"""What appears below a report: plots, sources as cards, and what the citation check left open."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

import streamlit as st

from pages.parts.library import collections
from pages.parts.shared import cite
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import VERDICTS, count, times
from research.citations import cited
from research.errors import REFUSED
from research.events.view import RunView, quotes, searched
from research.exports.progress import quiet
from research.sandbox.png import sanitized
from research.text import clip, one_line
from research.types import Source
from research.workbench import verifier_registry
from research.workbench.workbench import Workbench

PLOT_PIXELS = 16_000
"""Maximum width and height of a plot, because imported runs may contain anything."""
PLOTS, SOURCES, LISTED = 12, 60, 40
QUOTE, QUOTES = 1_500, 8
"""Maximum characters of a quote, and number of quotes on a card."""


def verdicts(view: RunView) -> str:
    """Return the verdicts on the citations as Markdown: `2 supported · 1 calculated`; empty if there is none."""
    found = view.verdicts
    return " · ".join(
        f":{VERDICTS[each][0]}[:material/{VERDICTS[each][1]}:] {times(found[each], each)}"
        for each in VERDICTS
        if found.get(each)
    )


def checked(view: RunView) -> None:
    """Draw the statements without a source, and the addresses removed from the report."""
    if view.uncited:
        without = t("{statements} without a source", statements=count(len(view.uncited), "statement"))
        with st.expander(without, type="compact", icon=":material/help:"):
            st.markdown(
                "\n".join(f"- {plain(clip(sentence.replace('**', ''), 300))}" for sentence in view.uncited[:LISTED])
            )
    if view.removed:
        # As code, because Streamlit would turn them into links again.
        urls = "  \n".join(f"`{clip(url.replace('`', ''), 300)}`" for url in view.removed[:LISTED])
        taken = count(len(view.removed), "address")
        st.warning(urls, title=t("Removed, because no source contains it: {addresses}", addresses=taken))


def judged(bench: Workbench, view: RunView) -> None:
    """Draw who judged the citations, and how often each was right, if measured."""
    names = dict.fromkeys(name for each in view.citations for name in (each.by, *(said.by for said in each.judgements)))
    names.pop("", None)
    if not names:
        return
    try:
        known = verifier_registry.measured(bench.settings.home)
    except REFUSED:  # doctor reports the damaged file
        known = {}
    told = [f"{cite.judge(name)} ({cite.precision(known.get(name))})" for name in names]
    disputed = sum(cite.disputed(each) for each in view.citations)
    if disputed:
        told.append(t("they disagree on {statements}", statements=count(disputed, "statement")))
    st.caption(t("Judged by {judges}", judges=" · ".join(told)))


def images(view: RunView) -> None:
    for number, image in enumerate(view.images[:PLOTS], 1):
        if drawable := sanitized(image, PLOT_PIXELS):
            st.image(drawable, alt=t("Plot {number} of this run", number=number))


def looked(view: RunView) -> None:
    """Draw what the run searched, and where it found nothing."""
    found = searched(view)
    said = [plain(collections.title(name)) for name, each in found.items() if each.results]
    empty = [plain(collections.title(name)) for name, each in found.items() if not each.results]
    told = [t("Searched: {places}", places=t(", ").join(said))] if said else []
    if empty:
        told.append(t("Searched, nothing found: {places}", places=t(", ").join(empty)))
    if told:
        st.caption(" · ".join(told))


def kept(bench: Workbench, view: RunView) -> Container[str]:
    """Return the addresses of the run's sources that have a copy in the library."""
    return bench.library.pages.among(url for n in view.sources for url in view.source(n).addresses)


def draw(view: RunView, report: str, kept: Container[str]) -> None:
    """Draw the sources that the shown report cites in the order of their first use, then the others.

    While the run works, they are a list: a browser takes a third of a second to draw forty cards anew with each report.
    `report` also has the sections that are not shown; `kept`: as in `cite.link`.
    """
    numbers = [n for n in cited(view.report) if n in view.sources]
    shown = replace(view, report="".join(f"[{n}]" for n in numbers[:SOURCES])).cited_sources
    if shown:
        st.subheader(t("Sources") if view.given is None else t("Passages"), anchor=False)
    if view.running:
        st.markdown("  \n".join(f":small[{source.n}\u2002{_titled(source)}]" for source in shown))
    else:
        for source in shown:
            _card(view, source, kept, report)
    if more := len(numbers) - len(shown):
        st.caption(t("{sources} more in the download.", sources=count(more, "source")))
    known = set(numbers)
    rest = [view.source(n) for n in sorted(view.sources) if n not in known]
    if rest:
        with st.expander(t("Also read ({n})", n=len(rest)), type="compact"):
            st.markdown("  \n".join(f":small[{_titled(source)}]" for source in rest[:200]))
            if len(rest) > 200:
                st.caption(t("{sources} more in the download.", sources=count(len(rest) - 200, "source")))


def _card(view: RunView, source: Source, kept: Container[str], whole: str) -> None:
    """Draw a source with the verdicts on the statements that cite it, and its quotes: those not in the report, if there are."""
    found = quotes(view, source.n)
    with st.container(key=f"source-card-{source.n}", gap="xxsmall"):
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            title = f"{source.n}  {plain(clip(source.title, cite.TITLE))}"
            st.subheader(title, anchor=f"source-{source.n}", width="stretch")
            cite.link(source, found[0][0] if found else source.quote, kept)
        report = " ".join(view.report.split())
        new = [(quote, place) for quote, place in found if place or one_line(quote) not in report]
        found = new if view.outcome == "no_evidence" else new or found  # a refusal lists its passages
        for quote, place in found[:QUOTES]:
            lines = cite.lines(clip(quote, QUOTE)) or [""]
            lines[-1] += f" :small[:gray[{plain(place)}]]" if place else ""
            st.markdown("> " + "  \n> ".join(lines), anchors=False)
        if (left := len(found) - QUOTES) > 0:
            st.caption(t("and {quotes} more", quotes=count(left, "quote")))
        notes = [
            _statements(replace(view, report=whole), source.n),
            t("from memory") if source.memory else "",
            *map(plain, cite.notes(source)),
        ]
        if said := " · ".join(filter(None, notes)):
            st.caption(said)


def _statements(view: RunView, n: int) -> str:
    """Return the verdicts on the statements that cite a source."""
    own = [citation for citation in view.citations if citation.n == n and not quiet(view.outcome, citation)]
    return verdicts(replace(view, citations=tuple(own)))


def _titled(source: Source) -> str:
    return plain(clip(source.title, 200)) + (f" · {t('from memory')}" if source.memory else "")
