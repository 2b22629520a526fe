"""Find what each statement of a report cites, however it is written, and rewrite it with marks `[n]` as our own runs use.

Styles: numbers with a reference list, footnotes, links in the text, author and year, superscripts, lines such as
`Source: …`, and the brackets of chat products, 【Title†source】 and ([site](address)).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from research.auditing.author_year import AuthorYear
from research.auditing.definitions import Parts, split
from research.auditing.references import LINK, URL, Reference, clean_url, parsed
from research.citations.marks import (
    MARK,
    SYMBOLS,
    Statement,
    around_code,
    normalised,
    statements,
    without_marks,
)
from research.quantities import quantities
from research.text import content_tokens, has_cjk, words_alone

LONGEST = 2_000_000
"""Characters of a report that are read; about 700 pages."""
MOST_SOURCES = 900
"""Most sources of a report; the marks of a statement end at `[999]`."""

_OPEN, _CLOSE = "\ue010", "\ue011"
_TOKENS = re.compile(
    f"(?:[ \\t]{{0,9}}{_OPEN}(\\d{{1,6}}){_CLOSE}[={''.join(SYMBOLS.values())}]?)+"  # our exports' verdicts
)
_BETWEEN = re.compile(f"([ \\t]{{0,9}})((?:{_OPEN}\\d{{1,6}}{_CLOSE}){{1,50}})[ ,;、]{{0,9}}(?={_OPEN})")
_PRIVATE = re.compile("[\ue000-\uf8ff]+(?:[^\ue000-\uf8ff\\n]{1,80}[\ue000-\uf8ff]+)?")
_IMAGE = re.compile(r"!\[[^\]]{0,300}\]\([^)]{0,2000}\)")
_REFERENCE_LINK = re.compile(r"(?<!!)\[([^\[\]]{1,300})\]\s?\[([^\[\]^]{0,80})\]")
_FOOTNOTE = re.compile(r"\[\^([^\]\s]{1,40})\]")
_DAGGER = re.compile(r"【([^】]{1,300})】|[［\[]([^\]\[]{1,200}†[^\]\[]{0,100})[］\]]|〔([^〕]{1,200})〕")
_WRAPPED = re.compile(r"[(（]\s{0,9}((?:" + LINK.pattern.replace("(?<!!)", "", 1) + r"[\s,;、]*)+)[)）]")
_SOURCE_LINE = re.compile(
    r"\W{0,4}(?:sources?|data source|see|via|来源|资料来源|数据来源|出处|信息来源)[*_]{0,2}\s{0,9}[:：][*_]{0,2}\s{0,9}(\S.*)",
    re.I,
)
_SOURCE_IN = re.compile(
    r"\s{0,9}[(（\[]\s{0,9}(?:sources?|来源|资料来源|出处)\s{0,9}[:：]\s{0,9}((?:[^()（）\[\]]|\[[^\]]{0,300}\]|\([^()]{0,300}\)){3,400}?)\s{0,9}[)）\]]",
    re.I,
)
_TITLED = re.compile(r"(?<![!\]\w])\[([^\[\]]{6,200})\](?![(\[:])")
_RAISED = re.compile(
    r"(?<=[^\s\d])([¹²³⁰⁴-⁹]+(?:[ ,⸴˒‚,⁻–-]{1,2}[¹²³⁰⁴-⁹]+)*)|(?<=(?:1\d|20)\d\d)([¹²³⁴-⁹]+)|(?<=%)([¹²³⁴-⁹]+)"
)
_GLUED = re.compile(r"(?<=[^\W\d_][.!?])(\d{1,3}(?:,\s?\d{1,3}){0,9})(?=\s{1,9}[A-Z“\"]|\s{0,9}$)", re.M)
"""Superscripts that lost their height when the report was copied."""
_UNIT = re.compile(r"(?:^|[\d\s/(·])(?:[kcdmµ]?m|mi|ft|in|yd|s|[kc]m|h|m³|R|x|n|10)$")
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SITE = re.compile(
    r"\[?\^?\d{1,3}\]?|[\w-]{1,40}(?:\.[\w-]{1,40}){1,4}(?:\s?\+\s?\d{1,2})?|.{1,60}\+\s?\d{1,2}|source|link|来源|链接",
    re.I,
)


_COUNTED = "".join(sign for sign in SYMBOLS.values() if not sign.isascii())
"""Signs before the number of statements that have a verdict."""
_ASKS = ("?", "？", ":", "：")


class Report(Struct, frozen=True):
    """A report as it is put on trial."""

    body: str
    """Markdown with marks `[n]`; the reference lists are left out."""
    sources: tuple[Reference, ...]
    """`[n]` is the nth of them."""
    listed: int
    """How many of them, the last ones, are in a reference list without being cited."""
    dropped: int = 0
    """Sources beyond `MOST_SOURCES`, which are not looked for."""

    @property
    def statements(self) -> list[Statement]:
        """Return what the report states, in sentences and table rows, with the numbers that each cites."""
        paragraphs = frozenset(self.body.split("\n\n"))
        found = (each for each in statements(self.body) if each.numbers or not each.heading)
        return [each for each in found if _states(each, each.text in paragraphs)]


def _states(statement: Statement, alone: bool) -> bool:
    """Return whether a line is no metadata, count of verdicts, foot of a page, head of a table or row that lost its table.

    Nor is it a question or a heading: a line `alone` without a full stop and a figure, or one that ends in a colon.
    """
    text = without_marks(statement.text).rstrip("*_ ")
    if re.search(rf"[{_COUNTED}] \d", text) or (text.endswith(_ASKS) and not statement.numbers):
        return False
    if statement.row or " | " in text or text.endswith((".", "!", "?", "。", "！", "？")):
        return True
    found = quantities(text)
    for each in reversed(found):
        text = f"{text[: each.start]} {text[each.end :]}"
    head = all(word[0].isupper() for word in re.findall(r"[^\W\d_]+", text)) or (
        alone and all(each.weak for each in found) and not statement.numbers
    )
    data = len(re.findall(r"(?:^|\s)[^\W\d_][^:：;；]{0,30}[:：](?=\s|$)", text)) > 2
    said = [word for word in content_tokens(text) if len(word) > 1]
    return not (head or data) and len(said) > (0 if has_cjk(text) else 1)


def read(text: str) -> Report:
    """Return a report with its citations in one form."""
    text = _PRIVATE.sub("", text.replace("\x00", "")[:LONGEST].replace("\r\n", "\n").replace("\r", "\n"))
    parts = split(text)
    found = _Sources(parts)
    body = around_code("\n".join(parts.body), found.rewritten)
    body = _with_source_lines(body, found)
    cited = len(found.sources)
    for entry in parts.entries:
        found.number(entry)
    return Report(_marked(body), tuple(found.sources), len(found.sources) - cited, found.dropped)


def _marked(body: str) -> str:
    """Write the tokens as marks: `[1, 2]`, with one space before."""

    def mark(match: re.Match[str]) -> str:
        numbers = list(dict.fromkeys(re.findall(r"\d+", match.group())))
        return f" [{', '.join(numbers)}]"

    body = MARK.sub(lambda match: f"({match[1]})", body)  # a number in brackets that cites nothing
    return _TOKENS.sub(mark, _BETWEEN.sub(r"\1\2", body)).strip()


class _Sources:
    """The sources of one report by number, and the rewriting of its text."""

    def __init__(self, parts: Parts) -> None:
        self.sources: list[Reference] = []
        self.dropped = 0
        self._numbers: dict[str, int] = {}
        self._notes = {label: parsed(text, label) for label, text in parts.notes.items()}
        self._links = parts.links
        self._entries: dict[str, Reference] = {each.label: each for each in reversed(parts.entries) if each.label}
        if parts.entries and not self._entries:  # a list without numbers, cited by number
            self._entries = {str(n): each for n, each in enumerate(parts.entries, 1)}
        self._titles = {words_alone(each.title): each for each in parts.entries if each.title}
        self._people = AuthorYear(parts.entries)

    def number(self, reference: Reference) -> int:
        """Return the number of a source; 0 for one too many."""
        key = reference.key
        if key not in self._numbers:
            if len(self.sources) >= MOST_SOURCES:
                self.dropped += 1
                return 0
            self.sources.append(reference)
            self._numbers[key] = len(self.sources)
        elif reference.text and len(reference.text) > len(self.sources[self._numbers[key] - 1].text):
            n = self._numbers[key] - 1
            self.sources[n] = (
                reference if reference.url or not self.sources[n].url else replace(reference, url=self.sources[n].url)
            )
        return self._numbers[key]

    def token(self, references: Iterable[Reference | None]) -> str:
        """Return the tokens that represent sources."""
        numbers = [self.number(each) for each in references if each is not None]
        return "".join(f"{_OPEN}{n}{_CLOSE}" for n in dict.fromkeys(numbers) if n)

    def rewritten(self, text: str) -> str:
        """Return a text without code, with tokens in place of everything that cites."""
        text = _IMAGE.sub("", text)
        text = _REFERENCE_LINK.sub(self._reference_link, text)
        text = _FOOTNOTE.sub(self._footnote, text)
        text = _SOURCE_IN.sub(lambda m: self.token(self.named(m[1])) or m[0], text)
        text = _DAGGER.sub(self._dagger, text)
        text = "\n".join(
            line if _SOURCE_LINE.fullmatch(line.strip()) else self._links_of(line) for line in text.split("\n")
        )
        text = self._by_number(text)
        return self._people.rewritten(text, self.token)

    def _reference_link(self, match: re.Match[str]) -> str:
        there = self._links.get((match[2] or match[1]).lower())
        return f"[{match[1]}]({there.url})" if there else match[0]

    def _footnote(self, match: re.Match[str]) -> str:
        found = self._notes.get(match[1]) or self._entries.get(match[1])
        if found is None and not match[1].isdigit():
            return match[0]
        return self.token([found or _missing(match[1])])

    def _dagger(self, match: re.Match[str]) -> str:
        inside = next(filter(None, match.groups()))
        words, dagger, rest = (part.strip() for part in inside.partition("†"))
        number = re.fullmatch(r"(?:source|ref|来源)?\s{0,9}:?\s{0,9}(\d{1,3})(?::\d+)?", words, re.I)
        if number and number[1] in self._entries:
            return self.token([self._entries[number[1]]])
        if number:
            return self.token([_missing(number[1])]) if dagger or match[1] else match[0]
        if not dagger and words_alone(words) not in self._titles and not URL.search(words):
            return match[0]
        return self.token(self.named(f"{words} {rest}" if URL.search(rest) else words))

    def _links_of(self, line: str) -> str:
        """Rewrite the links of a line; the words of a link stay where the sentence needs them."""
        line = re.sub(r"\[\[(\d{1,3})\]\]\(", r"[\1](", line)
        line = _WRAPPED.sub(lambda m: self.token(self._target(each) for each in LINK.finditer(m[1])) or m[0], line)
        line = LINK.sub(lambda m: self._link(m, line), line)
        return URL.sub(self._bare, re.sub(r"<(https?://[^\s<>]{1,2000})>", r"\1", line))

    def _target(self, match: re.Match[str]) -> Reference | None:
        words, target = match[1].strip(" *_"), match[2]
        number = re.fullmatch(r"\[?\^?(\d{1,3})\]?", words)
        if target.startswith("#") and number:
            return self._entries.get(number[1]) or _missing(number[1])
        if not target.lower().startswith(("http://", "https://")):
            named = (
                bool(re.search(r"\.\w{2,5}$", target))
                and "://" not in target
                and not target.startswith(("#", "mailto:"))
            )
            return Reference(title=target.rpartition("/")[2], text=words) if named else None
        entry = self._entries.get(number[1]) if number else None
        if entry is not None and entry.key == Reference(url=target).key:
            return entry
        title = "" if _SITE.fullmatch(words) else words
        return Reference(url=target, text=title, title=title if self._is_title(title) else "")

    def _is_title(self, words: str) -> bool:
        """Return whether the words of a link look like the title of a work, so that the page can be compared with it."""
        return bool(re.match(r"[“\"《]", words)) or len(re.findall(r"[A-Z][a-z]+", words)) >= 4

    def _link(self, match: re.Match[str], line: str) -> str:
        found = self._target(match)
        if found is None:
            return match[1]
        words = match[1].strip()
        before, after = line[: match.start()].rstrip(), line[match.end() :].lstrip()
        alone = _SITE.fullmatch(words.strip("*_")) or (
            before.endswith((".", "!", "?", "。", "！", "？", ")"))
            and not (after[:1].islower() or after[:1] in (",", ":"))
            and len(words) < 120
        )
        return self.token([found]) if alone else f"{words}{self.token([found])}"

    def _bare(self, match: re.Match[str]) -> str:
        url = clean_url(match[0])
        return self.token([Reference(url=url)]) + match[0][len(url) :]

    def _by_number(self, text: str) -> str:
        """Rewrite superscripts and numbers in brackets."""
        top = max((int(each) for each in self._entries if each.isdigit()), default=0)

        def raised(match: re.Match[str]) -> str:
            written = next(filter(None, match.groups())).translate(_SUPERSCRIPT)
            if _UNIT.search(text[max(match.start() - 5, 0) : match.start()]) or not top:
                return match[0]
            return self._numbered(written, match[0])

        text = _RAISED.sub(raised, text)
        if top:
            text = _GLUED.sub(lambda m: self._numbered(m[1], m[0]) if self._all_listed(m[1]) else m[0], text)
        if not top and not MARK.search(normalised(text)):
            return self._titled(text)
        text = re.sub(
            r"<sup>\s{0,9}[\[(]?\^?([\d,;\s–-]{1,40})[\])]?\s{0,9}</sup>", lambda m: self._numbered(m[1], m[0]), text
        )
        text = MARK.sub(lambda m: self._numbered(m[1], m[0]), normalised(text))
        return self._titled(text)

    def _all_listed(self, written: str) -> bool:
        return all(n in self._entries for n in re.findall(r"\d+", written))

    def _titled(self, text: str) -> str:
        def title(match: re.Match[str]) -> str:
            found = self._titles.get(words_alone(match[1]))
            return self.token([found]) if found else match[0]

        return _TITLED.sub(title, text) if self._titles else text

    def _numbered(self, written: str, text: str) -> str:
        numbers = [each.strip() for each in re.split(r"[,;、，\s]+", written) if each.strip()]
        wanted: list[str] = []
        for each in numbers:
            ends = [int(n) for n in re.findall(r"\d{1,4}", each)]
            wanted += [str(n) for n in range(ends[0], min(ends[-1], ends[0] + 30) + 1)] if ends else []
        if not wanted or any(not 0 < int(n) <= 999 for n in wanted):
            return text
        if not self._entries and not self._notes:
            return text if len(wanted) > 3 else self.token(map(_missing, wanted))
        return self.token(self._entries.get(n) or self._notes.get(n) or _missing(n) for n in wanted)

    def named(self, text: str) -> list[Reference]:
        """Return the sources that a note such as `Source: …` names."""
        links = [self._target(each) for each in LINK.finditer(text)]
        if found := [each for each in links if each is not None]:
            return found
        if known := self._titles.get(words_alone(text)):
            return [known]
        numbers = re.fullmatch(r"[\[(]?(\d{1,3}(?:\s{0,9}[,;]\s{0,9}\d{1,3})*)[\])]?\.?", text.strip())
        if numbers:
            return [self._entries.get(n) or _missing(n) for n in re.findall(r"\d+", numbers[1])]
        pieces = (
            re.split(r"\s{0,9};\s{0,9}|\s{1,9}(?:and|和)\s{1,9}(?=https?://)", text)
            if text.count("http") != 1
            else [text]
        )
        parsed_ = [parsed(piece) for piece in pieces if re.search(r"\w{2}", piece)]
        return [self._titles.get(words_alone(each.title)) or each if not each.url else each for each in parsed_]


def _with_source_lines(body: str, found: _Sources) -> str:
    """Replace each line `Source: …` by tokens at the end of the statements above it that cite nothing."""
    blocks = re.split(r"\n\s*\n", body)
    done: list[str] = []
    for block in blocks:
        lines = block.split("\n")
        kept: list[str] = []
        for line in lines:
            match = _SOURCE_LINE.fullmatch(line.strip())
            token = found.token(found.named(match[1].rstrip("*_"))) if match else ""
            if not token:
                kept.append(found._links_of(line) if match else line)
            elif kept:
                kept = _covered("\n".join(kept), token).split("\n")
            elif done:
                done[-1] = _covered(done[-1], token)
        if any(line.strip() for line in kept):
            done.append("\n".join(kept))
    return "\n\n".join(done)


def _covered(block: str, token: str) -> str:
    """Add a citation to each sentence and row of a block that has none."""
    from research._util.sentences import sentences_of

    lines = []
    for number, line in enumerate(block.split("\n")):
        table = line.strip().startswith("|")
        if line.lstrip().startswith("#") or re.fullmatch(r"[\s:|-]+", line) or (table and number == 0):
            lines.append(line)
        elif table:
            lines.append(line if _OPEN in line else re.sub(r"\s{0,9}\|\s{0,9}$", f" {token} |", line))
        else:
            indent = line[: len(line) - len(line.lstrip())]
            pieces = [piece if _OPEN in piece else f"{piece}{token}" for piece in sentences_of(line)]
            lines.append(indent + " ".join(pieces) if pieces else line)
    return "\n".join(lines)


def _missing(label: str) -> Reference:
    """Return the source of a number that no entry has."""
    return Reference(label=label, text=f"[{label}]")


Token = Callable[[Iterable[Reference | None]], str]
Named = Mapping[str, Reference]
