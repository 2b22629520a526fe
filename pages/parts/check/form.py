"""The report that is to be checked: pasted, uploaded or at a link."""

from __future__ import annotations

import streamlit as st

from pages.parts.library import collections
from pages.parts.shared import files, home, private
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from research.auditing import report_intake
from research.defaults import FACTBOOK
from research.errors import REFUSED
from research.web.readers import MAX_BYTES
from research.workbench import auditing
from research.workbench.workbench import Workbench


def draw(bench: Workbench) -> None:
    """Draw the form, and start the check."""
    st.title(t("Check a report"), anchor=False)
    st.markdown(
        t(
            "Did ChatGPT, a colleague or a website write it? Every statement is compared with the sources that it cites. "
            "Only the addresses in the report are opened."
        )
    )
    text = st.text_area(
        t("Report or link"),
        key="check-text",
        height=240,
        persist_state="session",
        placeholder=t("Paste the report with its sources, or one link to it"),
    )
    file = files.pick(
        t("Or upload a file"),
        [each.removeprefix(".") for each in report_intake.FORMATS],
        MAX_BYTES // 10**6,
        key="check-file",
        help=t("Markdown, a web page, Word, PDF, or the JSON export of a chat."),
    )
    _searched(bench)
    with st.container(horizontal=True, vertical_alignment="center"):
        started = st.button(
            t("Check"), key="check-start", type="primary", icon=":material/gavel:", shortcut="Mod+Enter"
        )
    if not started:
        return
    try:
        with st.spinner(t("Reading the report")):
            given = (
                report_intake.read_bytes(file.getvalue(), file.name) if file else auditing.given_of(bench, text or "")
            )
            home.until_ready()  # before the recipe, which names the existing collections
            recipe = auditing.recipe_for(bench)
            run_id = bench.engine.start(auditing.question_of(given), recipe, given=given).run_id
    except REFUSED as error:
        private.refused(bench, error, t("The report could not be read"))
        return
    st.query_params.from_dict({"run": run_id})
    st.rerun()


def _searched(bench: Workbench) -> None:
    """Name the collections in which a check looks for what the report gives no address of."""
    names = sorted(bench.library.names(), key=lambda name: name != FACTBOOK)
    if not names:
        return
    chips = " ".join(f":gray-badge[{plain(collections.title(name))}]" for name in names)
    st.markdown(
        f":small[:gray[{t('Sources')}]] {chips}",
        help=t("Statements and sources without an address are looked for in these collections of the library."),
    )
