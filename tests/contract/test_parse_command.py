"""`python -m research parse` reads replies exactly as the parser does."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.unit.test_parser import DATA, cases, read


def test_the_command_line_gives_the_same_results() -> None:
    lines = (DATA / "protocol_cases.jsonl").read_text("utf-8")
    command = [sys.executable, "-m", "research", "parse", "--tools", str(DATA / "protocol_tools.json")]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, encoding="utf-8", check=True)
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    assert printed == [{"id": case["id"], **read(case)} for case in cases("protocol_cases.jsonl")]
