"""The pages: `streamlit run app.py`.  Everything they do is in `research`; nothing is computed here."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

IMAGES = Path(__file__).parent / "pages" / "images"

# A Material symbol as the icon of the page would be fetched from the network; a file is not.
st.set_page_config(page_title="Research Workbench", page_icon=IMAGES / "icon.svg", layout="wide")
st.html("<style>.stApp { font-variant-numeric: tabular-nums; }</style>")
st.logo(IMAGES / "logo.svg", icon_image=IMAGES / "logo.svg")
page = st.navigation(
    [
        st.Page("pages/ask.py", title="Ask", icon=":material/search:", default=True),
        st.Page("pages/runs.py", title="Runs", icon=":material/history:"),
        st.Page("pages/library.py", title="Library", icon=":material/menu_book:"),
    ],
    position="top",
)
st.session_state["app"] = True
page.run()
