"""`python -m research check` answers each claim of a file with a verdict."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SOURCE = {"title": "The mill at Orrin", "text": "Dalton Mills acquired Verity Looms in 2011. It employs 640 people."}


def check(home: Path, lines: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "research", "check", "--home", str(home)]
    return subprocess.run(command, input=lines, capture_output=True, text=True, encoding="utf-8", check=False)


def test_each_claim_gets_its_verdict_in_order(tmp_path: Path) -> None:
    claims = [
        ("a", "Dalton Mills acquired Verity Looms in 2011.", [SOURCE]),
        ("b", "Dalton Mills acquired Verity Looms in 2013.", [SOURCE]),
        (3, "Nothing at all.", []),
    ]
    lines = "\n".join(json.dumps({"id": i, "claim": claim, "sources": sources}) for i, claim, sources in claims)
    done = check(tmp_path, f"{lines}\n\n")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, [set(each) for each in found]) == (0, [{"id", "verdict", "quote", "reason", "by"}] * 3)
    assert [(each["id"], each["verdict"], each["by"]) for each in found] == [
        ("a", "supported", "rules"),
        ("b", "unverified", "rules"),
        (3, "dead", "rules"),
    ]
    assert found[0]["quote"] == "Dalton Mills acquired Verity Looms in 2011."


def test_a_line_that_is_no_claim_is_named(tmp_path: Path) -> None:
    good = json.dumps({"id": 1, "claim": "It employs 640 people.", "sources": [SOURCE]})
    done = check(tmp_path, f'{good}\n{{"id": 2}}\n')
    assert (done.returncode, len(done.stdout.splitlines())) == (2, 1)
    assert done.stderr.startswith("research: line 2: expected") and "Traceback" not in done.stderr
