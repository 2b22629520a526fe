"""Structs are decoded from JSON in one place, and invalid input is an error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from research._util import decoding
from research.types import Passage

ROOT = Path(__file__).parents[2]
ALONE = {"_util/decoding.py", "sandbox/child.py", "sandbox/monty.py"}
"""The decoder itself, and processes with a single thread."""


def test_all_structs_are_decoded_through_the_decoding_module() -> None:
    past = re.compile(r"msgspec\.convert\(|msgspec\.json\.decode\([^()]*(?:\([^()]*\)[^()]*)*type=")
    found = [
        str(path.relative_to(ROOT / "research"))
        for path in (ROOT / "research").rglob("*.py")
        if past.search(path.read_text(encoding="utf-8"))
    ]
    assert set(found) <= ALONE


def test_invalid_input_raises_a_value_error() -> None:
    assert decoding.decode(b'[{"url": "u", "title": "t", "quote": "q"}]', tuple[Passage, ...])[0].quote == "q"
    with pytest.raises(ValueError, match="missing required field"):
        decoding.decode("{}", Passage)
    with pytest.raises(ValueError, match="Expected `str`"):
        decoding.convert({"url": 1, "title": "", "quote": ""}, Passage)
