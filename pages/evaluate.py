"""The Evaluate page: many questions, several recipes, and the certainty of the differences between them."""

from __future__ import annotations

import streamlit as st

from pages.parts.evaluate import form, view
from pages.parts.evaluate import past as evaluate_past
from pages.parts.shared import address, home
from pages.parts.shared.language import t
from research.evaluation.plans import stored_plans

home.start_with_app()
bench = home.bench()
if name := address.named("evaluation", t("The address names no evaluation."), t("All evaluations")):
    view.show(bench, name)
else:
    st.title(t("Evaluate"), anchor=False)
    st.caption(
        t(
            "Run the same questions through several recipes to see which is better, what it costs, and how "
            "certain that is."
        )
    )
    past = stored_plans(bench.store)
    form.draw(bench, past)
    evaluate_past.draw(bench, past)
