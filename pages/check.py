"""The page Check a report: paste, upload or link a report, and watch its citations being checked."""

from __future__ import annotations

import streamlit as st

from pages.parts.check import form, result
from pages.parts.run import view
from pages.parts.shared import address, home
from pages.parts.shared.language import t

home.start_with_app()
if shown := address.named("run", t("The address names no run."), t("Check another report")):
    bench = home.bench()
    st.button(t("Check another report"), icon=":material/arrow_back:", type="tertiary", on_click=st.query_params.clear)
    result.draw(bench, shown)
    view.show(bench, shown)
    st.stop()

form.draw(home.bench())
