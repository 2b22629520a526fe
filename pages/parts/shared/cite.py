"""Citation marks that open the quoted passage, its title and its link."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

import streamlit as st

from pages.parts.shared import language
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import VERDICT_NAMES, VERDICTS, count
from research._util.retold import retold, said_lines
from research.citations.reasons import judged, one_line, told
from research.exports.csl_json import web
from research.text import clip, content_tokens, has_cjk, tokens
from research.types import Citation, Source, Verdict
from research.web.url_guard import MEMORY
from research.workbench.calibration import Calibration

LIBRARY, REMEMBERED = "pages/library.py", "pages/memory.py"
_WORD: Final = re.compile(r"[^\W_]+")
_HEADING: Final = re.compile(r"^#{1,6}\s+")
TITLE, QUOTE = 300, 1_500
"""Maximum characters of a title, and of a quote or a reason."""


def chip(source: Source) -> None:
    """Draw a clickable number that opens the source's quote; sources from memory are marked."""
    label = f"\\[{source.n}\\]" + (" :material/neurology:" if source.memory else "")
    title = plain(clip(source.title, TITLE))
    with st.popover(label, type="tertiary", help=title):
        st.markdown(f"**\\[{source.n}\\] {title}**")
        quoted(clip(source.quote, QUOTE))
        if said := notes(source):
            st.caption(plain("; ".join(said)))
        link(source, source.quote)


def notes(source: Source) -> list[str]:
    """Return what a reader of the source must know, such as what was left out of it."""
    return [clip(retold(note, language.current()), QUOTE) for note in source.notes]


def quoted(text: str) -> None:
    """Draw a passage line by line."""
    with st.container(border=True):
        st.markdown("\n\n".join(lines(text)) or "—")


def lines(text: str) -> list[str]:
    """Return the lines of a passage as Markdown that shows their words, without the signs of a table or a heading."""
    found = []
    for line in said_lines(text, language.current()):
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            ruled = all(set(cell) <= set("-:") for cell in cells)  # the line below the head of a table
            found.append("" if ruled else " · ".join(filter(None, cells)))
        else:
            found.append(_HEADING.sub("", line))
    return [plain(line) for line in found if line]


def marked(line: str, query: str) -> str:
    """Return a line of Markdown in which the words of the query are marked, in the singular and the plural."""
    wanted = set(content_tokens(query))
    if has_cjk(query):  # text without spaces is not split the same way everywhere
        words = "|".join(re.escape(each) for each in sorted(wanted, key=len, reverse=True) if each in line)
        return re.sub(words, lambda found: f":primary-background[{found[0]}]", line) if words else line
    return _WORD.sub(lambda m: f":primary-background[{m[0]}]" if wanted & set(tokens(m[0])) else m[0], line)


def sentence(status: Verdict, why: str) -> str:
    """Return a verdict and its reason as one sentence."""
    if not why or status == "dead":
        return t(VERDICTS[status][2])
    name = t(VERDICT_NAMES[status])
    return t("{verdict}: {reason}.", verdict=name[:1].upper() + name[1:], reason=why.rstrip(".。"))


def reason_text(citation: Citation) -> str:
    """Return the reason for a verdict."""
    return clip(told(citation, language.current()), QUOTE)


def opinions(citation: Citation) -> list[str]:
    """Return what each judge said of a statement, apart from the reason of the verdict."""
    rules, *others = citation.judgements
    said = [f"{judge_text(rules.by)}: {t(VERDICT_NAMES[rules.status])}"]
    said += [one_line(judged(each), language.current()) for each in others]
    return [each for each in said if each != reason_text(citation)]


def judge(name: str) -> str:
    """Return the name of a judge as Markdown."""
    return plain(judge_text(name))


def judge_text(name: str) -> str:
    """Return the name of a judge."""
    return t("the rules") if name == "rules" else name.removeprefix("model:")


def precision(found: Calibration | None) -> str:
    """Return how often a judge was right where it was measured."""
    if found is None:
        return t("precision not measured here")
    ticks, flags = ("–" if rate.share is None else f"{rate.share:.0%}" for rate in (found.supported, found.flagged))
    return t("measured on {claims}: {ticks} of its ticks and {flags} of its flags right",
             claims=count(found.claims, "statement"), ticks=ticks, flags=flags)  # fmt: skip


def disputed(citation: Citation) -> bool:
    """Return whether one judge ticks the statement and another denies it."""
    said = {each.status for each in citation.judgements}
    return bool(said & {"supported", "calculated"} and said & {"contradicted", "unsupported", "partial"})


def link(source: Source, quote: str = "", kept: Container[str] = ()) -> None:
    """Draw the links to a source: a page of this app for library documents, otherwise the web addresses, and its memory
    entry.

    `kept`: the web addresses of which the library has a copy, which is linked too.
    """
    for url in source.addresses:
        parameters = {"doc": url, "quote": quote or source.quote}
        if url.startswith("library://"):
            st.page_link(LIBRARY, label=t("Open in the library"), icon=":material/menu_book:", query_params=parameters)
        elif web(url):
            st.page_link(url, label=plain(url), icon=":material/open_in_new:")
            if url in kept:
                label = t("Open the kept copy")
                st.page_link(LIBRARY, label=label, icon=":material/menu_book:", query_params=parameters)
        elif not url.startswith(MEMORY):
            st.caption(plain(url))
    if source.memory and may_open_memory():
        st.page_link(
            REMEMBERED,
            label=t("Open the memory entry"),
            icon=":material/neurology:",
            query_params={"entry": source.memory},
        )


def may_open_memory() -> bool:
    """Return whether the page may link to the memory: in a shared run it is that of the owner."""
    return "shared" not in st.query_params
