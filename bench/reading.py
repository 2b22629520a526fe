"""Measure and fit how prose is read: python -m bench.reading tests/data/trust/prose*_dev.jsonl

Each file has questions on the articles beside it (`…_articles.jsonl`).  A question is asked over all articles of its file, and
once more without the sentences that answer it, when nothing does.  The weights of `research/models/extractive/scoring.py`
are fitted to all files but one and tried on that one, and to nine tenths of the articles and tried on the tenth.  Prints the
results, and the weights that fit all; with --held files are only tried, with the weights that are shipped.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.printing import table
from research._util.sentences import sentences_of
from research.models.extractive.evidence import Fact
from research.models.extractive.kinds import kind_of
from research.models.extractive.names import Names
from research.models.extractive.passages import Page, Wanted
from research.models.extractive.prose import names_asked
from research.models.extractive.scoring import NONE, WEIGHTS, Scorer

Array = NDArray[np.float64]
RIDGE, STEPS, PACE = 1e-3, 300, 0.2
FOLDS = 5
FEATURES = tuple(WEIGHTS)


class Case:
    """One question: its file and its article, none if nothing answers it; the features of sentences; which of them answer."""

    def __init__(self, source: str, article: str, features: Array, answers: NDArray[np.bool_]) -> None:
        self.source, self.article, self.features, self.answers = source, article, features, answers


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.reading", description=__doc__)
    parser.add_argument("questions", type=Path, nargs="+")
    parser.add_argument("--held", action="store_true", help="only try the weights that are shipped")
    arguments = parser.parse_args()
    cases = [case for path in arguments.questions for case in cases_of(path)]
    shipped = np.array([*WEIGHTS.values(), NONE])
    sources = list(dict.fromkeys(case.source for case in cases))
    rows = [(f"{source}, as shipped", *tried([c for c in cases if c.source == source], shipped)) for source in sources]
    if not arguments.held:
        for source in sources if len(sources) > 1 else ():
            weights = fitted([case for case in cases if case.source != source])
            rows.append((f"{source}, fitted to the others", *tried([c for c in cases if c.source == source], weights)))
        for source in sources:
            rows.append((f"{source}, fitted without the articles asked about", *folded(cases, source)))
    print(
        table(
            ("questions", "answered right", "wrong", "of", "without the answer: answered", "of"),
            (map(str, row) for row in rows),
        )
    )
    if not arguments.held:
        found = dict(zip((*FEATURES, "none"), fitted(cases).round(1).tolist(), strict=True))
        print(f"\nfitted to all: {found}")


def cases_of(path: Path) -> Iterable[Case]:
    """Yield the questions of one document in a file."""
    beside = path.with_name(f"{path.stem}_articles.jsonl")
    articles = [json.loads(line) for line in beside.read_text(encoding="utf-8").splitlines()]
    pages = {each["id"]: _page(n, each) for n, each in enumerate(articles, 1)}
    known = Names(page.text for page in pages.values())
    for item in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        if item["kind"] == "one_hop" or item["unanswerable"]:
            yield _case(path.stem, item, pages, known)


def _page(n: int, article: dict[str, Any]) -> Page:
    lines = [line for part in article["text"].split("\n") for line in sentences_of(part)]
    url, title = f"library://bench/{article['id']}", article["title"]
    return Page(n, title, url, tuple(Fact(n, url, title, line) for line in lines), read=True)


def _case(source: str, item: dict[str, Any], pages: dict[str, Page], known: Names) -> Case:
    question = item["question"]
    wanted = Wanted(question, names_asked(question), tuple(pages.values()))
    scorer = Scorer(wanted, known, kind_of(question))
    scored = scorer.compared(dict.fromkeys(pages.values(), frozenset[str]()))
    rows = [[scorer.features(*each)[name] for name in FEATURES] for each in scored]
    features = np.array(rows).reshape(-1, len(FEATURES))
    gold = {pages[each].n for each in item["articles"]}
    accepted = [] if item["unanswerable"] else [item["answer"], *item["accept"]]
    answers = [said.fact.n in gold and any(each in said.fact.line for each in accepted) for said, *_ in scored]
    return Case(source, "".join(item["articles"]), features, np.array(answers, bool))


def fitted(cases: Sequence[Case]) -> Array:
    """Return the weights, that of no answer last: the likelihood of the answers and, half as much, of none without them."""
    none = np.append(np.zeros(len(FEATURES)), 1.0)
    blocks, chosen, shares = [], [], []
    for case in cases:
        rows = np.vstack([np.hstack([case.features, np.zeros((len(case.features), 1))]), none])
        answers = np.append(case.answers, False)
        if case.answers.any():
            blocks, chosen, shares = [*blocks, rows], [*chosen, answers], [*shares, 1.0]
        last = np.arange(len(rows) - answers.sum()) == len(rows) - answers.sum() - 1
        blocks, chosen, shares = [*blocks, rows[~answers]], [*chosen, last], [*shares, 0.5 if answers.any() else 1.0]
    rows, right, share = np.vstack(blocks), np.concatenate(chosen), np.array(shares) / len(cases)
    starts = np.cumsum([0, *map(len, blocks[:-1])])
    sizes = np.array(list(map(len, blocks)))
    weights, mean, square = np.zeros_like(none), np.zeros_like(none), np.zeros_like(none)
    for step in range(1, STEPS + 1):
        scores = np.exp(np.clip(rows @ weights, -60, 60))
        some = np.where(right, scores, 0.0)
        of_all, of_some = (np.repeat(share / np.add.reduceat(each, starts), sizes) for each in (scores, some))
        slope = (scores * of_all - some * of_some) @ rows + 2 * RIDGE * np.append(weights[:-1], 0.0)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2  # Adam, Kingma and Ba 2014
        weights = weights - PACE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-9)
    return weights


def tried(cases: Sequence[Case], weights: Array) -> tuple[int, int, int, int, int]:
    """Return the questions answered right, wrong, and their number, and those answered without what answers them."""
    right = wrong = made = 0
    for case in cases:
        scores = case.features @ weights[:-1]
        if case.article and scores.max(initial=-np.inf) > weights[-1]:
            right += bool(case.answers[scores.argmax()])
            wrong += not case.answers[scores.argmax()]
        left = scores[~case.answers]
        made += len(left) > 0 and bool(left.max() > weights[-1])
    return right, wrong, sum(bool(case.article) for case in cases), made, len(cases)


def folded(cases: Sequence[Case], source: str) -> tuple[int, ...]:
    """Return what `tried` does, each article with the weights that fit the others."""
    articles = sorted({case.article for case in cases if case.source == source})
    found = np.zeros(5, int)
    for n in range(min(FOLDS, len(articles))):
        out = set(articles[n::FOLDS])
        test = [case for case in cases if case.source == source and case.article in out]
        found += tried(test, fitted([case for case in cases if not (case.source == source and case.article in out)]))
    return tuple(map(int, found))


if __name__ == "__main__":
    main()
