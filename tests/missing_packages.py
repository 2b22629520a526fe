"""Which tests cannot run without the packages of requirements-dev.txt, which `make run` does not install."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

ALL_INSTALLED = find_spec("xdist") is not None
"""Whether `make test` has set up this environment, so that a package that is missing is an error."""
_ROOT = Path(__file__).parents[1]
_OURS = ("tests", "bench")


@cache
def lacking(path: Path) -> str:
    """Return a module that a test file, or the conftest.py of a folder, imports and that is not installed."""
    file = path / "conftest.py" if path.is_dir() else path
    if file.suffix != ".py" or not file.is_file():
        return ""
    for module, names in _imported(file):
        if module.partition(".")[0] not in _OURS:
            if not _installed(module):
                return module
            continue
        for each in (module, *(f"{module}.{name}" for name in names)):
            if found := lacking(_ROOT / f"{each.replace('.', '/')}.py"):
                return found
    return ""


def _imported(file: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the modules that a file imports when it is loaded, each with what it takes from it."""
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            yield from ((each.name, []) for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, [each.name for each in node.names]


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a package above it
        return False
