"""Citation marks in a text, the statements they belong to, and statements without one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from research._util.sentences import sentences_of
from research.text import has_cjk

MARK = re.compile(r"\[(\d{1,9}(?:\s{0,9}[,，、]\s{0,9}\d{1,9}){0,200})\]")
"""A citation mark: `[3]` or `[1, 4]`."""

LARGEST = 999
"""Larger numbers are years or line numbers, never sources."""

SYMBOLS: Final = {
    "supported": "✓",
    "calculated": "✓",
    "partial": "~",
    "unverified": "○",
    "unsupported": "✗",
    "contradicted": "✗",
    "dead": "⌁",
}
"""Sign for the status of a citation; words tell a calculated one from one that its source states."""

_WORD = r"(?:sources?|refs?\.?|references?|citations?|cite|来源|资料|文献|参考)"
_LIST = r"\d{1,3}(?:\s{0,9}(?:[,，、;；]|[-–—~～至]|and|&)\s{0,9}(?:\^|" + _WORD + r"[\s:#：]{0,9})?\d{1,3}){0,200}"
_FOREIGN = re.compile(
    rf"(?<!!)(?:\[\s{{0,9}}\^?\s{{0,9}}(?:{_WORD}[\s:#：]{{0,9}})?(?P<a>{_LIST})\s{{0,9}}(?:\^\s{{0,9}}|[†‡|:,].{{0,30}}?)?\]|"
    rf"[【［〔]\s{{0,9}}(?:{_WORD}[\s:#：]{{0,9}})?(?P<b>{_LIST})\s{{0,9}}(?:†[^】］〕\n]{{0,40}})?[】］〕]|"
    rf"\((?:{_WORD})[\s:#：]{{0,9}}(?P<c>{_LIST})\)|（(?:{_WORD})[\s:#：]{{0,9}}(?P<d>{_LIST})）|"
    rf"<sup>\s{{0,9}}\[?\^?(?P<e>{_LIST})\]?\s{{0,9}}</sup>|(?<=[.,;:!?。，；：！？”’\"»）)])(?P<f>[¹²³⁰⁴-⁹]{{1,9}})|"
    r"(?<=[^\W\d_]\s)(?P<g>[¹²³⁰⁴-⁹]{1,9})(?=[.,;!?。，；！？]|$)|(?<=[^\W\d_]{4})(?P<h>[¹²³⁰⁴-⁹]{1,9})(?=[.,;!?。，；！？\s]|$))(?!\()",
    re.I,
)
_LOST = re.compile(
    r"\s{0,9}(?::contentReference\[oaicite:\d{1,3}\](?:\{index=\d{1,3}\})?|"
    r"[\ue200-\uf8ff]?cite[\ue200-\uf8ff]?(?:turn\d{1,3}[a-z]{1,20}\d{1,3}[\ue200-\uf8ff]?){1,20}|"
    r"[\[【](?:turn\d{1,3})?(?:web|search|page|result|news|view|file|doc|document|url|link)[:_ -]?\d{1,3}[\]】])",
    re.I,
)
"""Marks of other programs' tools, whose numbers are not those of the run's sources."""
_ROUND = re.compile(r"\s{1,9}\(\d{1,3}\)(?=\s{0,9}(?:[.。,，;；]|$))", re.M)
"""A mark such as `(1)`, where a text has no other."""
_RANGE = re.compile(r"(\d{1,9})(?:\s{0,9}[-–—~～至][^\d,，、;；&]{0,30}(\d{1,9}))?")
SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_FENCE = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)

_IN_FORMULA = r"(?:[^$\\\n]|\\[^\n]|\n(?![ \t]*\n))"
_IN_BRACKETS = r"(?:[^\\\n]|\\[^()\[\]\n]|\n(?![ \t]*\n))"
FORMULA = re.compile(
    rf"(?<![\\$])\$\$(?P<shown>{_IN_FORMULA}{{1,2000}}+)\$\$(?!\$)|"
    rf"(?<![\\$\d])\$(?![\s$])(?P<dollars>{_IN_FORMULA}{{1,1000}}+)(?<!\s)\$(?![\d$])|"
    rf"(?<!\\)\\\((?P<round>{_IN_BRACKETS}{{1,1000}}+)\\\)|"
    rf"(?<!\\)\\\[(?=[^\]]{{0,1000}}(?:\\[A-Za-z]|[\^_=+]))(?P<square>{_IN_BRACKETS}{{1,2000}}+)\\\]"
)
"""A formula in LaTeX: `$$…$$`, `$…$`, `\\(…\\)` or `\\[…\\]`.

A dollar sign before a space or after one, or before a digit after the formula, is money: "from $5 to $6" has no formula.
"""
_SHOWN = re.compile(
    rf"^[ \t]*(?:\$\${_IN_FORMULA}{{1,2000}}+\$\$|\\\[{_IN_BRACKETS}{{1,2000}}+\\\])[ \t]*+(?:[.,;][ \t]*)?$", re.M
)

_BULLET = re.compile(r"^\s*(?:>\s*)*(?:[-*+•·]|\(?\d{1,3}[.)、]|[（(]?[一二三四五六七八九十]{1,3}[）)、.])\s+|^\s*>\s*")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s|^\s*+\*\*[^*]+\*\*\s*+:?\s*$")
_RULE = re.compile(r"^[\s:|-]+$")

_LONGEST = 2_000
"""Characters of a sentence in which figures and names are looked for."""


class Statement(Struct, frozen=True):
    """One claim of a text and the numbers it cites."""

    text: str
    """The text as written, with its marks and without the bullet."""
    context: str = ""
    """The heading, and the header cells of a table row."""
    numbers: tuple[int, ...] = ()
    heading: bool = False
    row: bool = False
    """Whether it is read from a row of a table."""


def normalised(text: str) -> str:
    """Rewrite all kinds of marks as `[n]`: 【1†L3】 ［1］ [^1] [Source 1] [1-3] <sup>1</sup> (source 1).

    Code and formulas stay as they are, and so does `[1990-1995]`, because a number over 999 is not a source.
    """
    return around_code(text, lambda part: _FOREIGN.sub(_canonical, part), formulas=True)


def _canonical(match: re.Match[str]) -> str:
    if MARK.fullmatch(match.group()):
        return match.group()
    found: list[int] = []
    for ends in _RANGE.findall(match[match.lastindex or 0].translate(SUPERSCRIPT)):
        first, last = int(ends[0]), int(ends[1] or ends[0])
        found += range(first, last + 1) if first <= last <= first + 20 else (first, last)
    return f"[{', '.join(map(str, found))}]"


def without_lost(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text, normalised, without marks that lead to no source, and these marks: `[web:1]`, `oaicite:1`.

    They are numbered by another program.  `(1)` is one of them only where a text has no mark in brackets.
    """
    lost: list[str] = []

    def take(match: re.Match[str]) -> str:
        lost.append(match.group().strip())
        return ""

    plain = around_code(text, lambda part: _LOST.sub(take, part), formulas=True)
    if not MARK.search(without_code(plain)):
        plain = around_code(plain, lambda part: _ROUND.sub(take, part), formulas=True)
    return plain, tuple(lost)


def around_code(
    text: str, prose: Callable[[str], str], code: Callable[[str], str] = str, *, formulas: bool = False
) -> str:
    """Apply `prose` to all text outside code, and `code` to fences and code spans, and to formulas if told so.

    `prose` sees a private character in place of each piece of code, so that a link around one stays whole.
    """
    pieces: list[str] = []

    def mask(match: re.Match[str]) -> str:
        if "\n\n" in match.group() and not match.group().lstrip().startswith(("```", "~~~")):
            return match.group()
        pieces.append(match.group())
        return f"\ue000{len(pieces) - 1}\ue001"

    masked = _SPAN.sub(mask, _FENCE.sub(mask, text.replace("\ue000", "").replace("\ue001", "")))
    if formulas:
        masked = FORMULA.sub(mask, masked)
    done = prose(masked)
    while "\ue000" in done:  # a span may contain a masked fence, and a formula a span
        done = re.sub("\ue000(\\d+)\ue001", lambda match: code(pieces[int(match[1])]), done)
    return done


def without_code(text: str) -> str:
    """Return the text with a space in place of each piece of code and each formula."""
    return around_code(text, str, lambda _: " ", formulas=True)


def cited(text: str) -> list[int]:
    """Return the numbers that a text cites, each once, in order of first use."""
    plain = without_code(normalised(text))
    found = [int(n) for match in MARK.finditer(plain) for n in re.findall(r"\d+", match.group(1))]
    return list(dict.fromkeys(found))


def without_marks(text: str) -> str:
    """Return the text without citation marks and the spaces before them."""
    bare = re.sub(r"(?<=\S) {2,}(?=\S)", " ", MARK.sub("", text))
    return re.sub(r"(?<!\s)\s+([.,;:。，；])", r"\1", bare).strip()


def without_quoting(text: str) -> str:
    """Return a report without the sections that only quote its sources."""
    return _QUOTING.sub("", text)


def statements(text: str) -> list[Statement]:
    """Return the statements of a Markdown text: its sentences and table rows.

    Code, and formulas on lines of their own, are left out.

    A mark after the full stop belongs to the sentence before it.
    """
    found: list[Statement] = []
    heading = ""
    header: list[str] = []
    contexts: dict[tuple[int, ...], str] = {}  # one text for all rows with these columns: both may be long
    plain = _SHOWN.sub("\n", _FENCE.sub("\n", normalised(text)))
    for line in plain.splitlines():
        if not line.strip():
            header = []
        elif "|" in line.strip()[1:] and line.strip().startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if header and not _RULE.match(line):
                found += _row(cells, header, heading, contexts)
            elif not _RULE.match(line):
                header, contexts = cells, {}
        elif _HEADING.match(line):
            heading = line.strip("#*: \t")
            found.append(Statement(line.strip("# \t"), "", tuple(cited(line)), heading=True))
        else:
            pieces = sentences_of(_BULLET.sub("", line).strip())
            found += [Statement(piece, heading, tuple(cited(piece))) for piece in pieces]
    return found


def row_text(cells: Sequence[str]) -> str:
    """Return a row of a table as one statement, with the cells that only cite as marks at its end."""
    kept = [cells[i] for i in _columns(cells)]
    return " ".join([" | ".join(kept), *(cell for cell in cells if cell and not without_marks(cell))])


def _columns(cells: Sequence[str]) -> tuple[int, ...]:
    """Return the cells of a row that do not only cite."""
    return tuple(i for i, cell in enumerate(cells) if not cell or without_marks(cell))


def _row(
    cells: list[str], header: list[str], heading: str, contexts: dict[tuple[int, ...], str]
) -> Iterator[Statement]:
    """Yield a table row as one statement or, if several cells cite, one for each of them with the row's first cell.

    A very long first cell is not repeated.
    """
    citing = [i for i, cell in enumerate(cells) if cited(cell)]
    if len(citing) <= 1 or 0 in citing or len(cells[0]) > _LONGEST:
        text, columns = row_text(cells), _columns(cells)
        if columns not in contexts:
            contexts[columns] = "; ".join([heading, *(header[i] for i in columns if i < len(header))])
        yield Statement(text, contexts[columns], tuple(cited(text)), row=True)
        return
    for i in citing:
        label = header[i] if i < len(header) else ""
        yield Statement(f"{cells[0]}, {label}: {cells[i]}", heading, tuple(cited(cells[i])), row=True)


_REFERENCES = re.compile(
    r"^\W*(?:sources?|references?|bibliography|further reading|notes|参考(?:文献|资料)|来源|引用|注释)\W*$", re.I
)


_QUOTING = re.compile(r"\n##{1,2} [^\n]+\n+(?:- [^\n]{0,500}: “[^\n]{1,5000}” ?\[\d{1,9}\](?:\n|\Z))+(?=\n*(?:#|\Z))")
_INNER = re.compile(r"(?<=[^\W\d_A-Z][ ,’'-])[ ]?\b([A-Z]\w+)")
"""A word with a capital inside a sentence."""


def uncited(text: str, question: str = "", computed: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the statements that cite nothing and have a figure or a name of their own, in order.

    Those in the question, in `computed` (outputs of the python tool), or in one cited statement are not their own.  Left
    out are headings, questions, code, formulas, lines that end in a colon, and everything under a heading such as
    `References`.
    """
    from research.quantities import quantities

    known, given = frozenset(_INNER.findall(text)), "\n".join([question, *computed])
    figures, lower = quantities(given), given.casefold()

    def own(statement: Statement) -> set[str | tuple[float, str]]:
        spoken = FORMULA.sub(" ", re.sub(r"`[^`]*`", " ", without_marks(statement.text)))
        counted = [q for q in quantities(spoken) if not q.weak and not any(q.states(seen) for seen in figures)]
        names = {name for name in _names(spoken, known) if name.casefold() not in lower}
        return names | {(q.value, q.unit) for q in counted}

    stated = [each for each in statements(text) if len(each.text) <= _LONGEST]
    cited_in: dict[str | tuple[float, str], set[int]] = {}
    for at, statement in enumerate(stated):
        for part in own(statement) if statement.numbers else ():
            cited_in.setdefault(part, set()).add(at)
    found, listing = [], False
    for statement in stated:
        plain = without_marks(statement.text).strip("*_ ")
        if statement.heading or _REFERENCES.match(plain):
            listing = bool(_REFERENCES.match(plain))
        elif not (listing or statement.numbers or plain.endswith(("?", "？", ":", "："))):
            parts = own(statement)
            names = sum(isinstance(part, str) for part in parts)
            told = names < len(parts) or names >= (1 if has_cjk(plain) else 2)
            if told and not set.intersection(*(cited_in.get(part, set()) for part in parts)):
                found.append(plain)
    return tuple(found)


def named(text: str) -> set[str]:
    """Return the words with a capital, and the names in Chinese, of a text."""
    return _names(text, frozenset(re.findall(r"\b[A-Z]\w+", text)))


def _names(sentence: str, known: frozenset[str]) -> set[str]:
    """Return the words of names in a sentence: capitals inside it, those of the whole text, and what the Chinese tagger says."""
    found = set(_INNER.findall(sentence)) | (known & set(re.findall(r"\w+", sentence)))
    if not has_cjk(sentence):
        return found
    import rjieba

    return found | {word for word, tag in rjieba.tag(sentence) if tag in ("nr", "ns", "nt") and len(word) > 1}
