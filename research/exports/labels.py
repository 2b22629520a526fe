"""The workbench's own words in exported files, in the language of the report; `_util/said_zh.toml` has their Chinese.

A file has no language switch, so its words follow the language of the run, not that of the page.
"""

from __future__ import annotations

from msgspec import Struct

from research._util.said import catalogue, counted, translated
from research.citations.marks import SYMBOLS
from research.events.recipe import Recipe, model_title
from research.events.view import RunView
from research.text import language_of


class Words(Struct, frozen=True):
    """Translates the workbench's words into one language: `say("and {left} more", left=3)`."""

    language: str = "en"
    """`en` or `zh`."""

    def __call__(self, text: str, **values: object) -> str:
        """Return the formatted words."""
        return translated(text, self.language).format(**values).strip()

    def way(self, recipe: Recipe) -> str:
        """Return how a run worked: `ReAct / Full history`."""
        return " / ".join(translated(each, self.language) for each in recipe.titles)

    def model(self, name: str) -> str:
        """Return a model's name for readers."""
        return translated(model_title(name), self.language)

    def count(self, number: int, noun: str) -> str:
        """Return `2 statements`; in Chinese with a space before the number."""
        return counted(number, noun, self.language)

    @property
    def letters(self) -> str:
        """All characters of these words; the embedded font must contain them."""
        return "".join([*(catalogue().values() if self.language == "zh" else ()), *SYMBOLS.values()])


def words_of(view: RunView) -> Words:
    """Return the words in the language of the recipe, else of the question."""
    chosen = view.recipe.language
    return Words(chosen if chosen in ("en", "zh") else language_of(view.question))
