"""The Compare page: one question, two to four recipes, side by side."""

from __future__ import annotations

import streamlit as st

from pages.parts.compare import form, past, view
from pages.parts.shared import address, home
from pages.parts.shared.language import t

home.start_with_app()
key = address.named("id", t("The address names no comparison."), t("All comparisons"))
if not key:
    st.title(t("Compare"), anchor=False)
    st.markdown(
        t(
            "See which way of working answers a question best: two to four recipes run side by side, and a verdict says "
            "whether they agree and which took less."
        )
    )
asked = form.box() if not key and not st.query_params.get("runs") else None

bench = home.bench()  # opening takes longer than drawing the box and the button
if key:
    view.show(bench, key)
else:
    form.draw(bench, asked)
    past.draw(bench)
    if not bench.saved.comparisons():
        st.caption(t("Your comparisons will be listed here, each with its own link."))
