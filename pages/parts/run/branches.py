"""What the branches of a run wrote: where they agree, statement by statement, and each branch's own report."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.parts.shared.language import later, t
from pages.parts.shared.safe import plain, prose
from pages.parts.shared.words import agent_name, count
from research.compare.agreement import MOST, Compared, agreement
from research.events.view import RunView
from research.text import clip

QUOTE, REPORT = 400, 30_000
"""Maximum characters of a statement or a quote, and of a branch's report."""
SAYS = {
    "same": (":green[:material/check:]", later("says the same")),
    "other": (":red[:material/compare_arrows:]", later("says something else")),
    "nothing": (":gray[:material/remove:]", later("does not say")),
}


def draw(view: RunView) -> None:
    """Draw the map of agreement and the branches' reports of a run whose branches answered the same question."""
    answers = {name: branch.text for name, branch in sorted(view.branches.items()) if branch.text.strip()}
    if (
        view.outcome == "no_evidence"
        or len(answers) < 2
        or {view.branches[name].question for name in answers} != {view.question}
    ):
        return
    with st.expander(
        t("Where {branches} agree", branches=count(len(answers), "branch")),
        icon=":material/account_tree:",
        key="branches",
        on_change="rerun",
    ) as opened:
        if opened.open:
            _map(agreement(answers))
            _reports(answers)


def _map(found: list[Compared]) -> None:
    shared, disputed = sum(each.shared for each in found), sum(each.disputed for each in found)
    told = t("{shared} of {statements} are in every branch", shared=shared, statements=count(len(found), "statement"))
    st.markdown(f"**{told}**" + (f" · :red[{t('{n} disputed', n=disputed)}]" if disputed else ""))
    if len(found) == MOST:
        st.caption(t("Only the first {statements} are compared.", statements=count(MOST, "statement")))
    for each in sorted(found, key=lambda one: (not one.disputed, one.shared)):
        with st.container(border=True, gap="xxsmall"):
            st.markdown(prose(clip(each.text, QUOTE)), anchors=False)
            for name, stance in each.stances.items():
                icon, words = SAYS[stance.says]
                quote = (
                    "" if stance.says == "nothing" or stance.quote == each.text else f": “{clip(stance.quote, QUOTE)}”"
                )
                st.caption(f"{icon} **{plain(agent_name(name))}** {t(words)}{plain(quote)}")


def _reports(answers: Mapping[str, str]) -> None:
    tabs = st.tabs([plain(agent_name(name)) for name in answers])
    for tab, text in zip(tabs, answers.values(), strict=True):
        with tab:
            st.markdown(prose(text[:REPORT]), anchors=False)
            if len(text) > REPORT:
                st.caption(t("Shortened; the download has all {size}.", size=count(len(text), "character")))
