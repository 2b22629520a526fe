"""References as reports write them: number, title, authors, year, DOI and address of an entry."""

from __future__ import annotations

import re

from msgspec import Struct

from research.citations import shelf
from research.citations.marks import SUPERSCRIPT
from research.text import clip, without_accents

URL = re.compile(r"https?://[^\s<>\"'“”‘’）】」，。、；]+", re.I)
DOI = re.compile(r"\b(?:doi\s{0,9}[:：]\s{0,9}|(?:dx\.)?doi\.org/)?(10\.\d{4,9}/[^\s<>\"'，。；]+)", re.I)
ARXIV = re.compile(r"\barxiv\s{0,9}[:：]\s{0,9}(\d{4}\.\d{4,5})", re.I)
YEAR = re.compile(r"(?<![\d.,/\-])((?:19|20)\d\d)([a-z]?)(?![\d/])")
LINK = re.compile(
    r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]{0,80}\]){1,400})\]\(\s{0,9}<?((?:[^()\s<>]|\([^()\s]{0,200}\)){1,2000})>?(?:\s{1,9}[\"'(][^\"')]{0,300}[\"')])?\s{0,9}\)"
)
"""A Markdown link; its words may contain one level of brackets."""
_NUMBER = re.compile(
    r"\s{0,9}(?:[-*•]\s{1,9})?(?:\[\^?(\d{1,4})\]:?|【(\d{1,4})】|\((\d{1,4})\)|(\d{1,4})[.)、:]\s|"
    r"<sup>\s{0,9}\[?(\d{1,4})\]?\s{0,9}</sup>|([¹²³⁰⁴-⁹]{1,4})|\[(?:source|ref(?:erence)?|来源|文献)\s{0,9}(\d{1,4})\])\s{0,9}[:.]?\s{0,9}",
    re.I,
)
_QUOTED = re.compile(r"[“\"«「《]([^”\"»」》]{6,300})[”\"»」》]|(?<!\w)[*_]{1,2}([^*_]{8,300})[*_]{1,2}")
_NOISE = re.compile(
    r"\b(?:accessed|retrieved|last accessed|viewed|available at|available from|archived)\b(?: (?:on|from))?[^.;]{0,60}|"
    r"访问日期[:：]?[^。；]{0,30}",
    re.I,
)
_AFTER_YEAR = re.compile(
    r"\(?\b(?:19|20)\d\d[a-z]?(?:, [A-Z][a-z]+ \d{1,2})?\)?\s{0,9}[.,:]\s{1,9}(.{4,300}?)(?:[.?!](?:\s|$)|$)"
)
_SURNAME = re.compile(r"[^\W\d_]{2,}(?:[-'’][^\W\d_]+)*")


UNLISTED = "?"
"""Label of a source that is cited by author and year, and that no list has."""


class Reference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A source that a report names."""

    label: str = ""
    """The number or word by which the report cites it."""
    title: str = ""
    author: str = ""
    """As written."""
    year: str = ""
    doi: str = ""
    url: str = ""
    text: str = ""
    """The entry as written."""
    sure: bool = False
    """The title is marked as one, rather than guessed from the order of an entry's parts."""

    @property
    def key(self) -> str:
        """Return what two mentions of one source have in common."""
        if self.url:
            return re.sub(r"^https?://(?:www\.)?", "", self.url.partition("#")[0]).rstrip("/").casefold()
        return self.doi.casefold() or " ".join(re.findall(r"\w+", f"{self.title or self.text} {self.year}".casefold()))

    @property
    def unlisted(self) -> bool:
        """Return whether the report cites it without an entry in its list."""
        return not self.url and (self.label == UNLISTED or self.text == f"[{self.label}]")

    @property
    def name(self) -> str:
        """Return the words by which a reader knows it."""
        return self.title or (f"{self.author} ({self.year})" if self.author else "") or self.url or self.text

    def means_country(self, title: str) -> bool:
        """Return whether its words or its address name a country's entry of the Factbook, of which a section has this title."""
        return any(shelf.means_country(each, title) for each in (self.text, self.url))

    @property
    def surnames(self) -> tuple[str, ...]:
        """Return the authors' names without initials, in lower case and without accents."""
        words = _SURNAME.findall(without_accents(self.author))
        return tuple(word.casefold() for word in words if word.casefold() not in _NO_NAMES and len(word) > 1)


_NO_NAMES = frozenset("and et al the of for in eds ed by with und".split())


def number_of(line: str) -> tuple[str, str]:
    """Return the number that an entry begins with, or nothing, and the rest of the line."""
    match = _NUMBER.match(line)
    if match is None:
        return "", re.sub(r"^\s{0,9}[-*•]\s{1,9}", "", line).strip()
    return next(filter(None, match.groups())).translate(SUPERSCRIPT), line[match.end() :].strip()


def clean_url(url: str) -> str:
    """Return an address without the punctuation of the sentence around it."""
    return _without_unopened(url.strip("<>").rstrip(".,;:!?*_'\"…"))


def _without_unopened(text: str) -> str:
    """Return a text without the brackets at its end that it does not open."""
    unopened = {close: text.count(close) - text.count(start) for start, close in ("()", "[]", "{}")}
    end = len(text)
    while end and unopened.get(text[end - 1], 0) > 0:
        unopened[text[end - 1]] -= 1
        end -= 1
        while end and text[end - 1] in ".,;:":
            end -= 1
    return text[:end]


def parsed(text: str, label: str = "") -> Reference:
    """Return the reference that an entry describes."""
    text = " ".join(text.split())[:2_000]
    link = LINK.search(text)
    bare = URL.search(text)
    target = link[2] if link else clean_url(bare[0]) if bare else ""
    url = target if target.lower().startswith(("http://", "https://")) else ""
    doi = _doi(text)
    arxiv = ARXIV.search(text)
    if not url and (doi or arxiv):
        url = f"https://doi.org/{doi}" if doi else f"https://arxiv.org/abs/{arxiv[1] if arxiv else ''}"
    words = LINK.sub(lambda m: m[1] if not URL.search(m[1]) else " ", text)
    words = ARXIV.sub(" ", DOI.sub(" ", URL.sub(" ", words)))
    words = _NOISE.sub(" ", re.sub(r"<[^>]{0,20}>|\bdoi\s{0,9}[:：]|\bURL\s{0,9}[:：]", " ", words, flags=re.I))
    words = _without_unopened(" ".join(words.split()).strip(" .,;:—–-|").lstrip("(["))
    title, author, year, sure = _parts(words, link[1] if link and not URL.search(link[1]) else "")
    if link and not url and not title:
        title = link[1]
    return Reference(
        label=label, title=clip(title, 300), author=clip(author, 200), year=year, doi=doi, url=url,
        text=clip(words or text, 400), sure=sure,
    )  # fmt: skip


def _doi(text: str) -> str:
    match = DOI.search(text)
    return clean_url(match[1]).split("](")[0] if match else ""


def _parts(words: str, linked: str) -> tuple[str, str, str, bool]:
    """Return title, author and year of an entry without its address, and whether the title is marked as one."""
    year = _year(words, linked)
    head = words[: year.start()].strip(" (.,:") if year else ""
    author = head if _like_authors(head) else ""
    written = f"{year[1]}{year[2]}" if year else ""
    linked = linked.strip(' *_"“”')
    if linked and not re.fullmatch(
        r"\[?\^?\d{1,4}\]?|link|source|here|pdf|doi|[\w.-]+\.\w{2,10}(?:/\S*)?", linked, re.I
    ):
        return linked, author if linked not in author else "", written, True
    if quoted := _QUOTED.search(words):
        title = (quoted[1] or quoted[2]).strip(" .,")
        before = words[: quoted.start()].strip(" .,:(")
        return title, author or (before if _like_authors(before) else ""), written, True
    if author and year and (after := _AFTER_YEAR.search(words, max(year.start() - 1, 0))):
        return after[1].strip(" .,"), author, written, True
    first = re.split(r"\s{1,9}[—–|]\s{1,9}|\s{1,9}-\s{1,9}|(?<=[^\W\d]{3})[.?!]\s{1,9}|。", words)[0]
    first = _without_unopened(first.strip(" .,;:").lstrip("("))
    first = re.sub(r",?\s{0,9}\(?(?:19|20)\d\d\)?$", "", first) if year else first
    return first, "" if first == author else author, written, False


def _year(words: str, linked: str) -> re.Match[str] | None:
    """Return the year of an entry, rather than one that belongs to its title (`Employment outlook 2023`)."""
    quoted = _QUOTED.search(words)
    start = words.find(linked) if linked else quoted.start() if quoted else -1
    end = start + len(linked) if linked else quoted.end() if quoted else -1
    outside = [each for each in YEAR.finditer(words) if not start <= each.start() < end]
    bracketed = [each for each in outside if words[each.start() - 1 : each.start()] in ("(", "（")]
    return next(iter(bracketed or outside), None)


def _like_authors(text: str) -> bool:
    """Return whether the text before a year can be a list of names, rather than the beginning of a title."""
    if not text or len(text) > 160:
        return False
    if re.search(r"\bet al\b|,\s{0,9}(?:[A-Z]\.\s?)+|\b[A-Z]\.\s?[A-Z]?[a-z]+|\s&\s", text):
        return True
    words = re.findall(r"[^\W\d_]+", text)
    return len(words) <= 6 and all(
        word[:1].isupper() or word in ("and", "of", "the", "for", "de", "van", "von") for word in words
    )
