"""Driving one run from the command line: progress on stderr, and Ctrl-C."""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import TYPE_CHECKING

from research._util.interruptible import interruptible
from research.cli.common import on_interrupt

if TYPE_CHECKING:
    from research.engine.engine import RunHandle
    from research.events.view import RunView
    from research.workbench.workbench import Workbench


def watch(bench: Workbench, handle: RunHandle, view: RunView) -> RunView:
    """Work on the run until it ends or pauses, print its progress on stderr, and return `view` with its events."""
    from research.exports import progress

    on_interrupt(partial(bench.engine.stop, handle.run_id))  # so that the run ends with a readable report
    patience = progress.Patience()

    def wait() -> None:
        for line in patience.lines(view, time.time()):
            print(line, file=sys.stderr, flush=True)

    for event in interruptible(handle.events(), wait):
        view.apply(event)
        for line in progress.lines(event):
            print(line, file=sys.stderr, flush=True)
    return view


def answered(bench: Workbench, view: RunView) -> RunView:
    """Ask the user at the terminal while the run waits for a reply; an empty line leaves it waiting.

    Without a terminal the run waits too, and `resume --reply` or the page answers it.
    """
    from research.exports import progress

    while view.status == "waiting_input" and sys.stdin.isatty() and sys.stderr.isatty():
        if view.plan_waits:
            print(progress.planned(view), file=sys.stderr)
        ask = "Start with this plan? (yes; empty: later): " if view.plan_waits else "Your reply (empty: later): "
        print(ask, end="", file=sys.stderr, flush=True)
        text = sys.stdin.readline().strip()
        if not text:
            break
        watch(bench, bench.engine.resume(view.run, text, here=True), view)
    if view.plan_waits:
        how = f"resume {view.run} --reply yes, or resume {view.run} --plan FILE with an edited plan"
        print(f"continue with: {how}", file=sys.stderr)
    elif view.status == "waiting_input":
        print(f"reply with: resume {view.run} --reply TEXT", file=sys.stderr)
    return view
