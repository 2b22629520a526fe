"""Run all tests, then those that failed once more, alone: `make test`.

The browser tests run in a process of their own, because Playwright occupies its event loop, beside the others, which wait
for a third of their time.  A test that fails first and passes alone is flaky: the suite passes, and the last lines and a
file name the test as a fault to be mended.  A test that fails twice fails the suite; only then are the values in its
assertions needed, and pytest rewrites the test for them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

RESULTS = Path(".venv/suite")
PARTS = {
    "browser": ["tests/browser"],
    # Faults first, because the longest tests are among them.
    "others": [
        "-n", "3", "--dist", "loadfile", "--no-loadscope-reorder",
        "tests/faults", "tests/contract", "tests/app", "tests/unit",
    ],
}  # fmt: skip
SOME_FAILED = 1
"""The exit status of pytest when tests failed; greater ones say that it could not run them."""


PLAIN = "--assert=plain"
"""Assertions as Python has them: to rewrite those of all tests takes each process 20 s."""


def start(name: str, *options: str, log: Path | None = None) -> subprocess.Popen[bytes]:
    """Start pytest with a cache of its own, where it keeps the names of failed tests."""
    cache = f"cache_dir={(RESULTS / name).resolve()}"
    command = [sys.executable, "-m", "pytest", "-o", cache, "--cache-clear", *options]
    return subprocess.Popen(command, stdout=log.open("wb") if log else None, stderr=subprocess.STDOUT if log else None)


def failed(name: str) -> list[str]:
    """Return the tests that failed in the latest run of this name."""
    path = RESULTS / name / "v/cache/lastfailed"
    return sorted(json.loads(path.read_text("utf-8"))) if path.is_file() else []


def main(options: list[str]) -> int:
    RESULTS.mkdir(parents=True, exist_ok=True)
    log = RESULTS / "browser.txt"
    running = {
        name: start(name, PLAIN, *PARTS[name], *options, log=log if name == "browser" else None) for name in PARTS
    }
    statuses = {name: process.wait() for name, process in running.items()}
    print(log.read_text("utf-8"), flush=True)
    flaky: list[str] = []
    for name in PARTS:
        first = failed(name)
        if statuses[name] == SOME_FAILED and first:
            print(f"second run, alone: {len(first)} of {name}", flush=True)
            statuses[name] = start(f"{name}-again", *first, *options).wait()
            flaky += sorted({*first} - {*failed(f"{name}-again")}) if statuses[name] <= SOME_FAILED else []
    (RESULTS / "flaky.txt").write_text("".join(f"{test}\n" for test in flaky), encoding="utf-8")
    print(f"flaky: {', '.join(flaky) or 'none'}")
    return max(map(abs, statuses.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
