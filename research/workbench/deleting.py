"""Delete runs together with the kept pages that only they have read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from research import plugins
from research.events.events import Event, ToolFinished

if TYPE_CHECKING:
    from research.search.library.documents import Library
    from research.store import Store


def delete(store: Store, library: Library, runs: Sequence[str]) -> None:
    """Hide runs, and the kept pages that only they have read, until `restore` or `Workbench.purge`."""
    store.delete(runs)
    library.pages.delete(runs)


def restore(store: Store, library: Library, runs: Sequence[str]) -> None:
    """Undo a `delete`."""
    store.restore(runs)
    library.pages.restore(runs)


def noting(library: Callable[[], Library], past: Sequence[Event]) -> Callable[[Event], None]:
    """Return the function that records which kept pages a run reads."""

    def receive(event: Event) -> None:
        seen = event.observation if isinstance(event, ToolFinished) else None
        if seen and plugins.tool.traits(seen.name).reads and not seen.private and seen.sources:
            library().pages.read_by(event.run, [each.url for each in seen.sources])

    return receive
