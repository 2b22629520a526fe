"""Running what cannot be trusted: Python code of a model, and parsers over pages of strangers.

Both run in a process of their own (`apart.py`).  A model's code runs there in CPython with numpy and matplotlib, on
Linux, where the kernel can take everything else from the process (`linux.py`); elsewhere in Monty, an interpreter
that has nothing to offer (`monty.py`).  Neither is used before it has failed to do what it must not do.
"""

from __future__ import annotations

from research.sandbox.apart import confine, run_apart
from research.sandbox.python import State, run_python, self_test, state

__all__ = ["State", "confine", "run_apart", "run_python", "self_test", "state"]
