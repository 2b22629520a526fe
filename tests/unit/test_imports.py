"""Imports go one way, and nothing under research/ knows Streamlit."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LAYERS = [
    {"errors", "types", "text", "cells", "cancel", "crew", "background", "connections", "decoding", "http",
     "redaction", "fragments", "wire"},
    {"recipe", "transcript", "registry", "relevance", "budget", "citations", "settings", "parsing", "prices", "tokens",
     "addresses", "served", "keys"},
    {"events", "protocols", "prompts", "sandbox", "readers", "fetch", "guard", "desk", "database", "users"},
    {"journal", "inherited", "view", "search", "embedders", "store", "toolbox", "memory", "sharing"},
    {"exports", "progress", "metrics", "acting", "asking", "remembering", "driving", "run", "shared", "ending", "estimate", "comparing", "changes",
     "logs", "tracing", "pacing"},
    {"frameworks", "contexts", "tools", "extractive", "engine", "queue", "mcp", "llama"},
    {"models"},
    {"workbench", "presets", "importing", "moving", "evaluation"},
    {"doctor", "space", "health", "__init__"},
    {"cli", "__main__"},
]  # fmt: skip
"""Lower layers first; a module imports from its own layer and below."""

RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
MODULES = sorted((ROOT / "research").rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Names of the parts of `research` that a module imports when it runs (not for type checking only)."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {
                f"{node.module}.{alias.name}" if node.module == "research" else node.module for alias in node.names
            }
    return found


def part(path: Path) -> str:
    return path.relative_to(ROOT / "research").parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down(path: Path) -> None:
    own = RANK[part(path)]
    for name in imported(path):
        if name.startswith("research."):
            other = name.split(".")[1]
            assert RANK[other] <= own, f"{path.relative_to(ROOT)} must not import {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_streamlit_below_the_pages(path: Path) -> None:
    assert not {name for name in imported(path) if name.split(".")[0] == "streamlit"}


def test_help_imports_nothing_heavy() -> None:
    heavy = "{'streamlit', 'openai', 'anthropic', 'torch', 'sentence_transformers', 'sqlite_utils', 'pandas', 'numpy'}"
    code = (
        "import sys, research.__main__ as m\n"
        "try: m.main(['--help'])\n"
        "except SystemExit: pass\n"
        f"sys.exit(','.join({heavy} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_offline_run_imports_no_provider_sdk_streamlit_or_torch(home: Path) -> None:
    code = (
        "import sys, research.__main__ as m\n"
        f"m.main(['run', 'What is the population of Japan?', '--home', {str(home)!r}])\n"
        "sys.exit(','.join({'streamlit', 'openai', 'anthropic', 'torch'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
