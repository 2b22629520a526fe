"""Evaluate the recipes of the tables of docs/evaluation.md: python -m bench.evaluation [SET ...] [--split NAME]

Runs `python -m research eval` on each set with the recipes of its table; saved rows are not repeated.  Prints only totals:
a table for each set, how much more evidence `react/full` cites than one round of searches, and the best recipe of every
set.  SET is a built-in dataset or a file; the default is `factbook` and `almanac`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Mapping
from statistics import mean

import msgspec
from msgspec import Struct

from bench.printing import table

ONE_ROUND = "react:rounds=1/full"
BASE = "react/full"
SEVERAL = (ONE_ROUND, "rewoo/full", BASE, "iter_research/evolving")
RECIPES = {
    "factbook": (
        BASE,
        "react/window",
        "react/resum",
        "tool_rounds/full",
        "iter_research/evolving",
        "rewoo/full",
        "reflexion/full",
        "parallel/full",
        "supervisor/full",
        ONE_ROUND,
    ),
    "almanac": SEVERAL,
}
"""Recipes by data set; a set that is not listed is evaluated with `SEVERAL`."""
ASKS = {"factbook": "questions on figures", "almanac": "questions over prose, two or three hops"}
HEAD = (
    "recipe",
    "right, of what has an answer",
    "right, of all",
    "refused, of what has none",
    "evidence recall",
    "citation precision",
    "tokens",
)
BEST = (
    "set, best recipe",
    "right, of what has an answer",
    "refused, of what has none",
    "all documents needed are cited",
    "cited statements borne out",
)


class Figure(Struct, frozen=True):
    mean: float
    interval: tuple[float, float] | None = None


class Of(Struct, frozen=True):
    """A recipe's figure in the JSON of `eval`; None if it is unknown."""

    name: str
    right: Figure | None
    refused: Figure | None
    evidence_recall: Figure | None
    citation_precision: Figure | None
    prompt_tokens: Figure
    completion_tokens: Figure


class Pair(Struct, frozen=True):
    first: str
    second: str
    evidence_recall: Figure | None


class Row(Struct, frozen=True):
    """One question of one recipe; `refused` is None if the question has an answer."""

    recipe: str
    right: float | None
    refused: float | None


class Found(Struct, frozen=True):
    """The part of the object printed by `eval --json` that the bench reads."""

    questions: int
    recipes: list[Of]
    differences: list[Pair]
    rows: list[Row]

    def best(self) -> Of:
        """Return the recipe that is right most often, the first of equals."""
        return max(self.recipes, key=lambda each: each.right.mean if each.right else 0.0)

    def answered(self, each: Of) -> Figure | None:
        """Return how often the recipe is right on questions that have an answer."""
        right = [row.right for row in self.rows if row.recipe == each.name and row.refused is None]
        known = [one for one in right if one is not None]
        return Figure(mean(known)) if known else None


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.evaluation", description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(RECIPES), metavar="SET", help="a built-in dataset, or a file")
    parser.add_argument("--split", default="dev", help="dev or held, of a built-in dataset; default: dev")
    parser.add_argument("--corpus", metavar="PATH", help="the documents, for a file that contains none")
    parser.add_argument("--limit", metavar="N", help="the first N questions")
    arguments = parser.parse_args()
    more = ["--corpus", arguments.corpus] if arguments.corpus else []
    more += ["--limit", arguments.limit] if arguments.limit else []
    found = {}
    for name in arguments.sets:
        recipes = [part for each in RECIPES.get(name, SEVERAL) for part in ("--recipe", each)]
        command = ["research", "eval", name, "--split", arguments.split, "--json", *more, *recipes]
        # Stop on failed or missing rows: means over some of the rows are not those of the documents.
        printed = subprocess.run([sys.executable, "-m", *command], stdout=subprocess.PIPE, check=True).stdout
        found[name] = msgspec.json.decode(printed, type=Found)
        print("\n".join(lines(name, arguments.split, found[name])), end="\n\n", flush=True)
    print(overview(found, arguments.split))


def lines(name: str, split: str, found: Found) -> Iterator[str]:
    """Return a set's part of docs/evaluation.md."""
    none = sum(row.refused is not None for row in found.rows) // len(found.recipes)
    yield f"`{name}`, {split}: {found.questions} questions, {none} of them unanswerable\n"
    yield table(
        HEAD,
        [
            [
                f"`{each.name}`",
                share(found.answered(each)),
                share(each.right, interval=True),
                share(each.refused),
                share(each.evidence_recall, interval=True),
                share(each.citation_precision),
                f"{each.prompt_tokens.mean + each.completion_tokens.mean:,.0f}",
            ]
            for each in found.recipes
        ],
    )
    for pair in found.differences:
        gain = pair.evidence_recall
        if {pair.first, pair.second} == {BASE, ONE_ROUND} and gain and gain.interval:
            low, high = gain.interval
            more = gain if pair.first == BASE else Figure(-gain.mean, (-high, -low))
            yield f"\nEvidence recall of `{BASE}` less that of `{ONE_ROUND}`: {share(more, interval=True)}"


def overview(found: Mapping[str, Found], split: str) -> str:
    """Return the table of the best recipe of each set."""
    rows = []
    for name, of in found.items():
        best = of.best()
        once = next((each for each in of.recipes if each.name == ONE_ROUND), None)
        beside = f" (one round of searches: {percent(once.evidence_recall)})" if once else ""
        rows.append(
            [
                f"`{name}` {split}: {of.questions} {ASKS.get(name, 'questions')}, `{best.name}`",
                percent(of.answered(best)),
                percent(best.refused),
                percent(best.evidence_recall) + beside,
                percent(best.citation_precision),
            ]
        )
    return table(BEST, rows)


def share(figure: Figure | None, *, interval: bool = False) -> str:
    """Return a figure from 0 to 1, with its 95 % interval if it has one."""
    if figure is None:
        return "–"
    around = figure.interval if interval else None
    return f"{figure.mean:z.2f}" + (f" [{around[0]:z.2f}, {around[1]:z.2f}]" if around else "")


def percent(figure: Figure | None) -> str:
    return "–" if figure is None else f"{100 * float(share(figure)):.0f} %"  # rounded once, like the other table


if __name__ == "__main__":
    main()
