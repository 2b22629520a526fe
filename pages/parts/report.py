"""The report: the words as they come, then every statement with the sources it cites."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import streamlit as st

from pages.parts import cite
from pages.parts.safe import plain, prose
from pages.parts.words import VERDICTS, count
from research.citations import MARK, cited, normalised, statements, without_marks
from research.exports import bibtex, csl
from research.exports.markdown import markdown
from research.protocols.tagged import split_reasoning, tag
from research.sandbox.png import copied
from research.types import Citation
from research.view import RunView

PLOT_PIXELS = 16_000
"""Width and height of the largest plot that is drawn; a run that was brought from elsewhere may hold anything."""
_ITEM = re.compile(r"(?=^(?:[-*+]|\d+[.)]) )", re.M)


def draw(view: RunView) -> None:
    """The report of a run, or as much of it as is written."""
    text = _draft(view) or view.report
    if view.error:
        st.error(plain(view.error), title="The run failed")
        if view.traceback:
            with st.expander("Technical details", type="compact"):
                st.code(view.traceback, language=None)
    for block in blocks(normalised(text)):
        _statement(view, block)
    if not text and not view.error:
        found = count(len(view.sources), "source") if view.sources else "nothing"
        st.caption(f"The report will stand here. Found so far: {found}.")
    if view.report:
        if not view.running:
            _checked(view)
        for image in view.images:
            if drawable := copied(image, PLOT_PIXELS):
                st.image(drawable)
        _sources(view)
        _downloads(view)


def blocks(text: str) -> Iterator[str]:
    """The statements of a report: paragraphs, and each item of a list by itself; code and tables stay whole."""
    pieces: list[str] = []
    for piece in re.split(r"\n\s*\n", text.strip()):
        if pieces and pieces[-1].count("```") % 2:
            pieces[-1] += f"\n\n{piece}"
        else:
            pieces.append(piece)
    for piece in pieces:
        yield from ([piece] if "```" in piece else (item.rstrip() for item in _ITEM.split(piece) if item.strip()))


def _draft(view: RunView) -> str:
    """What is being written for this place: an answer or a report in its tag, or untagged text that calls nothing."""
    current = view.rounds[-1] if view.rounds else None
    if current is None or current.reply is not None:
        return ""
    _, body = split_reasoning(current.draft)
    written = tag(body, "answer") or tag(body, "report") or ("" if "<" in body or view.report else body.strip())
    return re.sub(r"</?\w*$", "", written)


def _statement(view: RunView, block: str) -> None:
    numbers = cited(block)
    body = MARK.sub(lambda match: " ".join(_mark(view, int(n)) for n in re.findall(r"\d+", match[1])), prose(block))
    if not numbers or not view.citations:
        st.markdown(body, anchors=False)
        return
    claims = {without_marks(statement.text) for statement in statements(block)}
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="top", wrap=False):
        st.markdown(body, width="stretch", anchors=False)
        for n in numbers:
            _chip(view, n, next((c for c in view.citations if c.n == n and c.claim in claims), None))


def _chip(view: RunView, n: int, citation: Citation | None) -> None:
    if n in view.sources:
        cite.chip(view.sources[n][0], citation)
    else:
        cite.missing(citation or Citation(n, "", "dead"))


def _mark(view: RunView, n: int) -> str:
    """`[n]` as a link to the source below, where there is one."""
    return f"[\\[{n}\\]](#source-{n})" if n in view.sources else f":red[\\[{n}\\]]"


def _downloads(view: RunView) -> None:
    made = {
        "Markdown": (markdown(view), "md", "text/markdown"),
        "BibTeX": (bibtex.render(view), "bib", "application/x-bibtex"),
        "CSL JSON": (csl.render(view), "csl.json", "application/json"),
    }
    with st.container(horizontal=True, gap="xsmall"):
        for label, (content, suffix, kind) in made.items():
            st.download_button(
                label, content, f"{view.run}.{suffix}", kind, icon=":material/download:", on_click="ignore"
            )


def _checked(view: RunView) -> None:
    """What came of comparing the report with its sources: verdicts, statements that cite nothing, addresses taken out."""
    found = Counter(citation.status for citation in view.citations)
    verdicts = [
        f":{VERDICTS[each][0]}[:material/{VERDICTS[each][1]}:] {found[each]} {each}" for each in VERDICTS if found[each]
    ]
    if view.uncited:
        verdicts.append(f"{count(len(view.uncited), 'statement')} without a source")
    if verdicts:
        told = "  \n".join(f"- {plain(sentence)}" for sentence in view.uncited)
        st.caption("Checked against the sources: " + " · ".join(verdicts), help=told or None)
    if view.removed:
        # As code: Streamlit would make links of them again.
        urls = "  \n".join(f"`{url.replace('`', '')}`" for url in view.removed)
        st.warning(urls, title=f"Taken out, because no source had shown it: {count(len(view.removed), 'address')}")


def _sources(view: RunView) -> None:
    shown = view.cited_sources
    if shown:
        st.space("xsmall")
        st.caption("Sources")
    for source in shown:
        st.subheader(f"\\[{source.n}\\] {plain(source.title)}", anchor=f"source-{source.n}")
        cite.quoted(source.quote)
        cite.link(source)
    rest = [quotes[0] for n, quotes in sorted(view.sources.items()) if n not in {s.n for s in shown}]
    if rest:
        with st.expander(f"{count(len(rest), 'more source')} seen and not cited", type="compact"):
            for source in rest:
                st.caption(f"\\[{source.n}\\] {plain(source.title)}")
