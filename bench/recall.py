"""Measure how often the memory finds the answer by words, by meaning and by both; prints one Markdown table.

    python -m bench.recall DATA [--encoder NAME]

DATA is a folder with JSON lines: `hotpotqa_reflexion100_questions.jsonl` and `..._corpus.jsonl` (English, two gold
passages a question), `cmrc2018_dev_200_questions.jsonl` and `cmrc2018_dev_corpus.jsonl` (Chinese, one).  Each passage is
an entry.  The Chinese questions name the title of their passage, which is left out.  Because any search finds a whole
passage nevertheless, its sentences are also entries, in a separate memory, where every sentence of the passage that
contains the answer counts as right.

Recall@5 is the share of the gold entries among the first five, averaged over the questions.  Words alone and meaning
alone are the two rankings that the memory combines, as it reports them.  Intervals are of the paired difference: 95 % of
10,000 samples of the questions, drawn with replacement.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.printing import table
from research._util.sentences import sentences
from research.config.settings import load
from research.memory import Entry, Match
from research.memory.entries import Memory
from research.search import embedders

K = 5
SAMPLES = 10_000
SETS = ("HotpotQA, passages", "CMRC 2018 (Chinese), passages", "CMRC 2018 (Chinese), sentences")

Question = tuple[str, list[set[str]]]
"""The question's words, and for each gold passage the ids of the entries that count as it."""
Measured = tuple[str, int, np.ndarray[Any, np.dtype[np.float64]]]
"""A set's name, its entries, and the result of `shares` for each question, of shape (questions, 3)."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.recall", description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the questions and the corpora")
    parser.add_argument("--encoder", metavar="NAME", default=load().embedder, help="default: the one of the settings")
    arguments = parser.parse_args()
    print(f"Encoder: `{arguments.encoder}`\n")
    print(lines(measured(arguments.data, arguments.encoder)))


def measured(data: Path, encoder: str) -> Iterator[Measured]:
    for name, entries, questions in sets(data):
        with tempfile.TemporaryDirectory() as folder:
            memory = Memory(Path(folder) / "memory.sqlite", embedders.create(encoder), len(entries))
            memory.add(entries)
            found = np.array([shares(memory, question) for question in questions])
            yield name, memory.count(), found
            memory.close()


def lines(found: Iterable[Measured]) -> str:
    """Return a table with a row per set: recall by words, by meaning and by both, and the gain of both."""
    rows = []
    for name, kept, each in found:
        words, meaning, both = each.T
        shares = [f"{one.mean():.3f}" for one in (words, meaning, both)]
        rows.append([name, f"{kept:,}", str(len(each)), *shares, difference(both - words), difference(both - meaning)])
    head = (f"recall@{K}", "entries", "questions", "words", "meaning", "both", "both − words", "both − meaning")
    return table(head, rows)


def sets(data: Path) -> Iterator[tuple[str, list[Entry], list[Question]]]:
    """Yield the name, entries and questions of each of `SETS`."""
    corpus, questions = read(data / "hotpotqa_reflexion100_corpus.jsonl"), "hotpotqa_reflexion100_questions.jsonl"
    named = [entry(each["pid"], each["text"], each["title"]) for each in corpus]
    yield SETS[0], named, [(q["question"], [{pid} for pid in q["gold_pids"]]) for q in read(data / questions)]

    corpus, questions = read(data / "cmrc2018_dev_corpus.jsonl"), read(data / "cmrc2018_dev_200_questions.jsonl")
    bare = [entry(each["pid"], each["text"]) for each in corpus]
    yield SETS[1], bare, [(q["question"], [{q["gold_pid"]}]) for q in questions]

    lines = {each["pid"]: sentences(each["text"]) for each in corpus}
    pieces = [entry(f"{pid}/{n}", line) for pid, texts in lines.items() for n, line in enumerate(texts)]
    answered = [
        (q["question"], [{f"{pid}/{n}" for n, line in enumerate(lines[pid]) if any(a in line for a in q["answers"])}])
        for q in questions
        for pid in [q["gold_pid"]]
    ]
    yield SETS[2], pieces, answered


def entry(id_: str, text: str, title: str = "") -> Entry:
    # A separate address, so that no two count as duplicates.
    return Entry(text, "passage", id_, "page", url=f"https://example.org/{id_}", title=title)


def shares(memory: Memory, question: Question) -> tuple[float, float, float]:
    """Return the share of the gold entries found by words, by meaning and by both."""
    text, gold = question
    everything = memory.search(text, memory.count())
    found = [
        first(everything, lambda each: each.word_rank),
        first(everything, lambda each: each.meaning_rank),
        {each.entry.id for each in memory.search(text, K)},
    ]
    words, meaning, both = (sum(not each.isdisjoint(ids) for each in gold) / len(gold) for ids in found)
    return words, meaning, both


def first(found: Sequence[Match], rank: Callable[[Match], int]) -> set[str]:
    return {each.entry.id for each in found if 0 < rank(each) <= K}


def difference(paired: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    drawn = np.random.default_rng(1).integers(0, len(paired), (SAMPLES, len(paired)))
    low, high = np.quantile(paired[drawn].mean(axis=1), [0.025, 0.975])
    return f"{paired.mean():+.3f} ({low:+.3f} to {high:+.3f})"


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
