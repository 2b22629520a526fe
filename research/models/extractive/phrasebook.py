"""The phrasebook."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec import Struct

WEIGHTS = Path(__file__).with_name("phrasebook.npz")


class Wordings(Struct, frozen=True):
    """The questions that ask for a label; an empty label is for questions that no label answers."""

    label: str
    says: tuple[str, ...]


Kind = Literal[
    "share",
    "part",
    "sum_over",
    "ratio",
    "per",
    "per_million",
    "per_area",
    "minus",
    "plus",
    "product",
    "rest_product",
    "gap_product",
    "rest",
    "inverse",
    "years",
    "months",
]
"""How a measure is calculated; `composing.py` says what from."""


class Measure(Struct, frozen=True):
    """What no line states but several give: *which part of its coal is exported*."""

    kind: Kind
    labels: tuple[str, ...]
    says: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name that the classifier knows it by."""
        return f"{MADE}{self.kind}: {' | '.join(self.labels)}"


MADE = "= "
"""Starts the names of measures, which no label does."""


@cache
def measures() -> dict[str, Measure]:
    """Return the measures that are calculated from several labels, by name."""
    lines = Path(__file__).with_name("measures.jsonl").read_text("utf-8").splitlines()
    found = (Measure(e["kind"], tuple(e["labels"]), tuple(e["says"])) for e in map(json.loads, lines))
    return {each.name: each for each in found}


@cache
def entries() -> tuple[Wordings, ...]:
    """Return the phrasebook."""
    text = Path(__file__).with_name("phrasebook.jsonl").read_text("utf-8")
    return tuple(Wordings(e["label"], tuple(e["says"])) for e in map(json.loads, text.splitlines()))


@cache
def wholes() -> dict[str, tuple[str, ...]]:
    """Return the labels of wholes, such as `Land use`, with those of their parts, such as `Land use, forest`."""
    labels = dict.fromkeys(entry.label for entry in entries())
    found: dict[str, tuple[str, ...]] = {}
    for label in labels:
        whole = label.rpartition(", ")[0]
        if whole and whole in labels:
            found[whole] = (*found.get(whole, ()), label)
    return found


@cache
def vocabulary() -> frozenset[str]:
    """Return all words of the phrasebook, as `bench.phrasebook` wrote them beside the weights."""
    import numpy as np

    with np.load(WEIGHTS) as data:
        return frozenset(map(str, data["words"]))
