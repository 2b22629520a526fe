"""Many threads can decode structs from JSON concurrently, from the start of a process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from research._util import decoding
from research.types import Passage

ROOT = Path(__file__).parents[2]
ALONE = {"_util/decoding.py", "sandbox/child.py", "sandbox/monty.py"}
"""The decoder itself, and processes with a single thread."""

AT_ONCE = """
import sys, threading
from research._util.decoding import decode
from research.models.openai import _Chunk

sys.setswitchinterval(1e-6)
begin = threading.Barrier(8)
line = '{"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "search"}}]}}], "usage": {"prompt_tokens": 3}}'

def read():
    begin.wait()
    for _ in range(50):
        assert decode(line, _Chunk).choices[0].delta.tool_calls[0].function.name == "search"

threads = [threading.Thread(target=read) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def test_the_first_replies_of_a_process_can_be_decoded_concurrently() -> None:
    for _ in range(12):
        subprocess.run([sys.executable, "-c", AT_ONCE], cwd=ROOT, check=True, timeout=60)


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
