"""The words of Streamlit's own frame, which are English in every language: `style.css` puts these in their place."""

from __future__ import annotations

import json
from typing import Final

from pages.parts.shared.language import later, t

WORDS: Final = {
    "choose-files": later("Choose files"),
    "skip": later("Skip to main content"),
    "theme-system": later("System"),
    "theme-light": later("Light"),
    "theme-dark": later("Dark"),
    "print": later("Print"),
    "record": later("Record screen"),
}
"""Our words by the variable that has them in `style.css`."""


def style() -> str:
    """Return the style that holds our words in the language of the page; `style.css` hides Streamlit's."""
    said = "; ".join(f"--{name}: {json.dumps(t(text), ensure_ascii=False)}" for name, text in WORDS.items())
    return f"<style>:root {{ {said} }}</style>"
