"""Print docs/conformance.md: python -m tests.conformance.table > docs/conformance.md"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tests.conformance.behaviours import ALL, ELSEWHERE, NOT_PLAYED

HEAD = """# Conformance

How real model services behave in rounds with tools, and what the workbench does about it. Servers of our own play each
behaviour on loopback: a framework does a job of five rounds with a server that refuses, splits or hides what the real one
does, once streamed and once plain.

**Every row is emulated, never run against the real service.** The behaviours come from the services' documentation and
from public issue threads, and services change. `research-workbench endpoints test NAME` asks a real one.

Written by `python -m tests.conformance.table`; a test compares. To add a behaviour, add it to
`tests/conformance/behaviours.py`. A service's settings are those of its preset, [`quirks`](models.md) included.
"""


def lines() -> Iterator[str]:
    """Yield the lines of the page."""
    yield HEAD
    yield "| id | service | what it does → what the workbench does | streamed | plain |"
    yield "|---|---|---|---|---|"
    for each in ALL:
        marks = ["emulated" if mode in each.modes else "–" for mode in ("streamed", "plain")]
        yield f"| {each.id} | {each.service} | {each.what.replace('|', '/')} | {' | '.join(marks)} |"
    yield "\n## Played for single requests\n"
    yield "| id | service | what it does | test |"
    yield "|---|---|---|---|"
    for name, (service, what, test) in ELSEWHERE.items():
        yield f"| {name} | {service} | {what} | `tests/contract/{test}` |"
    yield "\n## Not played\n"
    yield "| id | why |"
    yield "|---|---|"
    for name, why in NOT_PLAYED.items():
        yield f"| {name} | {why} |"


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()) + "\n")
