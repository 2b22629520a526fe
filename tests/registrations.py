"""What a test registers as a plug-in lasts as long as the test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from research._util.registry import Entry
from research.plugins import KINDS

Registered = Mapping[str, Mapping[str, Entry]]
"""The entries by kind and name."""


def registered() -> Registered:
    """Return what is registered now."""
    return {kind: {each.id: each for each in registry.loaded()} for kind, registry in KINDS.items()}


def restore(before: Registered) -> list[str]:
    """Return to an earlier state; return kind and name of what was added, replaced or removed since.

    What was imported since stays: our own modules and installed packages register once in a process.
    """
    changed = []
    for kind, entries in registered().items():
        imported = {name: each for name, each in entries.items() if name not in before[kind] and _lasts(each)}
        kept = {**before[kind], **imported}
        changed += [f"{kind} {name}" for name in {**kept, **entries} if kept.get(name) is not entries.get(name)]
        if kept != entries:
            KINDS[kind].restore(kept.values())
    return changed


def _lasts(entry: Entry) -> bool:
    return bool(entry.package) or entry.function.__module__.startswith("research.")


@contextmanager
def registering() -> Iterator[None]:
    """Undo what the block registers."""
    before = registered()
    try:
        yield
    finally:
        restore(before)
