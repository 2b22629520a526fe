"""Evaluate: many questions, several recipes, and how sure one can be which is better."""

from __future__ import annotations

import streamlit as st

from pages.parts import evaluate_form, evaluate_jobs, evaluate_past, evaluate_view, home
from pages.parts.language import t

home.start_with_app()
bench = home.bench()
if name := st.query_params.get("evaluation", ""):
    evaluate_view.show(bench, name)
else:
    st.caption(t("The same questions for several recipes: which is better, what does it take, and how sure is that?"))
    past = evaluate_jobs.of(bench).all()
    evaluate_form.draw(bench, past)
    evaluate_past.draw(bench, past)
