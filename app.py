"""The pages: `streamlit run app.py`.  Everything they do is in `research`; nothing is computed here."""

from __future__ import annotations

import streamlit as st

from app_pages.parts import home
from app_pages.parts.safe import plain
from research.errors import ConfigError

st.set_page_config(page_title="Research Workbench", page_icon=":material/travel_explore:", layout="wide")
st.html("<style>.stApp { font-variant-numeric: tabular-nums; }</style>")
st.logo(":material/travel_explore:")
page = st.navigation(
    [
        st.Page("app_pages/ask.py", title="Ask", icon=":material/search:", default=True),
        st.Page("app_pages/runs.py", title="Runs", icon=":material/history:"),
        st.Page("app_pages/library.py", title="Library", icon=":material/menu_book:"),
    ],
    position="top",
)
try:
    home.bench()
except ConfigError as error:
    st.error(plain(str(error)), title="The workbench cannot be opened")
    st.stop()
page.run()
