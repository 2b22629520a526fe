"""The one component of our own: reports with citation marks, and lanes of agents, drawn by `static/workbench.js`.

Its data is text and numbers.  The script makes elements of its own and sets their text, so that nothing in a report
becomes HTML (docs/security.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

SCRIPT = Path(__file__).parents[3] / "static" / "workbench.js"


@cache
def _stub() -> str:
    """Return the script that Streamlit sends with each element: it loads ours, which a browser keeps."""
    version = hashlib.sha256(SCRIPT.read_bytes()).hexdigest()[:12]
    return (
        f"const ready = import(new URL('app/static/workbench.js?{version}', document.baseURI).href);\n"
        "export default function (component) {\n"
        "  let stop;\n"
        "  ready.then((module) => { stop = module.default(component); });\n"
        "  return () => stop && stop();\n"
        "}\n"
    )


def draw(key: str, data: Mapping[str, Any]) -> None:
    """Draw the data; an element with the same key is updated in place."""
    component = st.components.v2.component("workbench", js=_stub(), isolate_styles=False)
    component(key=key, data=dict(data))
