"""Whether "this observation adds nothing" is right: thresholds chosen on one file of sequences, measured on another.

    python -m bench.novelty

Each line of a file is a topic: two observations that were `seen`, two that say the same in other words (`stale`), and two
that say something new, one of them after a sentence that repeats what was seen (`fresh`).  Written for this measurement, in
English and Chinese, twelve topics each; no topic is in both files.  "Crowded": the run has seen all other topics, too.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bench.printing import table
from research.agent import novelty
from research.agent.novelty import Novelty
from research.search import embedders
from research.search.embedders import Embedder
from research.types import Observation

DATA: Final = Path(__file__).parents[1] / "tests" / "data"
CHOSEN_ON: Final = DATA / "novelty_chosen_on.jsonl"
REPORTED_ON: Final = DATA / "novelty_reported_on.jsonl"
COSINES: Final = (0.45, 0.50, 0.55, 0.60, 0.65, 0.70)
SHARES: Final = (0.15, 0.20, 0.25, 0.30, 0.35)
HEAD: Final = ("precision", "recall", "fresh taken for stale", "crowded")
Load = Callable[[], Embedder] | None


def topics(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def taken(path: Path, load: Load, kind: str, language: str = "", *, crowded: bool = False) -> list[bool]:
    """Return for each `kind` of observation, `stale` or `fresh`, whether it is taken for stale."""
    found = []
    known = topics(path)
    for topic in known:
        if language not in ("", topic["language"]):
            continue
        counter = Novelty(load)
        others = [text for each in known if each is not topic for text in (*each["seen"], *each["fresh"])]
        for text in [*(others if crowded else []), *topic["seen"]]:
            counter.remember(observation(text))
        found += [counter.count(observation(text)) == 0 for text in topic[kind]]
    return found


def observation(text: str) -> Observation:
    return Observation("", "visit", text)


def row(label: str, path: Path, load: Load, language: str = "") -> list[str]:
    """Return the cells of one way to compare: its precision and recall, and the fresh observations it takes for stale."""
    stale, fresh = taken(path, load, "stale", language), taken(path, load, "fresh", language)
    said = sum(stale) + sum(fresh)
    crowded = sum(taken(path, load, "fresh", language, crowded=True))
    return [
        label,
        f"{sum(stale) / said:.2f}" if said else "–",
        f"{sum(stale) / len(stale):.2f}",
        f"{sum(fresh)} of {len(fresh)}",
        f"{crowded} of {len(fresh)}",
    ]


def to_choose(load: Load) -> str:
    """Return the table of the thresholds, measured on the file to choose them on."""
    chosen, rows = (novelty.SIMILAR, novelty.SHARED), []
    try:
        for novelty.SIMILAR in COSINES:
            rows.append(row(f"encoder, cosine {novelty.SIMILAR:.2f}", CHOSEN_ON, load))
        for novelty.SHARED in SHARES:
            rows.append(row(f"words, share {novelty.SHARED:.2f}", CHOSEN_ON, None))
    finally:
        novelty.SIMILAR, novelty.SHARED = chosen
    return table(("to choose", *HEAD), rows)


def to_report(load: Load) -> str:
    """Return the table of the chosen thresholds, measured on the other file."""
    languages = (("en", "English"), ("zh", "Chinese"), ("", "both"))
    methods: tuple[tuple[str, Load], ...] = (("encoder", load), ("words", None))
    rows = [
        row(f"{label}, {said}", REPORTED_ON, each, language) for label, each in methods for language, said in languages
    ]
    return table(("to report", *HEAD), rows)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    encoder = embedders.cached(embedders.DEFAULT)
    print("\n\n".join([to_choose(lambda: encoder), to_report(lambda: encoder)]))


if __name__ == "__main__":
    main()
