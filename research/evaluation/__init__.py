"""Evaluate recipes on datasets: datasets, scorers, and a runner that asks each recipe the same questions.

Every row of an evaluation is a run that can be opened.  May import `workbench`, `exports` and what is below them."""

from research.evaluation.corpus import Corpus, open_corpus
from research.evaluation.datasets import load
from research.evaluation.plans import Evaluation, Plan, check
from research.evaluation.questions import Dataset, Question
from research.evaluation.recipe_notation import Candidate, candidate, oracles
from research.evaluation.records import Records, Row
from research.evaluation.runner import evaluate
from research.evaluation.scorers import FinishedRun, Scores, measure
from research.evaluation.statistics import Figure, summary

__all__ = [
    "Candidate",
    "Corpus",
    "Dataset",
    "Evaluation",
    "Figure",
    "FinishedRun",
    "Plan",
    "Question",
    "Records",
    "Row",
    "Scores",
    "candidate",
    "check",
    "evaluate",
    "load",
    "measure",
    "open_corpus",
    "oracles",
    "summary",
]
