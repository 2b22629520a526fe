"""Print the sizes of the built-in datasets, in the table of docs/evaluation.md: python -m bench.sets"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from bench.printing import table
from research.evaluation import Dataset, load
from research.evaluation.datasets import BUILT_IN
from research.evaluation.questions import SPLITS


def main() -> None:
    argparse.ArgumentParser(prog="bench.sets", description=__doc__).parse_args()
    print(lines())


def lines() -> str:
    """Return only counts: no question is shown, so the split `held` stays unseen."""
    rows = []
    for name in BUILT_IN:
        splits = [load(name, split) for split in SPLITS]
        documents = f"{len(splits[0].documents)} of its own" if splits[0].documents else "those of the library"
        rows.append([f"`{name}`", both(splits, _questions), both(splits, _unanswerable), documents])
    both_splits = ", ".join(("questions", " / ".join(SPLITS)))
    return table(("set", both_splits, "unanswerable", "documents"), rows)


def both(splits: list[Dataset], count: Callable[[Dataset], int]) -> str:
    return " / ".join(str(count(each)) for each in splits)


def _questions(dataset: Dataset) -> int:
    return len(dataset.questions)


def _unanswerable(dataset: Dataset) -> int:
    return sum(not each.answerable for each in dataset.questions)


if __name__ == "__main__":
    main()
