"""Which tool descriptions were seen: one that changes later may be an attack, and waits until somebody approves it.

A description is an instruction to the model.  A server that was harmless when it was added can replace it any day.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from research import decoding
from research.errors import ConfigError

FILE = "mcp-seen.json"
KNOWN = 1_000
"""Tools of one server that are remembered; one that keeps inventing new ones gets no more."""


class Known(Struct, omit_defaults=True):
    """One tool as it was accepted, and as it is now where that differs."""

    accepted: str
    """Fingerprint."""
    waiting: str = ""
    """Fingerprint of a change nobody has approved yet; empty when there is none."""


class Seen:
    """The fingerprints of one home.  Safe for threads and processes."""

    def __init__(self, home: Path) -> None:
        self._path = home / FILE

    def admit(self, server: str, tools: Mapping[str, str]) -> dict[str, str]:
        """Compare a server's tools (name to fingerprint) with what was seen.  Returns why some are withheld, by name.

        A tool is accepted as it is first seen; a changed one waits until it changes back or is approved.
        """
        withheld = {}
        with self._open() as all_known:
            known = all_known.setdefault(server, {})
            for name, mark in tools.items():
                if name not in known and len(known) >= KNOWN:
                    withheld[name] = f"the server has offered more than {KNOWN:,} different tools"
                    continue
                entry = known.setdefault(name, Known(mark))
                entry.waiting = "" if entry.accepted == mark else mark
                if entry.waiting:
                    withheld[name] = "its description or parameters have changed since they were accepted"
        return withheld

    def approve(self, server: str) -> list[str]:
        """Accept the changes that were noticed, exactly those; returns the names of the tools, sorted."""
        approved = []
        with self._open() as all_known:
            for name, entry in all_known.get(server, {}).items():
                if entry.waiting:
                    entry.accepted, entry.waiting = entry.waiting, ""
                    approved.append(name)
        return sorted(approved)

    @contextmanager
    def _open(self) -> Iterator[dict[str, dict[str, Known]]]:
        """What is known, written back if it has changed when the block ends well."""
        from filelock import FileLock

        with FileLock(f"{self._path}.lock"):
            try:
                before = self._path.read_bytes() if self._path.exists() else b"{}"
                known = decoding.decode(before, dict[str, dict[str, Known]])
            except (OSError, msgspec.MsgspecError) as error:
                # Starting over would accept every change there is.
                raise ConfigError(
                    f"{self._path} cannot be read ({error}); if you delete it, the tools of all MCP servers are "
                    "accepted as they are then"
                ) from error
            yield known
            after = msgspec.json.format(msgspec.json.encode(known, order="sorted"), indent=1)
            if after != before:
                fresh = self._path.with_suffix(".new")
                with fresh.open("wb") as file:
                    file.write(after)
                    file.flush()
                    os.fsync(file.fileno())
                fresh.replace(self._path)
