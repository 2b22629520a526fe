"""The child of the Python tool as it would be on a machine where sealing does nothing and says nothing."""

from __future__ import annotations

from research.sandbox import child, linux

linux.seal = lambda: None

if __name__ == "__main__":
    child._main()
