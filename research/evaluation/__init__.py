"""Which recipe is better, for whose questions: datasets, measures, and a runner that asks each recipe the same.

Every row of an evaluation is a run that can be opened; an evaluation that was interrupted goes on where it stopped.
"""

from research.evaluation.corpus import Corpus, open_corpus
from research.evaluation.datasets import Dataset, Question, load
from research.evaluation.measures import Scores, measure
from research.evaluation.recipes import Candidate, candidate
from research.evaluation.records import Records, Row
from research.evaluation.running import Evaluation, Plan, check, evaluate
from research.evaluation.statistics import Figure, Summary, differences, summary

__all__ = [
    "Candidate",
    "Corpus",
    "Dataset",
    "Evaluation",
    "Figure",
    "Plan",
    "Question",
    "Records",
    "Row",
    "Scores",
    "Summary",
    "candidate",
    "check",
    "differences",
    "evaluate",
    "load",
    "measure",
    "open_corpus",
    "summary",
]
