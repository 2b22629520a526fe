"""Bring `zh.po` up to date with the words that the pages say: `make words`.

New words come in without a translation, those that nobody says any more go out; nothing else changes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from babel.messages import Catalog
from babel.messages.pofile import read_po, write_po

from research import cells, embedders, presets, registry, space
from research.__main__ import EXAMPLE
from research.exports import FORMATS
from research.progress import OUTCOMES

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).parent / "zh.po"
KEYWORDS = {"t": 0, "later": 0, "count": 1}
"""Which argument is the word: `t("…")`, `later("…")`, and the noun of `count(number, "…")`."""


def said() -> Iterator[tuple[str, str]]:
    """Each word that the pages may say, with the file it stands in."""
    for path in [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]:
        for text in _literals(path):
            yield text, str(path.relative_to(ROOT))
    yield EXAMPLE, "research/__main__.py"
    for words in OUTCOMES.values():
        yield words, "research/progress.py"
    for note in [*cells.NOTES.values(), *cells.OFF.values()]:
        yield note, "research/cells.py"
    for preset in presets.BUILT_IN:
        yield from ((text, "research/presets.py") for text in (preset.name, preset.summary))
    yield from ((text, "research/presets.py") for text in (*presets.GAPS, *presets.KINDS))
    for kind in FORMATS.values():
        yield kind.title, "research/exports/__init__.py"
    for part in [*space.PARTS, "Other"]:
        yield part, "research/space.py"
    for words in embedders.known().values():
        yield words, "research/embedders/__init__.py"
    for entry in [*registry.provider.all(), *registry.searcher.all()]:
        yield from (
            (text, f"{entry.function.__module__.replace('.', '/')}.py") for text in (entry.title, entry.summary)
        )
    for entry in [*registry.framework.all(), *registry.context.all()]:
        place = f"{entry.function.__module__.replace('.', '/')}.py"
        yield from ((text, place) for text in (entry.title, entry.summary, entry.traits.get("when", "")))
        for option in entry.options:
            yield option.help, place
            yield option.name.replace("_", " ").capitalize(), place


def _literals(path: Path) -> Iterator[str]:
    """The literal words of a file; its syntax tree, because Babel's own reader does not look into f-strings."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KEYWORDS:
            word = node.args[KEYWORDS[node.func.id]]
            if isinstance(word, ast.Constant) and isinstance(word.value, str):
                yield word.value


def main() -> None:
    """Rewrite the catalogue in place."""
    with FILE.open("rb") as file:
        known = {each.id: each.string for each in read_po(file, locale="zh")}
    catalog = Catalog(locale="zh", project="Research Workbench", fuzzy=False)
    for text, place in sorted(filter(lambda pair: pair[0], said()), key=lambda pair: (pair[1], pair[0])):
        catalog.add(text, known.get(text, ""), locations=[(place, None)])
    with FILE.open("wb") as file:
        write_po(file, catalog, width=0, omit_header=True, include_lineno=False, sort_by_file=False)


if __name__ == "__main__":
    main()
