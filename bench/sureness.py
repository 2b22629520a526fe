"""Measure when a reading of a question can be trusted: python -m bench.sureness tests/data/trust/questions*_dev.jsonl

Each file is the questions of one writer. The decisions of `research/models/extractive/meaning.py`, whether the likeliest
label is right and whether the likeliest calculated measure is, are fitted to all writers but one and tried on that one.
Prints how many are accepted and how many of these are right, and the weights that fit all, which are those that are shipped;
with --check the command fails if they differ.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.printing import table
from research.models.extractive import meaning
from research.models.extractive.asked import parts_of
from research.models.extractive.described import beyond
from research.models.extractive.grounding import asking_sentences
from research.models.extractive.phrasebook import measures

Array = NDArray[np.float64]
LEVELS = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9)
RIDGE, STEPS, PACE = 3e-3, 6000, 0.3
Row = tuple[str, list[float], bool]
"""The writer, the signs, and whether the reading is right."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.sureness", description=__doc__)
    parser.add_argument("questions", type=Path, nargs="+")
    parser.add_argument("--check", action="store_true", help="fail if other weights are shipped")
    arguments = parser.parse_args()
    items = [(path.stem, json.loads(line)) for path in arguments.questions for line in path.read_text().splitlines()]
    asked = [(writer, item, beyond(item["question"])) for writer, item in items]
    asked = [each for each in asked if len(parts_of(each[2])) == 1]
    differ = False
    for name, settings, rows in (
        ("label", ("share", "margin", "made", "strange", "start"), list(looked_up(asked))),
        ("measure", ("any", "one", "begin"), list(calculated(asked))),
    ):
        print(f"{name}: {len(rows)} questions, {sum(right for _, _, right in rows)} of them with the right reading\n")
        print(measured(rows))
        found = dict(zip(settings, fitted(rows), strict=True))
        shipped = {each: getattr(meaning.MEASURED, each) for each in settings}
        differ |= found != shipped
        print(f"\n{found}\n" + (f"shipped: {shipped}\n" if found != shipped else ""))
    return int(differ and arguments.check)


def looked_up(asked: Iterable[tuple[str, dict[str, Any], str]]) -> Iterable[Row]:
    """Yield the questions for one line, whose label is in their source, and those that no line answers."""
    for writer, item, text in asked:
        gold = labels_of(item["source"])
        label, told = read(text)
        if item["kind"] in ("computed", "unanswerable"):
            # Where the label is right but the country lacks the line, or several countries are compared, it decides nothing.
            if label not in gold and not (item["kind"] == "unanswerable" and label in _ELSEWHERE):
                yield writer, told, False
        elif len(gold) == 1:
            yield writer, told, label in gold


_ELSEWHERE = frozenset(["Executive branch, chief of state", "Capital, name", "Coastline", "Literacy, total population"])
"""Labels of questions that are refused because the country has another thing: a president for a king."""


def calculated(asked: Iterable[tuple[str, dict[str, Any], str]]) -> Iterable[Row]:
    """Yield all questions; a measure is right if it is made of exactly the labels in the source of a computed answer."""
    for writer, item, text in asked:
        found, gold = meaning.made(text), labels_of(item["source"])
        several = len(gold) > 1 or found.measure.kind in ("rest", "inverse")
        right = item["kind"] in ("computed", "two_step") and several and set(found.measure.labels) == gold
        one = math.log(max(found.share, 1e-6) / max(found.any, 1e-6))
        yield writer, [math.log(max(found.any, 1e-4) / max(1 - found.any, 1e-4)), one], right


def read(text: str) -> tuple[str, list[float]]:
    """Return the likeliest label of a question and its signs."""
    core = asking_sentences(text)
    found = meaning.read_twice(core, text)
    told = meaning.signs(core, found.shares, text)
    return found.label, [told.share, told.margin, told.made, told.strange]


def labels_of(source: str) -> set[str]:
    """Return the labels of the lines that a source names: `africa/ke.json: People and Society > Median age > total`."""
    known, found = set(meaning.labels()) | {label for each in measures().values() for label in each.labels}, set()
    for place in source.split(";"):
        _, _, path = place.partition(": ")
        steps = [step.strip() for step in path.split(">")][1:]
        steps = steps[:-1] if steps[-1:] == ["text"] else steps
        written = (", ".join(steps), ", ".join(steps[-1:]), steps[0] if steps else "")
        label = next((bare for each in written if (bare := _SERIES.sub("", each).replace(": ", ", ")) in known), "")
        found |= {label} - {""}
    return found


_SERIES = re.compile(r",? (?:1[5-9]|20)\d\d$")


def fitted(rows: Sequence[Row]) -> list[float]:
    """Return the weights of a logistic regression, with the constant last."""
    signs = np.array([told for _, told, _ in rows])
    right = np.array([float(each) for _, _, each in rows])
    mean, spread = signs.mean(0), signs.std(0) + 1e-9
    columns: Array = np.column_stack([(signs - mean) / spread, np.ones(len(rows))])
    weights = np.zeros(columns.shape[1])
    for _ in range(STEPS):
        said = 1 / (1 + np.exp(-columns @ weights))
        weights -= PACE * (columns.T @ (said - right) / len(rows) + RIDGE * np.append(weights[:-1], 0))
    plain = weights[:-1] / spread
    return [round(float(each), 2) for each in (*plain, weights[-1] - plain @ mean)]


def measured(rows: Sequence[Row]) -> str:
    """Return a table: how many right readings are accepted from each probability on, and how many of these are right."""
    said: list[tuple[float, bool]] = []
    for writer in dict.fromkeys(writer for writer, _, _ in rows):
        *weights, start = fitted([row for row in rows if row[0] != writer])
        said += [
            (1 / (1 + math.exp(-float(np.dot(weights, told)) - start)), right)
            for other, told, right in rows
            if other == writer
        ]
    total = sum(right for _, right in said)
    cells = []
    for level in LEVELS:
        accepted = [right for sure, right in said if sure >= level]
        held = sum(accepted)
        cells.append([f"{level:.2f}", f"{held / total:.2f}", f"{held / max(1, len(accepted)):.2f}"])
    return table(("accepted from", "of the right readings", "right"), cells)


if __name__ == "__main__":
    sys.exit(main())
