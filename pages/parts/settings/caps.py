"""What the administrator lets the logged-in user take, and how much of it is used."""

from __future__ import annotations

import streamlit as st

from pages.parts.shared.language import later, t
from pages.parts.shared.table import frame
from research.engine.caps import Use
from research.workbench.workbench import Workbench

NAMES = {
    "runs_per_day": later("Runs started in a day"),
    "tokens_per_day": later("Tokens in a day"),
    "usd_per_day": later("US dollars in a day"),
    "uploads_per_day": later("Files uploaded in a day"),
    "upload_mb_per_day": later("Megabytes uploaded in a day"),
    "runs_at_once": later("Runs at once"),
    "sandboxes_at_once": later("Calculations at once"),
    "disk_mb": later("Megabytes on disk"),
}
"""The title of each cap."""


def draw(bench: Workbench) -> None:
    """Draw a row for each cap; nothing without caps, and so without a login."""
    uses = bench.caps.all()
    if not uses:
        return
    st.markdown(t("What you may use on this server. Its administrator sets the limits."))
    table = {
        t("Limit on"): [t(NAMES[use.cap]) for use in uses],
        t("Used"): [f"{use.used:,.10g}" if use.used == int(use.used) else f"{use.used:,.2f}" for use in uses],
        t("Limit"): [f"{use.limit:,.10g}" for use in uses],
        t("Free again"): [_free_again(use) for use in uses],
    }
    st.dataframe(frame(table), hide_index=True, width=640, alt=t("Your use of each limit of this server"))


def _free_again(use: Use) -> str:
    if not use.reached:
        return ""
    if use.free_in_s is None:
        return t("when something of yours has ended or is deleted")
    return t("in {hours} h {minutes} min", hours=int(use.free_in_s // 3600), minutes=int(use.free_in_s % 3600 // 60))
