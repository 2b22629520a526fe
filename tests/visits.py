"""The tool `visit` as most tests need it."""

from __future__ import annotations

from typing import Any

from research.tools.visit import Pages, VisitTool, direct


def visits(library: Any, *hosts: str) -> VisitTool:
    """Return the tool that opens a library's documents and pages, also of these private hosts."""
    return VisitTool(library, Pages(direct(hosts), library))
