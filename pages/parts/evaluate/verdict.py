"""The card above an evaluation: which recipe is better, in words that follow from the intervals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import streamlit as st

from pages.parts.evaluate import results
from pages.parts.evaluate.words import metric, shown, span
from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from pages.parts.shared.words import count
from research.defaults import OFFLINE
from research.evaluation import Evaluation, Figure, Plan
from research.evaluation.overview import Pair, figure, measured

HALF = 0.5
"""Share of right answers below which the offline model is said to be the reason."""


def draw(plan: Plan, found: Evaluation, names: Mapping[str, str]) -> None:
    """Draw the verdict on the main metric, the values that it rests on, and how many more questions would settle it."""
    known = measured(found)
    measure = next((name for name in ("right", "race", "f1", *results.MAIN) if name in known), "")
    differences = results.known_pairs(found, measure) if measure else []
    rivals = [each.name for each in plan.candidates if not each.oracle and found.rows[each.name]]
    means = {name: value for name in rivals if (value := figure(found.rows[name], measure)) is not None}
    if not differences or not means:
        return
    pairs = [pair for pair in differences if {pair.first, pair.second} <= set(means)]
    behind = {name: [pair.second for pair in pairs if pair.first == name and pair.verdict == "real"] for name in means}
    best = max(means, key=lambda name: (len(behind[name]), means[name].mean))
    title, lines = _words(measure, best, behind, means, pairs, names)
    sign = ":green[:material/check_circle:]" if behind[best] else ":blue[:material/balance:]"
    with st.container(key="evaluate-verdict", gap="xsmall"):
        st.subheader(f"{sign} {title}", anchor=False)
        ordered = sorted(means.items(), key=lambda each: -each[1].mean)
        values = "\n".join(f"- {_value(names[name], value, measure)}" for name, value in ordered)
        st.markdown("  \n".join(lines) + f"\n\n{values}")
        if (
            measure == "right"
            and means[best].mean < HALF
            and {each.recipe.model for each in plan.candidates} == {OFFLINE}
        ):
            st.caption(
                t(
                    "The offline model only quotes and calculates, and refuses many of these questions; a language model, "
                    "set up in Settings, answers more of them."
                )
            )


def _words(
    measure: str,
    best: str,
    behind: Mapping[str, Collection[str]],
    means: Mapping[str, Figure],
    pairs: Sequence[Pair],
    names: Mapping[str, str],
) -> tuple[str, list[str]]:
    """Return the title and the lines below it as Markdown."""
    recipe, title_of = plain(names[best]), metric(measure)
    if not behind[best]:
        if len({each.mean for each in means.values()}) == 1:
            return t("{measure}: the recipes are equal", measure=title_of), [_undecided(pairs, names)]
        first = [name for name in means if means[name].mean == means[best].mean]
        lead = results.by(
            means[best].mean - max(each.mean for name, each in means.items() if name not in first), measure
        )
        if len(first) > 1:
            tied = plain(t(", ").join(names[name] for name in first))
            title = t("{measure}: {recipes} tie for first, {lead} ahead", measure=title_of, recipes=tied, lead=lead)
        else:
            title = t("{measure}: {recipe} leads by {lead}", measure=title_of, recipe=recipe, lead=lead)
        chance = t("Over {questions}, a lead of this size may be chance.", questions=count(means[best].n, "question"))
        return title, [f"{chance} {_undecided(pairs, names)}"]
    others = plain(t(", ").join(names[each] for each in behind[best]))
    if any(each.mean > means[best].mean for each in means.values()):  # of recipes with other questions, or too few
        title = t("{measure}: {recipe} is certainly better than some", measure=title_of, recipe=recipe)
    else:
        title = t("{measure}: {recipe} is ahead", measure=title_of, recipe=recipe)
    if len(behind[best]) == len(means) - 1:
        return title, [t("It is certainly better than every other recipe.")]
    said = t("It is certainly better than {recipes}.", recipes=others)
    said += " " + t("The other differences from it are not certain.")
    return title, [said, _undecided([pair for pair in pairs if best in (pair.first, pair.second)], names)]


def _undecided(pairs: Sequence[Pair], names: Mapping[str, str]) -> str:
    """Return how many more questions would decide the pair that is closest to certain."""
    near = [pair for pair in pairs if pair.more_questions]
    if not near:
        return t("So far they differ too little to say how many more questions would decide.")
    pair = min(near, key=lambda each: each.more_questions or 0)
    return t(
        "About {questions} more, like these, would decide between {first} and {second}.",
        questions=count(pair.more_questions or 0, "question"),
        first=plain(names[pair.first]),
        second=plain(names[pair.second]),
    )


def _value(name: str, found: Figure, measure: str) -> str:
    """Return a recipe's value: how many of all were right, with the share and its interval."""
    between = span(found, measure)
    value = plain(shown(found, measure)) + (t(" ({n})", n=plain(between)) if between else "")
    if measure == "right":
        good = f"{found.mean * found.n:.1f}".removesuffix(".0")  # not whole between trials
        return t("{name}: **{good} of {all}** right, {value}", name=plain(name), good=good, all=found.n, value=value)
    return t("{name}: **{value}**", name=plain(name), value=value)
