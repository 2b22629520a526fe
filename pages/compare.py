"""Compare: one question, two to four recipes at the same time, side by side."""

from __future__ import annotations

import streamlit as st

from pages.parts import compare_form, compare_past, compare_view, home
from pages.parts.language import t

home.start_with_app()
key = st.query_params.get("id", "")
asked = compare_form.box() if not key and not st.query_params.get("runs") else None

bench = home.bench()  # after the box and the button: opening takes longer than drawing them
if key:
    compare_view.show(bench, key)
else:
    compare_form.draw(bench, asked)
    compare_past.draw(bench)
    if not bench.desk.comparisons():
        st.caption(t("Comparisons are kept: they will be listed here, each with a link of its own."))
