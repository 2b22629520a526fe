"""The report: first as it is written, then every statement with its citations and verdicts.

A report is foreign text of any size, so only as much is drawn as a browser can handle.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import nullcontext

import streamlit as st

from pages.parts.run import sources
from pages.parts.shared import cite
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain, prose
from pages.parts.shared.words import count
from research.agent.protocols.tagged import split_reasoning, tag
from research.citations import MARK, cited, normalised, statements, without_marks
from research.compare.diff import Block, blocks, changes
from research.events.view import RoundView, RunView
from research.store import RunRow
from research.text import clip
from research.types import Citation
from research.workbench.workbench import Workbench

LONGEST = 120_000
"""Maximum characters of a report."""
STATEMENTS = 400
STATEMENT = 12_000
"""Maximum characters of one statement, such as a table or code."""
CHIPS, CHIPS_EACH = 250, 12
"""Maximum number of clickable citations in total and per statement."""
BESIDE = 3
"""Maximum number of citations beside a statement; more are below it."""
DRAFT = 6_000
"""Characters shown of text being written, from its end."""
GONE = 20
"""Maximum number of removed statements shown."""
PART = 300
"""Maximum characters of a part of the question, and of the reason why it was not found."""
BEFORE = 2_000
"""Maximum characters of an earlier wording or a removed statement."""
_DEEP = re.compile(r"^(?:[ \t]*(?:[>*+-]|\d+[.)])){10}|^[ \t]{60}", re.M)
"""Quotations and lists nested so deeply that they slow down the browser."""
_KNOTS = re.compile(r"[\[\]*_`~]{40}|(?:\[[^\[\]\n]{0,3}+){30}|(?:[*_]{1,3}+[^\s*_]{0,3}+ ?+){60}")
"""Runs of brackets and emphasis that no writer means.

Possessive quantifiers keep matching linear.
"""


def draw(view: RunView, row: RunRow, bench: Workbench | None = None) -> None:
    """Draw the report of a run at the shown round, with what changed in that round; with its owner's workbench, who judged."""
    if view.error and view.status == "paused":
        st.warning(plain(clip(view.error, BEFORE)), title=t("The run is paused: fix this, then resume it"))
    elif view.error:
        st.error(plain(clip(view.error, BEFORE)), title=t("The run failed"))
        if view.traceback:
            with st.expander(t("Technical details"), type="compact"):
                st.code(view.traceback[-20_000:], language=None)
    finished = view.outcome is not None and view.outcome != "needs_input"
    if not view.report:
        if not view.error and not finished:
            found = count(len(view.sources), "source") if view.sources else t("no sources yet")
            st.caption(t("The report appears here. So far: {found}.", found=found))
        return
    laid_out = [Block(text) for text in _blocks(view.report)] if finished else _with_changes(view)
    _head(view, laid_out, finished)
    _answer(view)
    _statements(view, laid_out, "report", linked=True)
    if finished:
        sources.checked(view)
        if bench is not None:
            sources.judged(bench, view)
    sources.images(view)
    sources.draw(view, _shown(view.report))


def _answer(view: RunView) -> None:
    """Draw the short answer as one line, and the parts of the question that were not found."""
    if view.short:
        st.markdown(t("Answer: **{short}**", short=plain(view.short)))
    missing = [part for part in view.parts if part.status == "not_found"]
    if missing:
        lines = [
            f"- {plain(clip(part.text, PART))} :gray[:small[{plain(clip(part.reason, PART))}]]" for part in missing
        ]
        st.warning(
            "\n".join(lines[:GONE]),
            title=t("Not found") if len(view.parts) == 1 else t("These parts of the question were not found"),
            icon=":material/search_off:",
        )


def words(view: RunView, key: str) -> None:
    """Draw the report alone; `key` prefixes its element keys."""
    _statements(view, [Block(text) for text in _blocks(view.report)], key, linked=False)


def draft(view: RunView) -> None:
    """Draw the end of the report that the model is writing."""
    current = view.rounds[-1] if view.rounds else None
    written = _written(view, current) if current else ""
    if not written:
        return
    if view.report:
        st.caption(
            t(
                "Round {number} is writing: {written} so far",
                number=current.number if current else 0,
                written=count(len(written), "character"),
            )
        )
        return
    for block in list(blocks(normalised(_shown(written[-DRAFT:]))))[-STATEMENTS:]:
        st.markdown(_body(view, block, linked=False), anchors=False)


def _written(view: RunView, current: RoundView) -> str:
    """Return the answer or report in its tag, or untagged text without calls."""
    if current.reply is not None:
        return ""
    _, body = split_reasoning(current.draft)
    written = tag(body, "answer") or tag(body, "report") or ("" if "<" in body or view.report else body.strip())
    return re.sub(r"</?\w*$", "", written)


def _shown(text: str) -> str:
    """Return the part of a report that is drawn, cut at a line."""
    if len(text) <= LONGEST:
        return text
    head = text[:LONGEST]
    return head[: head.rfind("\n")] if "\n" in head[LONGEST // 2 :] else head


def _blocks(report: str) -> list[str]:
    return list(blocks(normalised(_shown(report))))


def _with_changes(view: RunView) -> list[Block]:
    """Return the report with the changes of its latest round; the first version has none."""
    versions = _versions(view)
    after = normalised(_shown(view.report))
    if len(versions) < 2 or versions[-1] != view.report:
        return [Block(text) for text in blocks(after)]
    return changes(normalised(_shown(versions[-2])), after)


def _versions(view: RunView) -> Sequence[str]:
    """Return the versions of the shown report by the agent that writes it, ignoring other agents' reports."""
    if len(view.agents) == 1:
        return [text for _, text in view.reports[-2:]]
    written: dict[str, list[str]] = defaultdict(list)
    author = ""
    for current in view.rounds:
        if current.reply and current.reply.report:
            written[current.agent].append(current.reply.report)
            author = current.agent if current.reply.report == view.report else author
    return written[author]


def _statements(view: RunView, laid_out: Sequence[Block], key: str, linked: bool) -> None:
    """Draw each block with its citations; changed blocks are marked in words and at the side."""
    standing = [block for block in laid_out if block.state != "removed"]
    checked: dict[int, list[Citation]] = defaultdict(list)
    for citation in view.citations:
        checked[citation.n].append(citation)
    left = CHIPS
    for number, block in enumerate(standing[:STATEMENTS]):
        if block.state == "same":
            left -= _statement(view, block, checked, linked, left)
            continue
        with st.container(key=f"became-{block.state}-{key}-{number}", horizontal=True, gap="xsmall", wrap=False):
            with st.container(gap="xsmall"):
                left -= _statement(view, block, checked, linked, left)
            if block.state == "added":
                st.caption(t("new"), width="content")
            else:
                with st.popover(t("changed"), type="tertiary", help=t("Previous wording")):
                    st.markdown(prose(_tame(clip(block.before, BEFORE))), anchors=False)
    if len(standing) > STATEMENTS or len(view.report) > LONGEST:
        st.info(
            t("The report is too long to show in full. The download has all of it."),
            icon=":material/content_cut:",
        )


def _head(view: RunView, laid_out: Sequence[Block], finished: bool) -> None:
    """Draw which version of the report is shown, and what its round changed."""
    found = Counter(block.state for block in laid_out)
    label = (
        t("Report") if finished else t("Report after round {number}", number=view.reports[-1][0] if view.reports else 0)
    )
    if found["added"] or found["changed"]:
        label += " · " + t("{added} new, {changed} changed", added=found["added"], changed=found["changed"])
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.caption(label, width="content")
        if found["removed"]:
            with st.popover(t("{removed} removed", removed=found["removed"]), type="tertiary", help=t("Removed text")):
                for block in [block for block in laid_out if block.state == "removed"][:GONE]:
                    st.markdown(prose(_tame(clip(block.text, BEFORE))), anchors=False)
                if (left := found["removed"] - GONE) > 0:
                    st.caption(t("and {statements} more", statements=count(left, "statement")))


def _statement(view: RunView, block: Block, checked: Mapping[int, list[Citation]], linked: bool, left: int) -> int:
    """Draw one block and return the number of its citation marks."""
    text = block.text[:STATEMENT]
    if len(block.text) > STATEMENT:
        text = text[: max(text.rfind("\n"), STATEMENT // 2)]
    numbers = cited(text)[: min(CHIPS_EACH, left)] if view.citations else []
    if _DEEP.search(text) or _KNOTS.search(text):
        st.code(text, language=None, wrap_lines=True)
        numbers = []
    elif not numbers:
        st.markdown(_body(view, text, linked), anchors=False)
    else:
        claims = {without_marks(statement.text) for statement in statements(text)}
        chips = [(n, next((c for c in checked[n] if c.claim in claims), None)) for n in numbers]
        beside = len(chips) <= BESIDE  # more of them would leave the text a column of single letters
        with st.container(horizontal=beside, gap="xsmall", vertical_alignment="top", wrap=not beside):
            st.markdown(_body(view, text, linked), width="stretch", anchors=False)
            with nullcontext() if beside else st.container(horizontal=True, gap="xsmall"):
                for n, citation in chips:
                    _chip(view, n, citation)
    if len(block.text) > STATEMENT:
        size = count(len(block.text), "character")
        st.caption(t("Shortened; the download has all {size}.", size=size))
    return len(numbers)


def _tame(text: str) -> str:
    """Return a passage without the nesting that slows down the browser, for a popover."""
    return " ".join(text.split()) if _DEEP.search(text) else _KNOTS.sub("…", text)


def _body(view: RunView, text: str, linked: bool) -> str:
    return MARK.sub(
        lambda match: " ".join(_mark(view, int(n), linked) for n in re.findall(r"\d+", match[1])), prose(text)
    )


def _chip(view: RunView, n: int, citation: Citation | None) -> None:
    if n in view.sources:
        cite.chip(cite.seen(view.sources[n]), citation)
    else:
        cite.missing(citation or Citation(n, "", "dead"))


def _mark(view: RunView, n: int, linked: bool) -> str:
    """Return `[n]`, as a link to the source below if there is one."""
    if n not in view.sources:
        return f":red[\\[{n}\\]]"
    return f"[\\[{n}\\]](#source-{n})" if linked else f"\\[{n}\\]"
