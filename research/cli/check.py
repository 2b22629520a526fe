"""`check`: compare claims with their sources."""

from __future__ import annotations

import argparse
import sys

from msgspec import Struct

from research.cli.parser import Commands
from research.errors import ConfigError


class Given(Struct):
    """A source of a claim."""

    text: str
    title: str = ""


class Claim(Struct):
    """A claim, in one sentence, and its sources."""

    id: str | int
    claim: str
    sources: list[Given]


def add(commands: Commands) -> None:
    """Declare the command."""
    commands.add("check", "compare claims with their sources: one JSON claim per line in, its verdict out", run)


def run(arguments: argparse.Namespace) -> int:
    """Read `{"id", "claim", "sources": [{"title", "text"}]}` from standard input and print one JSON line for each."""
    import msgspec

    from research._util import decoding
    from research.citations.verification import Pair, Rules

    rules = Rules()
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            try:
                claim = decoding.decode(line, Claim)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise ConfigError(f'line {number}: expected {{"id", "claim", "sources"}}: {error}') from error
            (said,) = rules.verify([Pair(claim.claim, tuple(f"{each.title}\n{each.text}" for each in claim.sources))])
            found = {"verdict": said.status, "quote": said.quote, "reason": said.reason, "by": said.by}
            print(msgspec.json.encode({"id": claim.id} | found).decode(), flush=True)
    return 0
