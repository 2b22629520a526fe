"""Isolated processes for untrusted work: Python code that a model wrote, and parsers of downloaded files.

May import `_util`, `types` and `errors`."""

from __future__ import annotations

from research.sandbox.process import confine, run_isolated
from research.sandbox.python import State, run_python, self_test, state

__all__ = ["State", "confine", "run_isolated", "run_python", "self_test", "state"]
