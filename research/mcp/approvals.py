"""Fingerprints of accepted tool descriptions: a description that changes later is withheld until the user approves it.

A description is an instruction to the model, and a server that was harmless when added can change it any day.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from research._util import decoding
from research.errors import ConfigError

FILE = "mcp-seen.json"
MAX_TOOLS = 1_000
"""Tools recorded for one server; further ones are withheld, in case a server invents names endlessly."""


class ToolRecord(Struct, omit_defaults=True):
    """The fingerprints of one tool."""

    accepted: str
    """Fingerprint of the description and parameters that were accepted."""
    waiting: str = ""
    """Fingerprint of a change not yet approved; empty if none."""


class Approvals:
    """The tool fingerprints of one home folder.  Safe for threads and processes."""

    def __init__(self, home: Path) -> None:
        self._path = home / FILE

    def admit(self, server: str, tools: Mapping[str, str]) -> dict[str, str]:
        """Compare a server's tools (name to fingerprint) with the record; return the withheld ones: name to reason.

        A new tool is accepted.  A changed tool is withheld until it changes back or the user approves it.
        """
        withheld = {}
        with self._open() as servers:
            records = servers.setdefault(server, {})
            for name, mark in tools.items():
                if name not in records and len(records) >= MAX_TOOLS:
                    withheld[name] = f"the server has offered more than {MAX_TOOLS:,} different tools"
                    continue
                entry = records.setdefault(name, ToolRecord(mark))
                entry.waiting = "" if entry.accepted == mark else mark
                if entry.waiting:
                    withheld[name] = "its description or parameters have changed since they were accepted"
        return withheld

    def approve(self, server: str) -> list[str]:
        """Accept exactly the changes that `admit` has recorded; return the names of those tools, sorted."""
        approved = []
        with self._open() as servers:
            for name, entry in servers.get(server, {}).items():
                if entry.waiting:
                    entry.accepted, entry.waiting = entry.waiting, ""
                    approved.append(name)
        return sorted(approved)

    @contextmanager
    def _open(self) -> Iterator[dict[str, dict[str, ToolRecord]]]:
        """Yield the records by server and tool, and write them back if the block changed them and did not raise."""
        from filelock import FileLock

        with FileLock(f"{self._path}.lock"):
            try:
                before = self._path.read_bytes() if self._path.exists() else b"{}"
                records = decoding.decode(before, dict[str, dict[str, ToolRecord]])
            except (OSError, msgspec.MsgspecError) as error:
                # An empty record would accept every pending change.
                raise ConfigError(
                    f"{self._path} cannot be read ({error}); repair it, or delete it to accept the tools of all MCP "
                    "servers as they are now"
                ) from error
            yield records
            after = msgspec.json.format(msgspec.json.encode(records, order="sorted"), indent=1)
            if after != before:
                fresh = self._path.with_suffix(".new")
                with fresh.open("wb") as file:
                    file.write(after)
                    file.flush()
                    os.fsync(file.fileno())
                fresh.replace(self._path)
