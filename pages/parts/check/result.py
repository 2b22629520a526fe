"""The result of a check: the score, the three statements to fix first, and what can be done next."""

from __future__ import annotations

from functools import partial

import streamlit as st
from msgspec.structs import replace

from pages.parts.run import downloads
from pages.parts.shared import private
from pages.parts.shared.language import current, later, t
from pages.parts.shared.safe import plain
from research._util.said import speaking
from research.auditing import corrected
from research.auditing.record import Record
from research.errors import REFUSED, ConfigError
from research.events.audit_findings import FAILS, AuditedStatement
from research.events.view import RunView, fold
from research.text import clip
from research.workbench import auditing
from research.workbench.workbench import Workbench

TICK_S = 1.0
SHOWN = 400
"""Most characters of a statement."""
VERDICTS = {
    "supported": ("green", "check_circle", later("Supported")),
    "calculated": ("green", "calculate", later("Follows by calculation")),
    "partial": ("orange", "rule", later("Partly supported")),
    "contradicted": ("red", "cancel", later("Contradicted")),
    "unsupported": ("red", "cancel", later("Not supported")),
    "unverified": ("gray", "help", later("Undecided")),
    "not_checkable": ("orange", "link_off", later("Not checkable")),
    "no_source": ("gray", "format_quote_off", later("Cites no source")),
}
"""Colour, Material symbol and word of a verdict."""
NEARNESS = {
    "alike": ("blue", "quick_reference_all", later("Nearly the same in your sources")),
    "figure": ("orange", "difference", later("Another figure in your sources")),
    "name": ("orange", "difference", later("Another name in your sources")),
}
"""The same of an open statement beside such a passage."""


def draw(bench: Workbench, run_id: str) -> None:
    """Draw how far a check is, while it runs."""
    try:
        view = fold(bench.store.events(bench.store.run(run_id).id))
    except ConfigError:
        return  # the page says below that there is no such run
    if view.given is not None and view.running:
        _live(bench, view.run)


def verdict(bench: Workbench, view: RunView) -> None:
    """Draw the result of a finished check."""
    record = auditing.record_of(view)
    with st.container(key="check-result", gap="small", border=True):
        _score(record)
        for place, each in enumerate(record.first, 1):
            if place == 1:
                st.subheader(t("Fix first"), anchor=False)
            _statement(place, each)
        _choices(bench, view)
        _actions(bench, view, record)


def _live(bench: Workbench, run_id: str) -> None:
    @st.fragment(run_every=TICK_S)
    def follow() -> None:
        view = fold(bench.store.events(run_id))
        read = sum(each.state != "not_asked" for each in view.audited.values())
        done = t(
            "{read} of {sources} sources looked for · {judged} of {total} statements judged",
            read=read,
            sources=len(view.audited),
            judged=len(view.statements),
            total=view.total,
        )
        st.progress((read + len(view.statements)) / max(1, len(view.audited) + view.total), done)
        for each in list(view.statements.values())[-3:]:
            _statement(each.n, each)
        if not view.running:
            st.rerun()

    follow()


def _score(record: Record) -> None:
    with speaking(current()):
        st.markdown(f"### {record.headline}")


def _statement(place: int, each: AuditedStatement) -> None:
    color, icon, word = NEARNESS[each.near] if each.near else VERDICTS[each.verdict]
    said = (each.correction, each.reason) if each.found else (each.correction or each.reason,)
    why = " – ".join(filter(None, said))
    st.markdown(
        f"{place}\\. {plain(clip(each.text, SHOWN))} :{color}-badge[:material/{icon}: {t(word)}]"
        + (f"  \n:small[{plain(clip(why, SHOWN))}]" if why else "")
    )


def _choices(bench: Workbench, view: RunView) -> None:
    """Let the user say which document is meant by a source that may be several, and check again."""
    open_ = [each for each in view.audited.values() if each.candidates]
    if not open_ or view.given is None:
        return
    st.subheader(t("Which document is meant?"), anchor=False)
    chosen = dict(view.given.chosen)
    for each in open_:
        address = st.selectbox(
            plain(clip(each.name, SHOWN)),
            list(each.candidates),
            index=None,
            format_func=each.candidates.__getitem__,
            placeholder=t("Choose a document"),
            key=f"meant-{view.run}-{each.n}",
        )
        chosen |= {each.n: address} if address else {}
    if st.button(t("Check again"), key="check-again", icon=":material/gavel:", disabled=chosen == view.given.chosen):
        try:
            given = replace(view.given, chosen=chosen)
            run_id = bench.engine.start(view.question, view.recipe, given=given).run_id
        except REFUSED as error:
            private.refused(bench, error, t("No run was started"))
            return
        st.switch_page("pages/check.py", query_params={"run": run_id})


def _actions(bench: Workbench, view: RunView, record: Record) -> None:
    broken = [each for each in record.statements if each.verdict in (*FAILS, "not_checkable", "no_source")]
    name = downloads.file_name(view)
    with st.container(horizontal=True, gap="small", key="check-actions"):
        struck = any(each.verdict == "contradicted" for each in record.statements)
        copies = ((".md", later("Corrected copy (Markdown)")), (".docx", later("Corrected copy (Word)")))
        for kind, label in copies if struck else ():
            st.download_button(
                t(label),
                partial(corrected.make, view, kind),
                f"{name}-corrected{kind}",
                icon=":material/download:",
                on_click="ignore",
                key=f"corrected{kind}",
            )
        if (
            broken
            and view.given is not None
            and st.button(t("Look for more evidence"), key="check-research", icon=":material/travel_explore:")
        ):
            try:
                run_id = auditing.start_again(bench, view, broken)
            except REFUSED as error:
                private.refused(bench, error, t("No run was started"))
            else:
                st.switch_page("pages/check.py", query_params={"run": run_id})
