"""The pages: `streamlit run app.py`.  Everything they do is in `research`; nothing is computed here."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.parts import language, undo
from pages.parts.language import t

IMAGES = Path(__file__).parent / "pages" / "images"

# A Material symbol as the icon of the page would be fetched from the network; a file is not.
st.set_page_config(page_title=t("Research Workbench"), page_icon=IMAGES / "icon.svg", layout="wide")
st.html(Path(__file__).parent / "pages" / "style.css")
st.logo(IMAGES / "logo.svg", icon_image=IMAGES / "logo.svg")
page = st.navigation(
    [
        st.Page("pages/ask.py", title=t("Ask"), icon=":material/search:", default=True),
        st.Page("pages/compare.py", title=t("Compare"), icon=":material/view_column:"),
        st.Page("pages/runs.py", title=t("Runs"), icon=":material/history:"),
        st.Page("pages/memory.py", title=t("Memory"), icon=":material/neurology:"),
        st.Page("pages/library.py", title=t("Library"), icon=":material/menu_book:"),
        st.Page("pages/settings.py", title=t("Settings"), icon=":material/settings:"),
    ],
    position="top",
)
st.session_state["app"] = True
language.switch()
undo.draw()
page.run()
