"""Export an evaluation as JSON or Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from research import plugins
from research.evaluation.annotator_agreement import ENOUGH, FEWEST, Agreement, agreement
from research.evaluation.overview import MANY, measured, pairs
from research.evaluation.plans import Evaluation, Plan, version_of
from research.evaluation.recipe_notation import Candidate
from research.evaluation.records import Row
from research.evaluation.row_exports import Texts, as_record, rows_of
from research.evaluation.scorers import OWN, measures
from research.evaluation.statistics import Figure, differences, summary
from research.evaluation.trials import trials
from research.exports.markdown import plain, table
from research.workbench.worlds import name_of

COMPARED: Final = (
    "right",
    "wrong",
    "f1",
    "evidence_recall",
    "citation_precision",
    "citation_coverage",
    "race",
    "tokens",
    "cost_usd",
    "seconds",
)
"""Measures whose pairs `eval --json` lists under `comparisons`."""
SAID: Final[Mapping[str, str]] = {
    "real": "certain",
    "unsure": "certain alone, not among all pairs",
    "equal": "not certain",
}
_TITLES: Final = {
    "race": "RACE",
    "prompt_tokens": "Tokens in",
    "completion_tokens": "Tokens out",
    "cost_usd": "Cost, USD",
    "seconds_p50": "Seconds, p50",
    "seconds_p90": "Seconds, p90",
}


def _columns() -> list[str]:
    """The columns of the tables; those of plug-ins come last."""
    return [*_COLUMNS, *(name for name in measures() if name not in OWN)]


def title(name: str) -> str:
    """The heading of a measure or a cost."""
    return _TITLES.get(name) or plugins.scorer.get(name).title


_COLUMNS: Final = (
    "right",
    "wrong",
    "no_answer",
    "refused",
    "exact_match",
    "f1",
    "contains",
    "numeric",
    "parts_answered",
    "leaked",
    "evidence_recall",
    "evidence_seen",
    "citation_precision",
    "citation_coverage",
    "effective_citations",
    "report_kept",
    "diverged",
    "played",
    "budget_spent",
    "budget_unspent",
    "race",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
    "seconds_p50",
    "seconds_p90",
)
"""Columns of the Markdown table, if any recipe has a value for them."""
_WHOLE: Final = ("prompt_tokens", "completion_tokens")


def as_dict(plan: Plan, found: Evaluation, texts: Texts | None = None) -> dict[str, Any]:
    """Return the object that `eval --json` prints.  Keys may be added, but never renamed.

    A figure is `{"mean", "interval": [low, high] or null, "n"}`, or null if no value is known.  `texts` as in `row_exports`.
    """
    judged = judged_like_people(found)
    return {
        "evaluation": found.name,
        "questions": len(plan.questions),
        "dataset_version": version_of(plan.questions),
        "without_gold": [each.id for each in plan.questions if not each.has_gold],
        "left": found.left,
        "known": found.known,
        "spent_usd": found.spent_usd,
        "seed": plan.seed,
        "judge": {"model": plan.judge, **msgspec.to_builtins(judged), "reliable": judged.reliable}
        if plan.judge
        else None,
        "world": {"name": name_of(plan.world), "version": plan.world.rpartition("@")[2], "new_calls": _new_calls(plan)}
        if plan.world
        else None,
        "recipes": [_recipe(plan, each, found.rows[each.name]) for each in plan.candidates],
        "differences": [
            {"first": each.first, "second": each.second, **_figures(each.figures)} for each in differences(found.rows)
        ],
        "comparisons": {name: _comparisons(found, name) for name in COMPARED if name in measured(found)},
        "rows": [as_record(*each, texts) for each in rows_of(plan, found)],
    }


def markdown(plan: Plan, found: Evaluation) -> str:
    """Return the tables of recipes, kinds of question, paired differences and single questions."""
    parts = [f"# Evaluation {plain(found.name)}", _scope(plan, found), *_verdicts(found)]
    parts += ["## Recipes", _recipes_table(plan, found)]
    parts.append(
        "Means over the questions with 95 % intervals: Wilson's for shares, a bootstrap for the rest; seconds are percentiles."
    )
    if any(each.oracle for each in plan.candidates):
        parts.append("An *oracle* is told the gold answer: a bound for the others, and no rival of theirs.")
    parts += [*_trials_table(plan, found), *_kinds(plan, found), *_differences(found), *_questions(plan, found)]
    return "\n\n".join(parts) + "\n"


def _verdicts(found: Evaluation) -> list[str]:
    """Say which recipe is better, in the words of the intervals."""
    name = "right" if "right" in measured(found) else "f1"
    compared = pairs(found, name) if name in measured(found) else []
    if not compared:
        return []
    rows = [
        [
            plain(f"{each.first} − {each.second}"),
            _interval(each.figure, name),
            SAID[each.verdict],
            {0: "", None: f"over {MANY:,}"}.get(each.more_questions, f"about {each.more_questions}"),
            f"{each.p:.2g} ({each.test})",
            f"{each.p_holm:.2g}",
            "" if each.effect is None else f"{each.effect:.2f}",
        ]
        for each in compared
    ]
    certain = sum(each.verdict == "real" for each in compared)
    head = ["First − second", heading(name, found), "Verdict", "More questions", "p, fixed design", "p, Holm", "Effect"]
    said = f"{certain} of {len(compared)} differences are certain." if certain else "No difference is certain."
    note = (
        f"Verdicts and their 95 % intervals hold however often one looks, and verdicts are corrected for all {len(compared)} "
        "pairs. The p-values are for a number of questions that was fixed in advance; Holm's are corrected for all pairs. "
        "The effect is Cohen's h of two shares, otherwise d."
    )
    return ["## Verdict", said, table(head, rows), note]


def _trials_table(plan: Plan, found: Evaluation) -> list[str]:
    told = {each.name: trials(found.rows[each.name]) for each in plan.candidates}
    ks = sorted({k for each in told.values() if each for k in each.pass_at})
    if not ks:
        return []
    head = ["Recipe", *(f"pass@{k}" for k in ks), *(f"pass^{k}" for k in ks), "Variance within a question"]
    rows = [
        [
            plain(label(each)),
            *(_interval(of.pass_at.get(k), "right") for k in ks),
            *(_interval(of.pass_all.get(k), "right") for k in ks),
            f"{of.within:.3f}",
        ]
        for each in plan.candidates
        if (of := told[each.name])
    ]
    note = "pass@k: at least one of k trials is right; pass^k: all of them are."
    return ["## Trials", table(head, rows), note]


def _recipes_table(plan: Plan, found: Evaluation) -> str:
    summaries = {each.name: summary(found.rows[each.name]) for each in plan.candidates}
    columns = [name for name in _columns() if any(each.figures.get(name) for each in summaries.values())]
    head = ["Recipe", "n", *(heading(name, found) for name in columns), "Outcomes"]
    rows = [
        [
            plain(label(each)),
            f"{of.n}",
            *(_interval(of.figures.get(name), name) + _decided(found.rows[each.name], name) for name in columns),
            _counts(of.outcomes),
        ]
        for each in plan.candidates
        for of in [summaries[each.name]]
    ]
    return table(head, rows)


def _kinds(plan: Plan, found: Evaluation) -> list[str]:
    by_kind = {each.name: _by_kind(plan, found.rows[each.name]) for each in plan.candidates}
    kinds = list(by_kind[plan.candidates[0].name])
    if not kinds:
        return []
    rows = [
        [
            plain(label(each)),
            *(_interval(summary(by_kind[each.name][kind]).figures["right"], "right") for kind in kinds),
        ]
        for each in plan.candidates
    ]
    return ["## Right, by kind of question", table(["Recipe", *map(plain, kinds)], rows)]


def _differences(found: Evaluation) -> list[str]:
    compared = differences(found.rows)
    if not compared:
        return []
    columns = [name for name in _columns() if any(pair.figures.get(name) for pair in compared)]
    rows = [
        [plain(f"{pair.first} − {pair.second}"), *(_interval(pair.figures[name], name) for name in columns)]
        for pair in compared
    ]
    head = ["First − second", *(heading(name, found) for name in columns)]
    note = (
        "Paired, question by question, with bootstrap intervals for this number of questions, each pair by itself. Which "
        "difference is certain is said under Verdict."
    )
    return ["## Differences", note, table(head, rows)]


def _questions(plan: Plan, found: Evaluation) -> list[str]:
    lines = [
        [
            plain(question.id),
            plain(each.name),
            row.outcome,
            _score(row.scores.right),
            _score(row.scores.evidence_recall),
            row.run,
        ]
        for each, question, row in rows_of(plan, found)
    ]
    return ["## Questions", table(["Question", "Recipe", "Outcome", "Right", "Evidence", "Run"], lines)]


def label(each: Candidate) -> str:
    """Return the name of a recipe in tables."""
    return f"{each.name} (oracle)" if each.oracle else each.name


def _recipe(plan: Plan, each: Candidate, rows: Sequence[Row]) -> dict[str, Any]:
    found, recipe = summary(rows), each.recipe
    kinds = {kind: summary(some) for kind, some in _by_kind(plan, rows).items()}
    return {
        "name": each.name,
        "recipe": {
            "framework": recipe.framework,
            "context": recipe.context,
            "model": recipe.model,
            "hash": recipe.hash,
            "options": {"framework": recipe.framework_options, "context": recipe.context_options},
        },
        "oracle": each.oracle,
        "n": found.n,
        "outcomes": found.outcomes,
        "estimated": found.estimated,
        "trials": _trials(rows),
        "citations": _citations(rows),
        "diverged_calls": total(rows, "diverged"),
        "played_calls": total(rows, "played"),
        "budget_not_spendable": total(rows, "budget_unspent"),
        **_figures(found.figures),
        "kinds": {kind: {"n": of.n, **_figures(of.figures)} for kind, of in kinds.items()},
    }


def _comparisons(found: Evaluation, measure: str) -> list[dict[str, Any]]:
    compared = pairs(found, measure)
    return [{**msgspec.to_builtins(each), "family": len(compared)} for each in compared]


def _trials(rows: Sequence[Row]) -> dict[str, Any] | None:
    found = trials(rows)
    if found is None:
        return None
    return {
        "trials": found.trials,
        "pass_at": _figures({str(k): each for k, each in found.pass_at.items()}),
        "pass_all": _figures({str(k): each for k, each in found.pass_all.items()}),
        "variance_within": found.within,
    }


def _figures(figures: Mapping[str, Figure | None]) -> dict[str, Any]:
    return {
        name: None if figure is None else {"mean": figure.mean, "interval": figure.interval, "n": figure.n}
        for name, figure in figures.items()
    }


def _by_kind(plan: Plan, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows by kind of question; empty for a dataset without kinds."""
    kind_of = {question.id: question.kind for question in plan.questions if question.kind}
    found: dict[str, list[Row]] = {kind: [] for kind in sorted(set(kind_of.values()))}
    for row in rows:
        if row.question in kind_of:
            found[kind_of[row.question]].append(row)
    return found


def caps_of(plan: Plan) -> str:
    """Return the budget of each run in words."""
    budget = plan.candidates[0].recipe.budget
    caps = {"tokens": budget.tokens, "USD": budget.usd, "seconds": budget.seconds}
    return ", ".join(f"{cap:g} {unit}" for unit, cap in caps.items() if cap is not None) or "no caps"


def _scope(plan: Plan, found: Evaluation) -> str:
    words = [f"{len(plan.questions)} questions, the same corpus and budget for all recipes"]
    if plan.trials > 1:
        words[0] = (
            f"{len(plan.questions)} questions, {plan.trials} trials each, the same corpus and budget for all recipes"
        )
    words[0] += f" ({caps_of(plan)})."
    words.append(f"Dataset version {version_of(plan.questions)}.")
    words += [*_world(plan, found), *_unspent(plan, found), *_judge(plan, found)]
    if leaks := sum(bool(row.scores.leaked) for rows in found.rows.values() for row in rows):
        words.append(
            f"Runs in which a tool returned the question together with its answer, so the dataset may have leaked: {leaks}."
        )
    if places := sorted({each for rows in found.rows.values() for row in rows for each in row.leaks}):
        words.append(f"It came from {', '.join(map(plain, places[:5]))}{', …' if len(places) > 5 else ''}.")
    if ungraded := [plain(each.id) for each in plan.questions if not each.has_gold]:
        some = ", ".join(ungraded[:10]) + (", …" if len(ungraded) > 10 else "")
        words.append(f"Without an expected answer, so neither right nor wrong: {len(ungraded)} ({some}).")
    if found.left:
        words.append(f"Not finished: {found.left} rows are left.")
    return " ".join(words)


def _new_calls(plan: Plan) -> str:
    return "made" if plan.candidates[0].recipe.world_new else "refused"


def total(rows: Sequence[Row], measure: str) -> int | None:
    """Return the sum of a count over all rows; None if it does not apply to any."""
    known = [score for row in rows if (score := row.scores.get(measure)) is not None]
    return round(sum(known)) if known else None


def _citations(rows: Sequence[Row]) -> dict[str, int] | None:
    """Return how many statements are cited, decided and supported; None for rows of versions without the counts."""
    counted = [row for row in rows if row.scores.cited_statements is not None]
    if not counted:
        return None
    decided = sum((row.scores.citation_coverage or 0.0) * (row.scores.cited_statements or 0.0) for row in counted)
    return {
        "cited": total(counted, "cited_statements") or 0,
        "decided": round(decided),
        "hold": total(counted, "effective_citations") or 0,
    }


def _decided(rows: Sequence[Row], name: str) -> str:
    """Return the counts behind the share of decided citations: ` (11 of 40 decided, 10 hold)`; empty for other measures."""
    counts = _citations(rows) if name == "citation_coverage" else None
    return f" ({counts['decided']:,} of {counts['cited']:,} decided, {counts['hold']:,} hold)" if counts else ""


def _world(plan: Plan, found: Evaluation) -> list[str]:
    """Say in which world the recipes worked, and how often each made an unrecorded call."""
    if not plan.world:
        return []
    words = f"Recorded world: the tool results of {plain(name_of(plan.world))} ({plan.world.rpartition('@')[2]})"
    counts = [
        f"{plain(label(each))} {missing} of {missing + (total(found.rows[each.name], 'played') or 0)}"
        for each in plan.candidates
        if (missing := total(found.rows[each.name], "diverged")) is not None
    ]
    return [f"{words}; calls without a recorded result were {_new_calls(plan)}: {', '.join(counts) or 'none yet'}."]


def _judge(plan: Plan, found: Evaluation) -> list[str]:
    """Say how far the judge agrees with people."""
    if not plan.judge:
        return []
    by = judged_like_people(found)
    if not by.reports:
        return [f"Judge {plain(plan.judge)}: not compared with people, so its points are flagged."]
    kappa = "undefined" if by.kappa is None else f"{by.kappa:.2f}"
    span = f" [{by.interval[0]:.2f}, {by.interval[1]:.2f}]" if by.interval else ""
    among = "" if by.alpha is None else f"; among {by.annotators} annotators Krippendorff's alpha is {by.alpha:.2f}"
    flag = "" if by.reliable else f" Its points are flagged: it takes a kappa of {ENOUGH} over {FEWEST} reports."
    return [
        f"Judge {plain(plan.judge)} against people: Cohen's kappa {kappa}{span} over {by.reports} reports{among}.{flag}"
    ]


def judged_like_people(found: Evaluation) -> Agreement:
    """Return how far the judge of an evaluation agrees with the annotations of its rows."""
    return agreement(row for rows in found.rows.values() for row in rows)


def heading(name: str, found: Evaluation) -> str:
    """Return the title of a measure, flagged if it comes from a judge that is not reliable."""
    return (
        f"{title(name)} (judge unreliable)"
        if name == "race" and not judged_like_people(found).reliable
        else title(name)
    )


def _unspent(plan: Plan, found: Evaluation) -> list[str]:
    """Name the recipes that could not spend their budget."""
    counts = [
        f"{plain(label(each))} in {unspent} of {len(found.rows[each.name])} runs ({_counts(_ends(found.rows[each.name]))})"
        for each in plan.candidates
        if (unspent := total(found.rows[each.name], "budget_unspent"))
    ]
    return [f"Could not spend the budget, because something else ended the run: {'; '.join(counts)}."] if counts else []


def _ends(rows: Sequence[Row]) -> Mapping[str, int]:
    return Counter(row.outcome for row in rows if row.scores.budget_unspent)


def _counts(outcomes: Mapping[str, int]) -> str:
    return ", ".join(f"{outcome} {number}" for outcome, number in outcomes.items())


def _interval(figure: Figure | None, name: str) -> str:
    if figure is None:
        return "unknown" if name == "cost_usd" else ""
    digits = 0 if name in _WHOLE else 3
    if figure.interval is None:
        return f"{figure.mean:,.{digits}f}"
    low, high = figure.interval
    return f"{figure.mean:,.{digits}f} [{low:,.{digits}f}, {high:,.{digits}f}]"


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:g}"
