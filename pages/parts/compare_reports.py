"""The reports beside each other: words, where to go on from each, what people think of it, and what two have apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from pages.parts import report
from pages.parts.compare_runs import Column
from pages.parts.language import later, t
from pages.parts.safe import plain, prose
from pages.parts.words import count
from research.changes import changes, words
from research.desk import Comparison, Opinion
from research.text import clip
from research.workbench import Workbench

VOTES = {1: later(":material/thumb_up: Better"), -1: later(":material/thumb_down: Worse")}
ASK: Final = "pages/ask.py"
SHORT = 2_000
"""Characters of an error, or of a statement among the changes."""


def draw(columns: Sequence[Column]) -> None:
    """Every report, with one click to all that can be done with its run."""
    for column, place in zip(columns, st.columns(len(columns), gap="medium"), strict=True):
        with place, st.container(key=f"{column.key}-report", gap="xsmall", border=True, height="stretch"):
            st.markdown(f"**{column.name}**")
            if column.row is None:
                st.caption(t("This run was deleted."))
                continue
            _words(column)
            with st.container(horizontal=True, gap="small"):
                st.page_link(ASK, label=t("Full report"), icon=":material/article:", query_params={"run": column.run})
                if not column.working:
                    st.page_link(ASK, label=t("Replay"), icon=":material/replay:",
                                 query_params={"run": column.run, "round": "1"})  # fmt: skip
                if column.view.forkable:
                    st.page_link(ASK, label=t("Fork from here"), icon=":material/call_split:",
                                 query_params={"run": column.run, "fork": str(column.view.forkable)})  # fmt: skip


def _words(column: Column) -> None:
    view = column.view
    if view.error:
        st.error(plain(clip(view.error, SHORT)), title=t("The run failed"))
    if view.report.strip():
        report.words(view, column.key)
    elif column.working:
        st.caption(t("The report will stand here."))
    elif not view.error:
        st.caption(t("There is no report."))


def opinions(bench: Workbench, comparison: Comparison, columns: Sequence[Column]) -> None:
    """A vote and a note for each run, kept for everybody who opens the comparison."""
    kept = bench.desk.opinions(comparison.id)
    if all(column.working or column.row is None for column in columns):
        return
    st.caption(t("Your view, kept with the comparison"))
    for column, place in zip(columns, st.columns(len(columns), gap="medium"), strict=True):
        if column.row is None or column.working:
            continue
        opinion = kept.get(column.run) or Opinion(comparison.id, column.run)
        vote, note, seen = (f"{column.key}-{comparison.id}-{each}" for each in ("vote", "note", "seen"))
        # What somebody else kept meanwhile stands here too; what is being typed is not touched by it.
        if st.session_state.get(seen) != opinion:
            st.session_state[vote], st.session_state[note] = opinion.vote or None, opinion.note
            st.session_state[seen] = opinion
        with place, st.container(key=f"{column.key}-opinion", gap="xsmall"):
            st.segmented_control(
                t("Vote on {run}", run=column.name), list(VOTES), key=vote, format_func=lambda each: t(VOTES[each]),
                label_visibility="collapsed", on_change=_keep, args=(bench, opinion, vote, note, seen),
            )  # fmt: skip
            st.text_area(
                t("Note on {run}", run=column.name), key=note, height="content", placeholder=t("A note"), max_chars=5_000,
                label_visibility="collapsed", on_change=_keep, args=(bench, opinion, vote, note, seen),
            )  # fmt: skip


def _keep(bench: Workbench, before: Opinion, vote: str, note: str, seen: str) -> None:
    state = st.session_state
    opinion = Opinion(before.comparison, before.run, state[vote] or 0, (state[note] or "").strip())
    bench.desk.keep_opinion(opinion)
    state[seen] = opinion


def apart(columns: Sequence[Column], opened: bool = False) -> None:
    """What two of the reports have apart, statement by statement, and within a statement word by word."""
    written = {column.place: column for column in columns if column.row is not None and column.view.report.strip()}
    if len(written) < 2:
        return
    # Told apart by its key: what is open at first in one comparison is closed in the next.
    with st.expander(t("What two reports have apart"), type="compact", icon=":material/difference:", expanded=opened,
                     key=f"compare-apart-{int(opened)}", on_change="rerun") as fold:  # fmt: skip
        if not fold.open:
            return
        one, other = list(written)[:2]
        if len(written) > 2:
            picked = st.pills(
                t("Two reports"), list(written), selection_mode="multi", default=[one, other], key="compare-two",
                format_func=lambda place: written[place].name,
            )  # fmt: skip
            if len(picked) != 2:
                st.caption(t("Choose two."))
                return
            one, other = sorted(picked)
        before, after = written[one], written[other]
        st.caption(t("From {one} to {other}: what is only in the first is struck through, what is only in the second is "
                     "marked.", one=before.name, other=after.name))  # fmt: skip
        _changes(before.view.report, after.view.report)


def _changes(before: str, after: str) -> None:
    same = 0
    for block in changes(before, after):
        if block.state == "same":
            same += 1
        elif block.state == "added":
            _marked(block.text, "green", "add")
        elif block.state == "removed":
            _marked(block.text, "red", "remove")
        else:
            said = []
            for each in words(block.before, block.text):
                text = plain(each.text)
                space = " " if each.text[:1].isspace() else ""
                if each.state == "same":
                    said.append(space + text)
                elif each.state == "added":
                    said.append(f"{space}:green-background[{text}]")
                else:
                    said.append(f"{space}:red[~~{text}~~]")
            st.markdown("".join(said))
    st.caption(t("{statements} in both", statements=count(same, "statement")))


def _marked(text: str, colour: str, icon: str) -> None:
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="top", wrap=False):
        st.markdown(f":{colour}[:material/{icon}:]", width="content")
        st.markdown(prose(clip(text, SHORT)), width="stretch", anchors=False)
