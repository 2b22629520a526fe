"""How a list of references names a document of the library: its title, then where it is kept, in brackets.

Exports write this form, `Japan · Geography (the CIA World Factbook)`, and the check of a report reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from research._util.glossary import chinese_places
from research.defaults import FACTBOOK
from research.text import has_cjk

FACTBOOK_NAMES: Final = {"en": "the CIA World Factbook", "zh": "CIA 世界概况"}
_LIBRARY = "library://"
_TOLD_APART = re.compile(r"-[0-9a-f]{8}$")
"""What distinguishes collections of one name in addresses."""
_FACTBOOK = re.compile(
    r"\bhttps?://(?:www\.)?cia\.gov/\S*?world-factbook/(?:countries/)?|(?:\bthe )?(?:\bCIA )?\bWorld Factbook\b|"
    r"(?:CIA ?)?世界概况",
    re.I,
)
_PUBLISHER = re.compile(r"\b(?:CIA|Central Intelligence Agency)\b|(?:美国)?中央情报局", re.I)


def written(title: str, urls: Iterable[str], language: str) -> str:
    """Return the title of a source, with the places in the library that it has."""
    places = dict.fromkeys(_place(url, language) for url in urls if url.startswith(_LIBRARY))
    return f"{title} ({', '.join(places)})" if places else title


def _place(url: str, language: str = "") -> str:
    """Return where in the library a document is: the Factbook, or the file in its collection."""
    name, _, within = unquote(url.removeprefix(_LIBRARY).partition("#")[0]).partition("/")
    return FACTBOOK_NAMES.get(language, "") if name == FACTBOOK else f"{_TOLD_APART.sub('', name)}/{within}"


def subject(reference: str) -> str:
    """Return what a reference names, without the name, the address and the publisher of the Factbook."""
    plain = _FACTBOOK.sub(" ", reference.partition("#")[0])
    plain = plain if plain == reference else _PUBLISHER.sub(" ", plain)
    return " ".join(plain.split()).strip(" ,，.。:：;；()（）/-–—")


def means(reference: str, title: str, url: str) -> bool:
    """Return whether a reference names this document of the library in the form of `written`, or by its file name."""
    own, place = _words(title.partition(" › ")[0]), _words(_place(url))
    file = _place(url).rpartition("/")[2]
    if "." in file and re.search(rf"(?<![\w/.-]){re.escape(file)}(?![\w/-])", reference, re.I):
        return True
    if not place.strip():  # a document of the Factbook
        return own in (_words(_FACTBOOK.split(reference)[0]), _words(subject(reference)))
    said = _words(reference)
    return said.startswith(own) and place in said


def means_country(reference: str, title: str) -> bool:
    """Return whether a reference names the Factbook's whole entry on a country, of which a document is one section."""
    asked = set(_words(re.sub(r"\b\d+\b", " ", subject(reference))).split())
    return (
        " · " in title and in_factbook(reference) and asked in [set(_words(each).split()) for each in _countries(title)]
    )


def is_factbook(reference: str) -> bool:
    """Return whether a reference names the Factbook, and nothing in it.

    >>> is_factbook("CIA World Factbook, 2025"), is_factbook("Japan · Geography (the CIA World Factbook)")
    (True, False)
    """
    return in_factbook(reference) and not re.search(r"[^\W\d]", subject(reference))


def in_factbook(reference: str) -> bool:
    """Return whether a reference names the Factbook, or is an address in it."""
    return _FACTBOOK.search(reference) is not None


def names_country(text: str, title: str) -> bool:
    """Return whether a text names the country that a document of the Factbook is about."""
    said = _words(text)
    return any(name in text if has_cjk(name) else _words(name) in said for name in _countries(title))


def _countries(title: str) -> tuple[str, ...]:
    name = title.partition(" · ")[0]
    return name, *chinese_places(name)


def _words(text: str) -> str:
    """Return the words of a text in lower case, between spaces."""
    return " ".join(["", *re.findall(r"\w+", text.casefold()), ""])
