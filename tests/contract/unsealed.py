"""The Python tool's child process on a machine where the sandbox silently does nothing."""

from __future__ import annotations

from research.sandbox import child, linux

linux.seal = lambda: None

if __name__ == "__main__":
    child._main()
