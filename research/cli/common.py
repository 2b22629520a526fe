"""What commands share: opening the home, loading a run, printing one."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from research.errors import ConfigError

if TYPE_CHECKING:
    from research.view import RunView
    from research.workbench import Workbench


EXIT = {"completed": 0, "failed": 1, "waiting_input": 3, "paused": 4, "stopped": 4}
"""Exit status by the run's; 2 is a wrong call or setting."""


def open_home(arguments: argparse.Namespace) -> Workbench:
    # sqlite-utils loads pandas where it is installed, only to know its types: half a second that no command uses.
    sys.modules.setdefault("pandas", None)  # type: ignore[arg-type]
    from research import logs
    from research.settings import load
    from research.workbench import Workbench

    settings = load(home=arguments.home)
    logs.start(settings.logs, settings.log_level)
    return Workbench(settings)


def load(arguments: argparse.Namespace) -> tuple[Workbench, list[Any]]:
    bench = open_home(arguments)
    return bench, bench.store.events(bench.store.run(arguments.run).id)


def names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def pairs(items: Sequence[str], option: str) -> dict[str, str]:
    for item in items:
        if "=" not in item:
            raise ConfigError(f"{option} {item!r}: write NAME=VALUE")
    return dict(item.split("=", 1) for item in items)


def index(bench: Workbench, folders: Sequence[str]) -> None:
    """Bring the library up to date, with progress on stderr; only the first time takes noticeable time."""
    from research import progress

    with progress.bar(sys.stderr) as report:
        unreadable = bench.prepare(folders, report)
    for path, reason in unreadable:
        print(f"not read: {path}: {reason}", file=sys.stderr)


def writable(name: str) -> Path:
    """The path, known to be writable before any work is done."""
    path = Path(name)
    there = path.exists()
    try:
        with path.open("ab"):
            pass
        if not there:
            path.unlink()
    except OSError as error:
        raise ConfigError(f"{name} cannot be written ({error.strerror}); name a file in an existing folder") from error
    return path


def print_run(view: RunView, as_json: bool) -> int:
    if as_json:
        from research.exports.json import as_dict

        print(json.dumps(as_dict(view), ensure_ascii=False))
    else:
        from research import progress

        print(progress.summary(view))
    return EXIT.get(view.status, 0)
