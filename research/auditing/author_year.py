"""Citations by author and year: `(Smith & Lee, 2020; Doe et al. 2019)` and `Smith (2020)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from research.auditing.references import UNLISTED, Reference
from research.text import without_accents

_NAME = r"[A-ZÀ-ÖØ-Þ\u3400-\u9fff][^\W\d_]{0,40}(?:[-'’][^\W\d_]{1,40}){0,4}"
_PARTICLES = r"(?:(?:van|von|de|der|den|la|di|da|del|al|el|ten)\s{1,9}){0,3}"
_PERSON = rf"{_PARTICLES}{_NAME}"
_NAMES = (
    rf"{_PERSON}(?:\s{{1,9}}{_NAME}){{0,5}}"
    rf"(?:,?\s{{1,9}}(?:&|and|und|et|和|与)\s{{1,9}}{_PERSON}(?:\s{{1,9}}{_NAME}){{0,3}}|"
    rf"(?:,\s{{1,9}}{_PERSON}){{1,4}}(?:,?\s{{1,9}}(?:&|and)\s{{1,9}}{_PERSON})?|\s{{1,9}}et\s{{1,9}}al\.?|等)?"
)
_INSIDE = re.compile(r"[(（]([^()（）]{0,400}?(?:19|20)\d\d[a-z]?[^()（）]{0,100})[)）]")
_CHUNK = re.compile(
    rf"\s{{0,9}}(?:see(?: also)?|cf\.|e\.g\.,?|参见|见)?\s{{0,9}}({_NAMES})"
    rf"(?:,|\s|，|’s|'s){{0,9}}((?:19|20)\d\d)([a-z]?)(?:[,:]\s{{0,9}}(?:pp?\.)?[^;]{{0,40}})?\s{{0,9}}"
)
_NARRATIVE = re.compile(
    rf"({_NAMES})(?:['’]s)?\s{{0,9}}[(（]((?:19|20)\d\d)([a-z]?)(?:[,:]\s{{0,9}}(?:pp?\.)?[^()]{{0,30}})?[)）]"
)
_JOINING = frozenset("and et al und van von de der la di the in of for".split())


class AuthorYear:
    """Finds the entry of a bibliography by its author and year."""

    def __init__(self, entries: Sequence[Reference]) -> None:
        self._entries = [each for each in entries if each.year and (each.author or not each.label)]

    def find(self, names: str, year: str, letter: str = "") -> Reference | None:
        """Return the entry of these authors and this year; None if there is none."""
        wanted = _surnames(names)
        if not wanted:
            return None
        right = [each for each in self._entries if each.year.rstrip("abcdef") == year]
        right = [each for each in right if not letter or each.year in (year, year + letter)]
        lettered = [each for each in right if letter and each.year == year + letter]
        best = [(self._shared(wanted, each), -place, each) for place, each in enumerate(lettered or right)]
        found = max(best, key=lambda rated: rated[:2], default=None)
        return found[2] if found and found[0] > 0 else None

    def _shared(self, wanted: Sequence[str], entry: Reference) -> float:
        names = entry.surnames or _surnames(entry.text[:120])
        if not names or wanted[0] not in names[: max(8, len(wanted) + 6)]:
            return 0.0
        return len(set(wanted) & set(names)) + (0.5 if names[0] == wanted[0] else 0.0)

    def rewritten(self, text: str, token: Callable[[Iterable[Reference | None]], str]) -> str:
        """Return the text with tokens for the citations of this style, if the report has such a list."""
        if not self._entries:
            return text

        def inside(match: re.Match[str]) -> str:
            found: list[Reference] = []
            for chunk in re.split(r"[;；]", match[1]):
                parts = _CHUNK.fullmatch(chunk)
                if parts is None:
                    return match[0]
                entry = self.find(parts[1], parts[2], parts[3])
                found.append(entry or _unlisted(parts[1], parts[2] + parts[3]))
            return token(found)

        def narrative(match: re.Match[str]) -> str:
            entry = self.find(match[1], match[2], match[3])
            if entry is None and not re.search(r"\bet al\b|&", match[1]):
                return match[0]
            return f"{match[0]}{token([entry or _unlisted(match[1], match[2] + match[3])])}"

        return _INSIDE.sub(inside, _NARRATIVE.sub(narrative, text))


def _unlisted(names: str, year: str) -> Reference:
    """Return a source that is cited but not in the list."""
    return Reference(author=names, year=year, text=f"{names}, {year}", label=UNLISTED)


def _surnames(text: str) -> list[str]:
    words = re.findall(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*", without_accents(text))
    return [word.casefold() for word in words if len(word) > 1 and word.casefold() not in _JOINING]
