"""The phrasebook."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from msgspec import Struct

WEIGHTS = Path(__file__).with_name("phrasebook.npz")


class Wordings(Struct, frozen=True):
    """The questions that ask for a label; an empty label is for questions that no label answers."""

    label: str
    says: tuple[str, ...]


@cache
def entries() -> tuple[Wordings, ...]:
    """Return the phrasebook."""
    text = Path(__file__).with_name("phrasebook.jsonl").read_text("utf-8")
    return tuple(Wordings(e["label"], tuple(e["says"])) for e in map(json.loads, text.splitlines()))


@cache
def vocabulary() -> frozenset[str]:
    """Return all words of the phrasebook, as `bench.phrasebook` wrote them beside the weights."""
    import numpy as np

    with np.load(WEIGHTS) as data:
        return frozenset(map(str, data["words"]))
