"""The report: as it is written, then with one citation mark for each statement, its verdict and its quote.

A report is foreign text of any size, so only as much is drawn as a browser can handle.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import replace
from itertools import islice

import streamlit as st

from pages.parts.run import drafting, figures, reading, so_far, sources, tried
from pages.parts.shared import component
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain, prose
from pages.parts.shared.words import agent_name, count
from research.compare.diff import Block, blocks, changes
from research.events.quotations import unplaced
from research.events.rounds import RoundView
from research.events.view import RunView, without_quotes
from research.exports.charts import headline
from research.exports.labels import words_of
from research.exports.numbering import by_first_use, numbering, renumbered
from research.exports.progress import OUTCOMES, missing
from research.parsing.answer_account import without_account
from research.protocols.tagged import split_reasoning, tag
from research.text import clip
from research.workbench import auditing

LONGEST = 120_000
"""Maximum characters of a report."""
STATEMENTS, STATEMENT = 600, 20_000
"""Maximum number of statements of a report, and of characters of one, such as a table: parsing them takes time."""
BESIDE = 250
"""Characters of untagged words that may still turn out to precede a call."""
WRITERS = ("researcher", "writer")
"""The roles that write the report; the others plan, sum up, read and judge."""
GONE = 20
"""Maximum number of removed statements shown."""
PART = 300
"""Maximum characters of a part of the question, and of the reason why it was not found."""
BEFORE = 2_000
"""Maximum characters of a removed statement."""
UNFINISHED = ("failed", "stopped", "tool_errors", "no_evidence")
"""Outcomes whose report only lists what was seen, so its first words are not an answer."""

_UNCITED = re.compile(r"^(?!.*\[\d).*$", re.MULTILINE)


def draw(view: RunView, kept: Container[str] = ()) -> None:
    """Draw the report of a run at the shown round, with what changed in that round, and its sources.

    `kept`: the addresses of which the reader's library has a copy.
    """
    finished = view.outcome is not None and view.outcome != "needs_input"
    if view.given is not None and finished:  # the verdict stands above
        view = replace(view, report=auditing.details_of(view), uncited=())
    if not view.report:
        return
    cut = _shown(view.report)
    whole = by_first_use(replace(view, report=cut))
    shown = _readable(whole)
    laid_out = [Block(_unrepeated(view, shown.report))] if finished else _with_changes(view)
    _head(view, laid_out, finished)
    _statements(shown, laid_out, f"report-{view.run}", whole=len(cut) >= len(view.report))
    if finished:
        figures.draw(shown)
    sources.images(view)
    sources.draw(shown, whole.report, kept)
    sources.looked(view)
    if finished:
        sources.checked(view)


def answer(view: RunView) -> None:
    """Draw the short answer in large type, and the parts of the question that were not found."""
    if view.short and view.outcome not in UNFINISHED:
        with st.container(key="short-answer"):
            st.markdown(plain(headline(view)))
    if parts := missing(view):
        titles = _titles(view)
        lines = [
            f"- {plain(clip(unplaced(part.text, titles), PART))} :gray[:small[{plain(clip(part.reason, PART))}]]"
            for part in parts
        ]
        st.warning(
            "\n".join(lines[:GONE]),
            title=t("Not found") if len(view.parts) == 1 else t("These parts of the question were not found"),
            icon=":material/search_off:",
        )


def _readable(view: RunView) -> RunView:
    """Return a view whose report leaves out the quotes that its sources show, and pages of documents where it cites none.

    Calls that an evolving report notes are said in words.
    """
    titles = _titles(view)
    text = _UNCITED.sub(lambda line: unplaced(line[0], titles), tried.in_words(view, without_quotes(view)))
    return replace(view, report=text)


def _titles(view: RunView) -> set[str]:
    return {passage.title for passages in view.sources.values() for passage in passages}


def _unrepeated(view: RunView, text: str) -> str:
    """Return a report without the parts shown on top: its outcome, or a first paragraph that only repeats the error."""
    title = words_of(view)(OUTCOMES["no_evidence"])
    text = re.sub(rf"^\*\*{title}[.。]\*\*\s*", "", text)
    first, _, rest = text.partition("\n\n")
    said = " ".join(view.error.split())[:100]
    return rest if said and said in " ".join(first.split()) else text


def words(view: RunView, key: str) -> None:
    """Draw the report without sections that only quote its sources, as its marks do; `key` prefixes its element keys."""
    cut = _shown(view.report)
    whole = by_first_use(replace(view, report=cut))
    shown = _readable(whole)
    _statements(shown, [Block(shown.report)], key, whole=len(cut) >= len(view.report))


def draft(view: RunView, now: float, again: bool, arrived: bool) -> bool:
    """Draw the report that the model is writing; before it, what is done `now` and known so far.  Return whether it writes.

    `again`: an earlier report stands above; `arrived`: this one is complete, and does not stand above yet.
    """
    if arrived:
        _written_down(view, view.report, caret=False, again=again)
        return True
    if view.citations:  # the finished report stands above, with the verdicts known so far
        return False
    current, written = _draft(view)
    if not current or not written:
        so_far.draw(view, now)
        return False
    if current.agent != "main" and current.reply is not None:
        st.caption(t("Draft of {agent}", agent=plain(agent_name(current.agent))))
    elif current.reply is not None:
        st.caption(t("Checking the citations …"))
    elif view.report:
        st.caption(t("Round {number} rewrites the report", number=current.number))
    _written_down(view, written, caret=current.reply is None, again=again)
    return True


def _written_down(view: RunView, written: str, caret: bool, again: bool) -> None:
    cut = _shown(written)
    with st.container(key="rewriting" if again else "writing", gap=None):
        whole = drafting.draw(view, tried.in_words(view, cut), caret=caret and len(cut) >= len(written))
    if not whole or len(cut) < len(written):
        st.info(
            t("The draft is too long to show in full. The download of the finished report has all of it."),
            icon=":material/content_cut:",
        )


def is_written(view: RunView) -> bool:
    """Return whether the model is writing the first version of the report."""
    current, written = _draft(view)
    return bool(current and written and current.reply is None and not view.report)


def _draft(view: RunView) -> tuple[RoundView | None, str]:
    """Return the latest round in which a report was being written, and its text; a judge's words do not count.

    A draft stays while another agent reads it, or writes the next one.
    """
    written = ((each, _written(view, each)) for each in reversed(view.rounds) if each.role in WRITERS)
    return next((found for found in written if found[1]), (None, ""))


def _written(view: RunView, current: RoundView) -> str:
    """Return the answer or report in its tag, or untagged text without calls; a last reply until it is the report."""
    if current.reply is not None:
        return "" if view.report else current.reply.answer
    _, body = split_reasoning(current.draft)
    untagged = "" if "<tool_call" in body or view.report or len(body) < BESIDE else body.strip()
    return without_account(re.sub(r"</?\w*$", "", tag(body, "answer") or tag(body, "report") or untagged))


def _shown(text: str) -> str:
    """Return the part of a report that is drawn: its first statements, each cut at a line."""
    found = list(islice(blocks(_cut(text, LONGEST)), STATEMENTS + 1))
    if len(found) <= STATEMENTS and len(text) <= LONGEST and all(len(each) <= STATEMENT for each in found):
        return text
    return "\n\n".join(_cut(each, STATEMENT) for each in found[:STATEMENTS])


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = text[:limit]
    return head[: head.rfind("\n")] if "\n" in head[limit // 2 :] else head


def _with_changes(view: RunView) -> list[Block]:
    """Return the report with the changes of its latest round; the first version has none."""
    numbers = numbering(view, _shown(view.report))
    after = tried.in_words(view, renumbered(_shown(view.report), numbers))
    versions = _versions(view)
    if len(versions) < 2 or versions[-1] != view.report:
        return [Block(after)]
    return changes(tried.in_words(view, renumbered(_shown(versions[-2]), numbers)), after)


def _versions(view: RunView) -> Sequence[str]:
    """Return the last two versions of the shown report by the agent that writes it."""
    return [text for _, text in _written_by(view)[-2:]]


def _written_by(view: RunView) -> list[tuple[int, str]]:
    """Return the versions of the shown report, as (round, text): the main agent's or a branch's."""
    written = [view.reports, *(branch.reports for branch in view.branches.values())]
    return next((each for each in written if each and each[-1][1] == view.report), [])


def _statements(view: RunView, laid_out: Sequence[Block], key: str, whole: bool) -> None:
    """Draw the report with its marks; changed statements are marked in words and at the side."""
    reader = reading.Reader(view)
    component.draw(key, reader.data(laid_out))
    if reader.full or not whole:
        st.info(
            t("The report is too long to show in full. The download has all of it."),
            icon=":material/content_cut:",
        )


def _head(view: RunView, laid_out: Sequence[Block], finished: bool) -> None:
    """Draw which version of the report is shown, and what its round changed."""
    if finished or view.citations:
        return
    found = Counter(block.state for block in laid_out)
    label = t("Report after round {number}", number=(_written_by(view) or [(0, "")])[-1][0])
    if found["added"] or found["changed"]:
        label += " · " + t("{added} new, {changed} changed", added=found["added"], changed=found["changed"])
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.caption(label, width="content")
        if found["removed"]:
            with st.popover(t("{removed} removed", removed=found["removed"]), type="tertiary", help=t("Removed text")):
                for block in [block for block in laid_out if block.state == "removed"][:GONE]:
                    st.markdown(prose(clip(block.text, BEFORE)), anchors=False)
                if (left := found["removed"] - GONE) > 0:
                    st.caption(t("and {statements} more", statements=count(left, "statement")))
