"""Research Workbench: research agents whose every step can be watched, replayed, compared and checked.

import research

view = research.run("What was France's real GDP in 2024?", framework="react")
print(view.report)

for event in research.stream("…"):          # the same run, event by event
    print(event)

view = await research.arun("…")             # from async code
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# Loaded here so that the function below, defined after it, is what `research.run` means; `from research.run import Run`
# finds the module all the same.
import research.run  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Iterator

    from research.events import Event
    from research.view import RunView
    from research.workbench import Workbench

__all__ = ["arun", "run", "stream"]


def stream(question: str, *, workbench: Workbench | None = None, **recipe: Any) -> Iterator[Event]:
    """Run a question in this thread and yield its events as they happen; they are saved too.

    `recipe` takes the arguments of `Workbench.recipe`.  Raises `ConfigError` before the first event.
    """
    from research.workbench import Workbench

    bench = workbench or Workbench()
    return bench.engine.follow(question, bench.recipe(**recipe))


def run(question: str, *, workbench: Workbench | None = None, **recipe: Any) -> RunView:
    """Run a question to its end and return the view of it."""
    from research.view import fold

    return fold(stream(question, workbench=workbench, **recipe))


async def arun(question: str, *, workbench: Workbench | None = None, **recipe: Any) -> RunView:
    """`run` for async callers: the same generator, in a worker thread."""
    import asyncio

    return await asyncio.to_thread(run, question, workbench=workbench, **recipe)
