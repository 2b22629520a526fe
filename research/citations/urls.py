"""Remove urls that the run did not see from a report, and turn those of sources into `[n]`."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from urllib.parse import unquote

from research.citations.marks import MARK, around_code, normalised, without_lost
from research.text import language_of
from research.types import Source

_COLON = r"(?::|&#0*58;|&#x0*3a;|&colon;|：)"
_SLASH = r"(?:\\?/|&#0*47;|&#x0*2f;|&sol;)"
# Characters of a url.  Chinese ones are handled separately: a sentence may continue right after an address.
_CHARS = r"[^\s<>\"“”‘’`|{}\\^，。；：！？、（）《》〈〉「」『』【】［］\u3000-\u303f]"
_LATIN = r"[^\s<>\"“”‘’`|{}\\^\u2e80-\uffef]"
_URL = re.compile(
    rf"(?<![A-Za-z0-9_@])(?:(?:[a-z][a-z0-9+.-]{{1,15}}{_COLON}{_SLASH}{_SLASH}|www\.(?=[\w-]+\.))"
    rf"{_CHARS}{{1,2000}}|(?:doi{_COLON}?\s?)?10\.\d{{4,9}}/{_LATIN}{{1,2000}}|arxiv{_COLON}\s?(?:\d{{4}}\.\d{{4,5}}(?:v\d+)?|"
    rf"[a-z-]+/\d{{7}})|"
    rf"(?:[a-z0-9](?:[a-z0-9-]{{0,61}}[a-z0-9])?\.){{1,30}}[a-z]{{2,24}}(?::\d{{1,5}})?/(?!\s){_LATIN}{{0,2000}})",
    re.I,
)
_LABEL = r"\[((?:[^\[\]\\]|\\.|\[(?:[^\[\]\\]|\\.|\[[^\[\]]{0,300}\]){0,300}\]){0,600})\]"
_TITLE = r"""(?:\s{1,9}(?:"[^"]{0,300}"|'[^']{0,300}'|\([^()]{0,300}\)))?"""
_ROUND = r"((?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.|\([^\s()]{0,300}\)){0,300}\)){0,2000})"
_TARGET = r"\(\s{0,9}(?:<([^<>\n]{0,2000})>|" + _ROUND + r")" + _TITLE + r"\s{0,9}\)"
_INLINE = re.compile(rf"!?{_LABEL}{_TARGET}", re.S)
_DEFINITION = re.compile(
    rf"^ {{0,3}}\[([^\]\n]{{1,600}})\]:[ \t]{{0,9}}\n?[ \t]{{0,9}}"
    rf"(?:<([^<>\n]{{0,2000}})>|(\S{{1,2000}})){_TITLE}[ \t]{{0,9}}$\n?",
    re.M,
)
_REFERENCE = re.compile(r"!?\[((?:[^\[\]\\]|\\.){1,600})\](?:[ ]?\[([^\[\]\n]{0,600})\])?")
_ANCHOR = re.compile(r"<a\b([^>]{0,2000})>(.{0,2000}?)</a\s{0,9}>", re.I | re.S)
_ADDRESS = re.compile(
    r"""\b(?:href|src|data|srcset|action|cite|poster|background)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.I
)
_OTHER = re.compile(r"\]\((?=\s{0,9}<?((?:[a-z][a-z0-9+.-]{0,30}(?=[:：&])|//|\\)[^\s<>()]{0,300}))", re.I)
"""The target of a link with any scheme, whatever label is before it; `_INLINE` reads three levels of brackets."""
_TAG = re.compile(r"</?[a-z][^<>]*>", re.I)
_AUTO = re.compile(r"<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*)>", re.I)
_MAILBOX = re.compile(
    r"(?<![\w.+@/-])(?:mailto|xmpp):[\w.+-]{1,64}@(?:[a-z0-9-]{1,63}\.){1,10}[a-z]{2,24}(?![\w@])", re.I
)
_ZERO_WIDTH = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad]")

REMOVED = {"en": "(link removed)", "zh": "（链接已移除）"}
"""Replaces a bare url, by language of the text."""


def clean(text: str, sources: Sequence[Source], question: str = "") -> tuple[str, tuple[str, ...]]:
    """Return the text with marks in the form `[n]` and without urls that the run did not see, and what was removed.

    Marks of other programs, such as `[web:1]`, are removed, too.

    The url of a source becomes its `[n]`.  A url from a quote or the question stays.  For any other, a link keeps its
    label, and a note replaces a bare url.  Code keeps the urls that were seen.
    """
    seen = Seen(sources, question)
    text, lost = without_lost(normalised(text))
    links = ((match[1].casefold(), match[2] or match[3]) for match in _DEFINITION.finditer(text))
    defined = {label: url for label, url in links if _is_url(url)}
    cleaner = _Cleaner(seen, defined, REMOVED[language_of(_URL.sub(" ", text))])
    cleaned = around_code(text, cleaner.prose, cleaner.code)
    return cleaned, tuple(dict.fromkeys((*cleaner.removed, *lost)))


class Seen:
    """The urls that a run has seen, in plain form."""

    def __init__(self, sources: Sequence[Source], question: str) -> None:
        self.number: dict[str, int] = {}
        for source in sources:
            for address in filter(None, (source.url, str(source.csl.get("DOI", "")))):
                self.number.setdefault(plain(address), source.n)
        self._texts = [question, *(part for source in sources for part in (source.title, source.quote))]

    @cached_property
    def quoted(self) -> set[str]:
        """Urls in quotes and in the question; computed only on demand, because long quotes take a while."""
        return {plain(url) for part in self._texts for url in found(part)} - {""}

    def says(self, text: str) -> bool:
        """Return whether a text, such as the address of a mailbox, is in the question or in a source."""
        return any(text in part for part in self._texts)

    def knows(self, url: str) -> int | None:
        """Return the number of the source with this url; 0 if it was only quoted, None if it was not seen."""
        scheme, _, mailbox = url.partition(":")
        if scheme.casefold() in ("mailto", "xmpp"):
            return 0 if self.says(mailbox) else None
        form = plain(url)
        if form in self.number:
            return self.number[form]
        return 0 if form in self.quoted else None


class _Cleaner:
    def __init__(self, seen: Seen, defined: dict[str, str], note: str) -> None:
        self.seen, self.defined, self.note = seen, defined, note
        self.removed: list[str] = []

    def prose(self, text: str) -> str:
        text = _DEFINITION.sub(self._definition, text)
        text = _ANCHOR.sub(self._anchor, text)
        text = _TAG.sub(self._tag, text)
        for _ in range(3):  # handles a picture in a link in a link
            text = _INLINE.sub(self._inline, text)
        if self.defined:
            text = _REFERENCE.sub(self._reference, text)
        text = _OTHER.sub(self._other, text)
        text = _AUTO.sub(lambda match: self._bare(match[1], "<", ">"), text)
        text = _replace(text, self.seen, self._bare)
        return _MAILBOX.sub(lambda match: self._bare(match.group()), text)  # viewers make a link of a mailbox

    def code(self, text: str) -> str:
        return _replace(text, self.seen, lambda url: url if self.seen.knows(url) is not None else self._bare(url))

    def _bare(self, url: str, before: str = "", after: str = "") -> str:
        n = self.seen.knows(url)
        if n:
            return f"[{n}]"
        if n == 0:
            return before + url + after
        self.removed.append(url)
        return self.note

    def _labelled(self, label: str, url: str, whole: str) -> str:
        n = self.seen.knows(url)
        if n == 0 or (n is None and url.startswith("#")):
            return whole
        inner = label.strip().strip("[]^ ")
        if n is not None:
            return f"[{n}]" if inner.isdigit() or _is_url(inner) else f"{label} [{n}]"
        self.removed.append(url)
        return f"[{inner}]" if re.fullmatch(r"\d{1,3}(?:, \d{1,3})*", inner) else label

    def _inline(self, match: re.Match[str]) -> str:
        url = match[2] or match[3]
        return self._labelled(match[1], url, match.group()) if url else match.group()

    def _other(self, match: re.Match[str]) -> str:
        """Break a link to an address without `://` that was not seen, however its label is written."""
        url = html.unescape(match[1]).replace("\\", "")
        if "://" in url or self.seen.says(url.partition(":")[2] or url):
            return match.group()
        self.removed.append(url)
        return "] ("

    def _reference(self, match: re.Match[str]) -> str:
        url = self.defined.get((match[2] or match[1]).casefold())
        if url is None or MARK.fullmatch(match.group()):
            return match.group()
        return self._labelled(match[1], url, match.group())

    def _definition(self, match: re.Match[str]) -> str:
        url = match[2] or match[3]
        n = self.seen.knows(url)
        if n == 0 or not _is_url(url):
            return match.group()
        if n is None:
            self.removed.append(url)
        return ""

    def _anchor(self, match: re.Match[str]) -> str:
        address = _ADDRESS.search(match[1])
        return self._labelled(match[2], _address(address), match.group()) if address else match[2]

    def _tag(self, match: re.Match[str]) -> str:
        """Remove a tag if one of its addresses was not seen."""
        urls = map(_address, _ADDRESS.finditer(match.group()))
        gone = [url for url in urls if url and self.seen.knows(url) is None]
        self.removed += gone
        return "" if gone else match.group()


def _address(attribute: re.Match[str]) -> str:
    return html.unescape(attribute[attribute.lastindex or 0])


def found(text: str) -> list[str]:
    """Return the urls of a text."""
    return [_readings(match.group())[-1] for match in _URL.finditer(text) if _is_address(match.group())]


def plain(url: str) -> str:
    """Return the plain form of an address, without scheme, `www.`, fragment, tracking parameters and percent-encoding."""
    url = unquote(_ZERO_WIDTH.sub("", html.unescape(url)).replace("\\", "").replace("：", ":").strip().strip("<>"))
    if match := re.search(r"(?:^|doi\.org/|doi:\s*)(10\.\d{4,9}/\S+)", url, re.I):
        return "doi:" + match[1].casefold().rstrip("/")
    if match := re.search(r"(?:arxiv\.org/(?:abs|pdf|html)/|^arxiv:\s*)([\w.-]+/\d{7}|\d{4}\.\d{4,5})", url, re.I):
        return "arxiv:" + match[1].casefold()
    url = url.partition("#")[0]
    head, _, query = url.partition("?")
    kept = "&".join(sorted(part for part in query.split("&") if part and not part.casefold().startswith("utm_")))
    scheme, mark, rest = head.partition("://")
    if not mark:
        scheme, rest = "http", head
    host, slash, path = rest.partition("/")
    host = host.casefold().removesuffix(":80").removesuffix(":443").removeprefix("www.").rstrip(".")
    web = "" if scheme.casefold() in ("http", "https") else scheme.casefold() + "://"
    return f"{web}{host}{(slash + path).rstrip('/')}" + (f"?{kept}" if kept else "")


def _is_url(text: str) -> bool:
    return _URL.match(text.strip()) is not None or re.match(r"[a-z][a-z0-9+.-]*:\S", text.strip(), re.I) is not None


def _is_address(written: str) -> bool:
    """Return whether a match is an address: a bare `name.end/path` needs a top-level domain."""
    if re.match(rf"[a-z][a-z0-9+.-]*{_COLON}|www\.|10\.\d", written, re.I):
        return True
    from tld import get_tld

    return get_tld(written, fix_protocol=True, fail_silently=True) is not None


def _readings(written: str) -> list[str]:
    """Return the possible extents of an address, longest first: what follows it may belong to the sentence."""
    ends = [written]
    second = re.search(rf"[,;|](?=[a-z]{{2,8}}{_COLON}{_SLASH}{_SLASH})", written, re.I)
    if second:
        ends.append(written[: second.start()])
    ends.append(_trimmed(ends[-1]))
    if words := re.search(r"(?<=[^/=_%\-\u2e80-\uffef])[\u2e80-\uffef]", ends[-1]):
        ends.append(_trimmed(ends[-1][: words.start()]))
    return ends


def _trimmed(url: str) -> str:
    while url:
        shorter = url.rstrip(".,;:!?'\"*_~…")
        for opening, closing in ("()", "[]"):
            if shorter.endswith(closing) and shorter.count(closing) > shorter.count(opening):
                shorter = shorter[:-1]
        if shorter == url:
            break
        url = shorter
    return url


def _replace(text: str, seen: Seen, change: Callable[[str], str]) -> str:
    """Apply `change` to each address of a text, and keep what follows it."""

    def one(match: re.Match[str]) -> str:
        written = match.group()
        if not _is_address(written):
            return written
        readings = _readings(written)
        url = next((reading for reading in readings if seen.knows(reading) is not None), readings[-1])
        rest = written[len(url) :]
        return change(url) + (_replace(rest, seen, change) if rest else "")

    return _URL.sub(one, text)
