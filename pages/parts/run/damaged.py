"""A run with unreadable saved parts: names them, and offers the run as stored in a file."""

from __future__ import annotations

import streamlit as st

from pages.parts.run import watching
from pages.parts.shared.language import spoken, t
from pages.parts.shared.safe import plain
from research.errors import ConfigError
from research.events.view import RunView
from research.store import RunRow
from research.workbench import run_import
from research.workbench.workbench import Workbench


def found(bench: Workbench, run_id: str) -> tuple[RunRow, RunView] | None:
    """Return the run after naming its unreadable parts; None if it does not exist or has no readable event."""
    try:
        row = bench.store.run(run_id)
    except ConfigError as error:
        st.error(plain(spoken(error)), title=t("Run not found"))
        return None
    if row.damaged:
        st.warning(
            t("Cannot be read any more: {columns}. Defaults are shown instead.", columns=plain(", ".join(row.damaged))),
            title=t("This run is damaged"),
        )
    try:
        return row, watching.present(bench, row)
    except ConfigError as error:
        _draw(bench, row, spoken(error))
        return None


def _draw(bench: Workbench, row: RunRow, why: str) -> None:
    """Show a run with unreadable events, which its file contains as stored."""
    st.error(plain(why), title=t("This run is damaged"))
    st.markdown(t("The other runs are not affected. You can save it as it is, and delete it."))
    st.download_button(
        t("Save as it is"),
        lambda: run_import.as_it_is(bench.store, row.id),
        f"{row.id}.jsonl",
        mime="application/jsonl",
        icon=":material/download:",
        on_click="ignore",
    )
