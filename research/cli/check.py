"""`check`: compare claims with their sources."""

from __future__ import annotations

import argparse
import sys

from research.cli.common import open_settings
from research.cli.parser import Commands
from research.errors import ConfigError


def add(commands: Commands) -> None:
    """Declare the command."""
    commands.add("check", "compare claims with their sources: one JSON claim per line in, its verdict out", run)


def run(arguments: argparse.Namespace) -> int:
    """Read `{"id", "claim", "sources": [{"title", "text"}]}` from standard input and print one JSON line for each."""
    import msgspec

    from research._util import decoding
    from research.citations.claims import Claim, judge
    from research.search import embedders

    embedder = embedders.cached(open_settings(arguments.home).embedder)
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            try:
                claim = decoding.decode(line, Claim)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise ConfigError(f'line {number}: expected {{"id", "claim", "sources"}}: {error}') from error
            print(msgspec.json.encode(judge(claim, embedder)).decode(), flush=True)
    return 0
