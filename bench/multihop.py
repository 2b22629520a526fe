"""Measure simple retrieval on questions that need several documents: python -m bench.multihop SET ... [--split NAME]

SET is a built-in dataset with its own documents (`almanac`, `almanac-zh`, `factbook-zh`) or a file in a format of `eval`,
HotpotQA's included; --corpus names the documents of files that contain none.  For two baselines it measures the share of
the questions for which all gold documents are among the first 2 / 5: one search by words with the unchanged question, and
the same followed by the articles that its results mention.  Prints only totals, in the table of docs/evaluation.md.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.printing import table
from research.errors import ConfigError
from research.evaluation import load, open_corpus
from research.evaluation.datasets import BUILT_IN
from research.evaluation.question_files import read_documents
from research.evaluation.questions import SPLITS
from research.search.library.documents import Library
from research.search.library.factbook import Document
from research.text import has_cjk

DEPTHS = (2, 5)
"""All gold documents must be among the first k."""
WAYS = ("one search by words", "with the articles that its finds mention")

Shares = tuple[tuple[float, ...], ...]
"""For each of `WAYS`, the share of the questions at each of `DEPTHS`."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.multihop", description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", metavar="SET", help="name of a built-in dataset, or a file")
    parser.add_argument("--split", choices=SPLITS, help="of the built-in datasets; default: both")
    parser.add_argument("--corpus", type=Path, help="JSONL of documents, for a file that contains none")
    arguments = parser.parse_args()
    found: dict[str, Shares] = {}
    try:
        for name in arguments.sets:
            if name not in BUILT_IN:
                found[f"`{Path(name).stem}`"] = measure(name, "", arguments.corpus)
                continue
            for split in [arguments.split] if arguments.split else SPLITS:
                found[f"`{name}` {split}"] = measure(name, split, arguments.corpus)
    except ConfigError as error:
        parser.error(str(error))
    print(f"\n{lines(found)}")


def lines(found: Mapping[str, Shares]) -> str:
    """Return the table, one row for each set."""
    cells = {name: [" / ".join(f"{share:.2f}" for share in way) for way in shares] for name, shares in found.items()}
    head = (f"all gold among the first {' / '.join(map(str, DEPTHS))}", *WAYS)
    return table(head, ([name, *each] for name, each in cells.items()))


def measure(name: str, split: str, path: Path | None) -> Shares:
    """Print a set's size and measure it.  Raises `ConfigError`."""
    dataset = load(name, split)
    documents = dataset.documents or (read_documents(path) if path else None)
    if documents is None:
        raise ConfigError(f"{name} has no documents of its own; give --corpus")
    questions = [each for each in dataset.questions if each.gold]
    if not questions:
        raise ConfigError(f"{name} names no gold documents")
    linked = links(documents)
    plain: list[Sequence[str]] = []
    further: list[Sequence[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        corpus = open_corpus(Path(folder), dataset.name, documents)
        library = Library(Path(folder))
        library.add_folder(Path(corpus.folder))
        for each in questions:
            found = [corpus.ids[hit.url] for hit in library.search(each.question, len(documents), [corpus.folder])]
            plain.append(found)
            further.append(list(dict.fromkeys(followed(found, linked))))
        library.close()
    print(f"{dataset.name} {split}".strip() + f": {len(questions)} questions with gold, {len(documents)} documents")
    return tuple(
        tuple(
            sum(set(q.gold) <= set(ranking[:depth]) for q, ranking in zip(questions, rankings, strict=True))
            / len(questions)
            for depth in DEPTHS
        )
        for rankings in (plain, further)
    )


def followed(found: Sequence[str], linked: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Yield each result, followed by the one of its links that the same search ranks highest among those not yet
    yielded.
    """
    shown: set[str] = set()
    for each in found:
        best = next((other for other in found if other in linked[each] and other not in shown), None)
        # Documents that share no word with the question are not in the ranking and are ordered by id.
        rest = best or next(iter(sorted(linked[each] - shown)), None)
        for one in filter(None, (each, rest)):
            shown.add(one)
            yield one


def links(documents: Sequence[Document]) -> dict[str, frozenset[str]]:
    """Return for each document the others whose title (without parentheses) it mentions, except those of the same
    name.
    """
    names = {each.url: re.sub(r"\s*[(（][^()（）]*[)）]$", "", each.title).strip("《》“”") for each in documents}
    patterns = {
        url: re.escape(name) if has_cjk(name) else rf"(?<!\w){re.escape(name)}(?!\w)" for url, name in names.items()
    }
    return {
        each.url: frozenset(
            url
            for url, name in names.items()
            if name and name != names[each.url] and name in each.text and re.search(patterns[url], each.text)
        )
        for each in documents
    }


if __name__ == "__main__":
    main()
