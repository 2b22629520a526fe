"""What appears below a report: the result of the citation check, plots and sources."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import streamlit as st

from pages.parts.shared import cite
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import VERDICT_NAMES, VERDICTS, count
from research.citations import cited
from research.errors import REFUSED
from research.events.view import RunView
from research.sandbox.png import sanitized
from research.text import clip
from research.types import Source
from research.workbench import verifiers
from research.workbench.workbench import Workbench

PLOT_PIXELS = 16_000
"""Maximum width and height of a plot, because imported runs may contain anything."""
PLOTS, SOURCES, LISTED = 12, 60, 40
QUOTE = 1_500
"""Maximum characters of a quote."""


def checked(view: RunView) -> None:
    """Draw the verdicts, the uncited statements, and the addresses removed from the report."""
    found = Counter(citation.status for citation in view.citations)
    verdicts = [
        f":{VERDICTS[each][0]}[:material/{VERDICTS[each][1]}:] {found[each]:,} {t(VERDICT_NAMES[each])}"
        for each in VERDICTS
        if found[each]
    ]
    if view.uncited:
        verdicts.append(t("{statements} without a source", statements=count(len(view.uncited), "statement")))
    if verdicts:
        uncited = "  \n".join(f"- {plain(clip(sentence, 300))}" for sentence in view.uncited[:LISTED])
        st.caption(t("Citations: {verdicts}", verdicts=" · ".join(verdicts)), help=uncited or None)
    if view.removed:
        # As code, because Streamlit would turn them into links again.
        urls = "  \n".join(f"`{clip(url.replace('`', ''), 300)}`" for url in view.removed[:LISTED])
        taken = count(len(view.removed), "address")
        st.warning(urls, title=t("Removed, because no source contains it: {addresses}", addresses=taken))


def judged(bench: Workbench, view: RunView) -> None:
    """Draw who judged the citations, and how often each of them was right where it was measured."""
    names = dict.fromkeys(name for each in view.citations for name in (each.by, *(said.by for said in each.judgements)))
    names.pop("", None)
    if not names:
        return
    try:
        known = verifiers.measured(bench.settings.home)
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


def draw(view: RunView, report: str) -> None:
    """Draw the sources cited in `report` (its visible part) by number, then those read but not cited."""
    numbers = sorted(n for n in cited(report) if n in view.sources)
    shown = replace(view, report="".join(f"[{n}]" for n in numbers[:SOURCES])).cited_sources
    if shown:
        st.space("xsmall")
        st.caption(t("Sources"))
    for source in shown:
        st.subheader(f"\\[{source.n}\\] {plain(clip(source.title, 300))}", anchor=f"source-{source.n}")
        cite.quoted(clip(source.quote, QUOTE))
        cite.link(source)
    if more := len(numbers) - len(shown):
        st.caption(t("{sources} more in the download.", sources=count(more, "source")))
    known = set(numbers)
    rest = [cite.seen(quotes) for n, quotes in sorted(view.sources.items()) if n not in known]
    if rest:
        seen = count(len(rest), "more source")
        with st.expander(t("{sources} read, not cited", sources=seen), type="compact"):
            st.markdown(
                "  \n".join(
                    f":small[\\[{source.n}\\] {plain(clip(source.title, 200))}{_from(source)}]" for source in rest[:200]
                )
            )
            if len(rest) > 200:
                st.caption(t("{sources} more in the download.", sources=count(len(rest) - 200, "source")))


def _from(source: Source) -> str:
    return f" · {t('from memory')}" if source.memory else ""
