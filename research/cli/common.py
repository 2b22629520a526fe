"""What several commands share: opening the home, loading a run, and printing one."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from research.defaults import PAGES
from research.errors import ConfigError

if TYPE_CHECKING:
    from research.config.settings import Settings
    from research.events.events import Event
    from research.events.view import RunView
    from research.workbench.workbench import Workbench


EXIT_STATUS = {"completed": 0, "failed": 1, "waiting_input": 3, "paused": 4, "stopped": 4}
"""Exit status by run status; 2: a wrong call or setting."""


def open_settings(home: str | None) -> Settings:
    """Load the settings and start the log; `home` overrides WORKBENCH_HOME."""
    from research.config.settings import load
    from research.ops import logs

    settings = load(home=home)
    logs.start(settings.logs, settings.log_level)
    return settings


def open_home(arguments: argparse.Namespace) -> Workbench:
    """Open the workbench in the home folder of this call."""
    settings = open_settings(arguments.home)
    from research.workbench.workbench import Workbench

    return Workbench(settings)


def load_run(arguments: argparse.Namespace) -> tuple[Workbench, list[Event]]:
    """Open the home and return it with the events of the named run.  Raises `ConfigError` if there is no such run."""
    bench = open_home(arguments)
    return bench, bench.store.events(bench.store.run(arguments.run).id)


def parse_pairs(items: Sequence[str], option: str) -> dict[str, str]:
    """Parse the values of an option that is written NAME=VALUE.  Raises `ConfigError`."""
    for item in items:
        if "=" not in item:
            raise ConfigError(f"{option} {item!r}: write NAME=VALUE")
    return dict(item.split("=", 1) for item in items)


def prepare_library(bench: Workbench, folders: Sequence[str], named: Sequence[str] = ()) -> None:
    """Bring the library up to date, with progress on stderr; only the first time is slow.

    Of `folders`, those `named` on the command line must be readable, and their skipped files are listed. The others
    were added earlier; their changed files are read again if possible.
    """
    from research._util.paths import resolved
    from research.exports import progress

    new = [str(resolved(Path(folder))) for folder in named]
    with progress.bar(sys.stderr) as report:
        unreadable = bench.prepare(new, report)
        for folder in [each for each in folders if each not in (*new, PAGES)]:
            try:
                bench.library.add_folder(Path(folder), report)
            except ConfigError as error:
                print(f"{error}; not read again, so its earlier index is searched", file=sys.stderr)
    for path, reason in unreadable:
        print(f"not read: {path}: {reason}", file=sys.stderr)


def writable(name: str) -> Path:
    """Return the path after trying to open it for writing, so that a bad path fails before any work is done."""
    path = Path(name)
    existed = path.exists()
    try:
        with path.open("ab"):
            pass
        if not existed:
            path.unlink()
    except OSError as error:
        raise ConfigError(f"{name} cannot be written ({error.strerror}); name a file in an existing folder") from error
    return path


def print_json(value: object) -> None:
    """Print a value, which may have structs in it, as one line of JSON on stdout."""
    import msgspec

    print(json.dumps(msgspec.to_builtins(value), ensure_ascii=False))


def on_interrupt(stop: Callable[[], object]) -> None:
    """Call `stop` on Ctrl-C; a second one ends the process."""

    def interrupted(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        stop()

    signal.signal(signal.SIGINT, interrupted)


def print_run(view: RunView, as_json: bool) -> int:
    """Print a run on stdout and return its exit status."""
    if as_json:
        from research.exports.json import as_dict

        print_json(as_dict(view))
    else:
        from research.exports import progress

        print(progress.summary(view))
    return EXIT_STATUS.get(view.status, 0)
