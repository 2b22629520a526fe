"""Start the app: `streamlit run app.py`.

The pages only draw; all the work is done in `research`.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from pages.parts.search import box
from pages.parts.shared import account, frame_words, guard, home, language, routes, undo
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from research.errors import StoreUnavailable

IMAGES = Path(__file__).parent / "pages" / "images"

if __name__ != "__main__":  # loaded by the server, for the API routes and the lifespan
    app = st.App(__file__, routes=routes.routes(), lifespan=home.lifespan, middleware=[Middleware(guard.Guard)])
else:
    # A Material symbol as page icon would be fetched from the network.
    st.set_page_config(page_icon=IMAGES / "icon.svg", layout="wide")
    for sheet in ("style", "account", "metrics", "evaluate"):
        st.html(Path(__file__).parent / "pages" / f"{sheet}.css")
    st.html(frame_words.style())
    logo = IMAGES / ("logo-zh.svg" if language.current() == "zh" else "logo.svg")
    st.logo(logo, icon_image=logo)
    with st.container(key="outage"):  # style.css shows it instead of Streamlit's advice to developers
        st.html(f"<p>{t('The server does not answer. This page goes on by itself as soon as it does.')}</p>")
    pages = [
        st.Page("pages/ask.py", title=t("Ask"), icon=":material/search:", default=True),
        st.Page("pages/check.py", title=t("Check a report"), icon=":material/gavel:"),
        st.Page("pages/compare.py", title=t("Compare"), icon=":material/view_column:"),
        st.Page("pages/evaluate.py", title=t("Evaluate"), icon=":material/grid_on:"),
        st.Page("pages/runs.py", title=t("Runs"), icon=":material/history:"),
        st.Page("pages/memory.py", title=t("Memory"), icon=":material/neurology:"),
        st.Page("pages/metrics.py", title=t("Metrics"), icon=":material/monitoring:"),
        st.Page("pages/library.py", title=t("Library"), icon=":material/menu_book:"),
        st.Page("pages/settings.py", title=t("Settings"), icon=":material/settings:"),
    ]
    page = st.navigation(pages, position="top" if account.inside() else "hidden")
    st.set_page_config(page_title=f"{page.title} · {t('Research Workbench')}")
    st.session_state["app"] = True
    language.switch()
    account.gate(pages, page)
    account.draw()
    box.draw([each.url_path for each in pages])
    undo.draw()
    try:
        page.run()
    except StoreUnavailable as error:
        st.error(plain(str(error)), title=t("The workbench can't read or save data right now"))
        st.caption(t("Active runs are waiting and continue on their own. Reload the page in a moment."))
