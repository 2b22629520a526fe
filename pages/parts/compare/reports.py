"""The reports side by side, with links to their runs, votes, notes, and the differences between two reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from pages.parts.compare.columns import Column
from pages.parts.run import report, tried
from pages.parts.shared.language import later, t
from pages.parts.shared.safe import plain, prose
from pages.parts.shared.words import count
from research.citations import without_marks
from research.compare.diff import changes, words
from research.exports.blocks import content, parse
from research.store.saved import Comparison, Opinion
from research.text import clip
from research.workbench.workbench import Workbench

VOTES = {1: later(":material/thumb_up: Better"), -1: later(":material/thumb_down: Worse")}
ASK: Final = "pages/ask.py"
SHORT = 2_000
"""Maximum characters of an error, or of a statement among the differences."""


def draw(columns: Sequence[Column]) -> None:
    """Draw every report with links to its run; one that repeats another word for word only names that one."""
    first: dict[str, Column] = {}
    for column, place in zip(columns, st.columns(len(columns), gap="medium"), strict=True):
        with place, st.container(key=f"{column.key}-report", gap="xsmall", border=True, height="stretch"):
            st.markdown(f"**{column.name}**")
            if column.row is None:
                st.caption(t("This run was deleted."))
                continue
            same = first.setdefault(without_marks(column.view.report).strip() or column.run, column)
            if same is column or column.working:
                _words(column)
            else:
                st.caption(t("Word for word the same as {run}", run=same.name))
            with st.container(horizontal=True, gap="small"):
                st.page_link(ASK, label=t("Full report"), icon=":material/article:", query_params={"run": column.run})
                if not column.working:
                    st.page_link(
                        ASK, label=t("Replay"), icon=":material/replay:", query_params={"run": column.run, "round": "1"}
                    )
                if column.view.forkable:
                    st.page_link(
                        ASK,
                        label=t("Fork from here"),
                        icon=":material/call_split:",
                        query_params={"run": column.run, "fork": str(column.view.forkable)},
                    )


def _words(column: Column) -> None:
    view = column.view
    if view.error:
        st.error(plain(clip(view.error, SHORT)), title=t("The run failed"))
    if view.report.strip():
        report.words(view, column.key)
    elif column.working:
        st.caption(t("The report appears here."))
    elif not view.error:
        st.caption(t("No report."))


def opinions(bench: Workbench, comparison: Comparison, columns: Sequence[Column]) -> None:
    """Draw a vote and a note for each run, stored with the comparison for everyone who opens it."""
    kept = bench.saved.opinions(comparison.id)
    if all(column.working or column.row is None for column in columns):
        return
    st.caption(t("Your verdict, saved with the comparison"))
    for column, place in zip(columns, st.columns(len(columns), gap="medium"), strict=True):
        if column.row is None or column.working:
            continue
        opinion = kept.get(column.run) or Opinion(comparison.id, column.run)
        vote, note, seen = (f"{column.key}-{comparison.id}-{each}" for each in ("vote", "note", "seen"))
        # Shows notes that other users saved meanwhile, without touching text that is being typed.
        if st.session_state.get(seen) != opinion:
            st.session_state[vote], st.session_state[note] = opinion.vote or None, opinion.note
            st.session_state[seen] = opinion
        with place, st.container(key=f"{column.key}-opinion", gap="xsmall"):
            st.segmented_control(
                t("Vote on {run}", run=column.name),
                list(VOTES),
                key=vote,
                format_func=lambda each: t(VOTES[each]),
                label_visibility="collapsed",
                on_change=_keep,
                args=(bench, opinion, vote, note, seen),
            )
            st.text_area(
                t("Note on {run}", run=column.name),
                key=note,
                height="content",
                placeholder=t("Your note"),
                max_chars=5_000,
                label_visibility="collapsed",
                on_change=_keep,
                args=(bench, opinion, vote, note, seen),
            )


def _keep(bench: Workbench, before: Opinion, vote: str, note: str, seen: str) -> None:
    state = st.session_state
    opinion = Opinion(before.comparison, before.run, state[vote] or 0, (state[note] or "").strip())
    bench.saved.save_opinion(opinion)
    state[seen] = opinion


def differences(columns: Sequence[Column], opened: bool = False) -> None:
    """Draw the differences between two reports, by statement and, within a statement, by word."""
    written = {column.place: column for column in columns if column.row is not None and column.view.report.strip()}
    if len(written) < 2:
        return
    # Keyed by comparison, because the initial state differs between comparisons.
    with st.expander(
        t("Differences between two reports"),
        type="compact",
        icon=":material/difference:",
        expanded=opened,
        key=f"compare-apart-{int(opened)}",
        on_change="rerun",
    ) as fold:
        if not fold.open:
            return
        one, other = list(written)[:2]
        if len(written) > 2:
            picked = st.pills(
                t("Reports to compare"),
                list(written),
                selection_mode="multi",
                default=[one, other],
                key="compare-two",
                format_func=lambda place: written[place].name,
            )
            if len(picked) != 2:
                st.caption(t("Choose two reports."))
                return
            one, other = sorted(picked)
        before, after = written[one], written[other]
        st.caption(
            t(
                "From {one} to {other}: text only in the first is struck through, text only in the second is "
                "highlighted.",
                one=before.name,
                other=after.name,
            )
        )
        _changes(tried.in_words(before.view, before.view.report), tried.in_words(after.view, after.view.report))


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
            pieces = []
            for each in words(_text(block.before), _text(block.text)):
                text = plain(each.text)
                space = " " if each.text[:1].isspace() else ""
                if each.state == "same":
                    pieces.append(space + text)
                elif each.state == "added":
                    pieces.append(f"{space}:green-background[{text}]")
                else:
                    pieces.append(f"{space}:red[~~{text}~~]")
            st.markdown("".join(pieces))
    st.caption(t("{statements} in both", statements=count(same, "statement")))


def _text(statement: str) -> str:
    """Return the words of a statement without its markup, which words that changed would tear apart."""
    return content(parse(statement, cited=False))


def _marked(text: str, colour: str, icon: str) -> None:
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="top", wrap=False):
        st.markdown(f":{colour}[:material/{icon}:]", width="content")
        st.markdown(prose(clip(text, SHORT)), width="stretch", anchors=False)
