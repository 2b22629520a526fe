"""Isolated processes for untrusted work: Python code that a model wrote, and parsers of downloaded files.

May import `_util`, `types` and `errors`."""

from __future__ import annotations

from research.sandbox.interpreter import State, run_python, self_test, state
from research.sandbox.process import run_isolated
from research.sandbox.warm import WarmProcesses, serve

__all__ = ["State", "WarmProcesses", "run_isolated", "run_python", "self_test", "serve", "state"]
