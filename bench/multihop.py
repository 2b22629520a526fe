"""How far simple retrieval gets with questions that take several documents: python -m bench.multihop SET ... [--split NAME]

SET is a built-in dataset with documents of its own (`almanac`, `almanac-zh`, `factbook-zh`) or a file as `eval` reads
it, HotpotQA's included; --corpus names the documents of those that bring none.  Two baselines, and the share of the
questions for which all gold documents are among the first 2 / 5: one search by words with the question as it stands, and
the same with the articles that its finds mention put behind them.  Prints totals only, in the table of docs/evaluation.md.
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
from research.evaluation.datasets import BUILT_IN, SPLITS, load_corpus
from research.search.factbook import Document
from research.search.library import Library
from research.text import has_cjk

DEPTHS = (2, 5)
"""At the first k, all gold documents are to be found."""
WAYS = ("one search by words", "with the articles that its finds mention")

Shares = tuple[tuple[float, ...], ...]
"""For each of `WAYS`, the share of the questions at each of `DEPTHS`."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.multihop", description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", metavar="SET", help="name of a built-in dataset, or a file")
    parser.add_argument("--split", choices=SPLITS, help="of the built-in datasets; default: both")
    parser.add_argument("--corpus", type=Path, help="JSONL of documents, of a file that brings none")
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
    """The table: a row for each set."""
    cells = {name: [" / ".join(f"{share:.2f}" for share in way) for way in shares] for name, shares in found.items()}
    head = (f"all gold among the first {' / '.join(map(str, DEPTHS))}", *WAYS)
    return table(head, ([name, *each] for name, each in cells.items()))


def measure(name: str, split: str, path: Path | None) -> Shares:
    """Say how large the set is, and measure it.  Raises `ConfigError`."""
    dataset = load(name, split)
    documents = dataset.documents or (load_corpus(path) if path else None)
    if documents is None:
        raise ConfigError(f"{name} has no documents of its own; give --corpus")
    asked = [each for each in dataset.questions if each.gold]
    if not asked:
        raise ConfigError(f"{name} names no gold documents")
    linked = links(documents)
    plain: list[Sequence[str]] = []
    further: list[Sequence[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        corpus = open_corpus(Path(folder), dataset.name, documents)
        library = Library(Path(folder))
        library.add_folder(Path(corpus.folder))
        for each in asked:
            found = [corpus.ids[hit.url] for hit in library.search(each.question, len(documents))]
            plain.append(found)
            further.append(list(dict.fromkeys(followed(found, linked))))
        library.close()
    print(f"{dataset.name} {split}".strip() + f": {len(asked)} questions with gold, {len(documents)} documents")
    return tuple(
        tuple(
            sum(set(q.gold) <= set(ranking[:depth]) for q, ranking in zip(asked, rankings, strict=True)) / len(asked)
            for depth in DEPTHS
        )
        for rankings in (plain, further)
    )


def followed(found: Sequence[str], linked: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Each find, and behind it the one of its links that the same search ranks highest among those not yet told."""
    told: set[str] = set()
    for each in found:
        best = next((other for other in found if other in linked[each] and other not in told), None)
        # What no word of the question leads to is not in the ranking, and takes its turn by its id.
        rest = best or next(iter(sorted(linked[each] - told)), None)
        for one in filter(None, (each, rest)):
            told.add(one)
            yield one


def links(documents: Sequence[Document]) -> dict[str, frozenset[str]]:
    """For each document the others whose title, without what stands in parentheses, it mentions; no namesakes."""
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
