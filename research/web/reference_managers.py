"""Read the files of reference managers (RIS and BibTeX): a part for each work, with all its fields."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

from research.web import charsets
from research.web.locators import Part

SUFFIXES = (".ris", ".bib")

_RIS = re.compile(r"^\ufeff?([A-Z][A-Z0-9])  ?- ?(.*)$")
_NAMES = {
    **dict.fromkeys(("TI", "T1", "title", "BT"), "title"),
    **dict.fromkeys(("AU", "A1", "author"), "Authors"),
    **dict.fromkeys(("ED", "A2", "editor"), "Editors"),
    **dict.fromkeys(("PY", "Y1", "year", "date"), "Year"),
    **dict.fromkeys(("JO", "JF", "JA", "T2", "journal", "journaltitle", "booktitle"), "In"),
    **dict.fromkeys(("VL", "volume"), "Volume"),
    **dict.fromkeys(("IS", "number", "issue"), "Number"),
    **dict.fromkeys(("SP", "EP", "pages"), "Pages"),
    **dict.fromkeys(("PB", "publisher"), "Publisher"),
    **dict.fromkeys(("DO", "doi"), "DOI"),
    **dict.fromkeys(("UR", "L1", "L2", "url"), "Address"),
    **dict.fromkeys(("AB", "N2", "abstract"), "Abstract"),
    **dict.fromkeys(("KW", "keywords"), "Keywords"),
    **dict.fromkeys(("N1", "note", "annote"), "Note"),
}
"""Names of fields; any other field keeps its own."""
_JOINED = {"Authors": "; ", "Editors": "; ", "Keywords": "; ", "Pages": "–"}

_MARKS = "\u0308\u0301\u0300\u0302\u0303\u0304\u0307\u0306\u030c\u030b\u0327\u0328\u030a\u0323\u0331"
_ACCENTS = dict(zip("\"'`^~=.uvHckrdb", _MARKS, strict=True))
_ACCENT = re.compile(r"\\(?:([\"'`^~=.])\s{0,9}|([uvHckrdb])(?=[\s{\\])\s{0,9})(?:\{\\?([^\W\d_])\}|\\?([^\W\d_]))")
_LETTERS = dict(pair.split("=") for pair in "ss=ß o=ø O=Ø ae=æ AE=Æ oe=œ OE=Œ aa=å AA=Å l=ł L=Ł i=ı j=ȷ".split())
_LETTER = re.compile(r"\\(ss|oe|OE|ae|AE|aa|AA|o|O|l|L|i|j)(?![A-Za-z])(?:\{\})?[^\S\n]?")
_KEY = re.compile(r"[^,{}]{0,200}")
_ENTRY = re.compile(r"@\s{0,9}(\w{1,40})\s{0,9}[{(]")

Work = dict[str, list[str]]


def works(data: bytes, suffix: str, refuse: Callable[[str], Exception]) -> list[Part]:
    """Return the works of a file, each with its key or title as place."""
    text = charsets.decoded(data)
    if text is None:
        raise refuse("is not text; save it as text in UTF-8")
    found = [part for key, work in (_ris(text) if suffix == ".ris" else _bibtex(text)) if (part := _part(key, work))]
    if not found:
        raise refuse(f"is not a file of {'RIS' if suffix == '.ris' else 'BibTeX'}; export it again")
    return found


def _part(key: str, work: Work) -> Part | None:
    fields: Work = {}
    for name, values in work.items():
        fields.setdefault(_NAMES.get(name, name), []).extend(filter(None, (" ".join(each.split()) for each in values)))
    titles = fields.pop("title", [])
    lines = [f"# {each}" for each in titles[:1]] + titles[1:]
    lines += [
        f"{name}: {_JOINED.get(name, ', ').join(dict.fromkeys(values))}" for name, values in fields.items() if values
    ]
    return Part(key or next(iter(titles), "a work"), "\n".join(lines)) if lines else None


def _ris(text: str) -> Iterator[tuple[str, Work]]:
    key, work, last = "", Work(), list[str]()
    for line in text.splitlines():
        match = _RIS.match(line)
        if match is None:
            if last and line.strip():
                last[-1] += f" {line.strip()}"
            continue
        tag, value = match.groups()
        if tag in ("TY", "ER"):
            yield key, work
            key, work, last = "", Work(), []
        elif tag == "ID":
            key = value.strip()
        else:
            last = work.setdefault(tag, [])
            last.append(value.strip())
    yield key, work


def _bibtex(text: str) -> Iterator[tuple[str, Work]]:
    macros: dict[str, str] = {}
    at = 0
    while match := _ENTRY.search(text, at):
        kind, at = match[1].lower(), match.end()
        if kind in ("comment", "preamble"):
            continue
        key = ""
        if kind != "string":
            named = _KEY.match(text, at)
            key, at = (named[0].strip(), named.end()) if named else ("", at)
        work, at = _fields(text, at, macros)
        if kind == "string":
            macros |= {name.lower(): " ".join(values) for name, values in work.items()}
        else:
            yield (
                key,
                {"type": [kind], **{name.lower(): [_plain(each) for each in values] for name, values in work.items()}},
            )


_FIELD = re.compile(r"[\s,]*([^\s=,{}\"#]{1,80})\s*=\s*")
_BARE = re.compile(r"[^\s,}#]{0,200}")
_HASH = re.compile(r"\s*#\s*")


def _fields(text: str, at: int, macros: dict[str, str]) -> tuple[Work, int]:
    """Return the fields from a position on, and their end."""
    work = Work()
    while match := _FIELD.match(text, at):
        at, value = match.end(), ""
        while True:
            piece, at = _value(text, at, macros)
            value += piece
            joined = _HASH.match(text, at)
            if joined is None:
                break
            at = joined.end()
        work.setdefault(match[1], []).append(value)
    return work, at


def _value(text: str, at: int, macros: dict[str, str]) -> tuple[str, int]:
    if at < len(text) and text[at] in '{"':
        closing, depth = '"' if text[at] == '"' else "}", 0
        for place in range(at + 1, len(text)):
            sign = text[place]
            if sign == closing and depth == 0 and text[place - 1] != "\\":
                return text[at + 1 : place], place + 1
            depth += (sign == "{") - (sign == "}")
        return text[at + 1 :], len(text)
    match = _BARE.match(text, at)
    word = match[0] if match else ""
    return macros.get(word.lower(), word), at + len(word)


def _plain(text: str) -> str:
    """Return LaTeX as displayed: accents, letters and signs, without braces."""
    text = _ACCENT.sub(lambda found: (found[3] or found[4]) + _ACCENTS[found[1] or found[2]], text)
    text = _LETTER.sub(lambda found: _LETTERS[found[1]], text)
    text = re.sub(r"\\([&%$#_{}])", lambda found: {"{": "\x01", "}": "\x02"}.get(found[1], found[1]), text)
    text = text.replace("---", "—").replace("--", "–").replace("~", " ").replace("{", "").replace("}", "")
    return unicodedata.normalize("NFC", text.translate({1: "{", 2: "}"}))
