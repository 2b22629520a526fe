"""Tell the body of a report from its definitions: reference lists, footnotes, and Markdown's link definitions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from msgspec import Struct

from research.auditing.references import DOI, LINK, URL, YEAR, Reference, number_of, parsed

_TITLE = re.compile(
    r"\W*(?:\d{1,2}[.)]?\s{1,9})?(?:(?:list of |selected |key |full |main |web |cited |all )?(?:sources?|references?|"
    r"citations?|links|bibliography|works cited|literature|footnotes?|endnotes?|notes)"
    r"(?: (?:cited|used|list|consulted|and (?:notes|references|links|sources)|& \w+))?|"
    r"参考(?:文献|资料|来源)|来源|资料来源|引用(?:来源|文献)?|脚注|注释|信息来源)\s{0,9}[:：]?\W*",
    re.I,
)
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s|\s{0,9}\*\*[^*]{1,200}\*\*\s{0,9}:?\s{0,9}$")
_NOTE = re.compile(r"\s{0,3}\[\^([^\]\s]{1,40})\]\s{0,9}[:：]\s{0,9}(.*)")
_LINK_DEFINITION = re.compile(
    r"\s{0,3}\[([^\]^]{1,80})\]:\s{0,9}<?(https?://[^\s>]{1,2000})>?(?:\s{1,9}[\"'(](.{0,300}?)[\"')])?\s{0,9}$"
)
_STARTS_NUMBERED = re.compile(
    r"\s{0,9}(?:\[\^?\d{1,3}\]|\(\d{1,3}\)|【\d{1,3}】|<sup>\s{0,9}\[?\d{1,3}\]?\s{0,9}</sup>|[¹²³⁴-⁹])\s{0,9}[:：.]?\s{0,9}\S"
)
_CITES = re.compile(r"\w.*\[\d{1,3}\]")
_DATED = re.compile(r"[,(.]\s?(?:19|20)\d\d")
_MOST = 5_000
"""Most entries of a list that are read."""


class Parts(Struct, frozen=True):
    """A report without its definitions, and these."""

    body: tuple[str, ...]
    entries: tuple[Reference, ...]
    notes: dict[str, str]
    """Footnotes by label."""
    links: dict[str, Reference]
    """Markdown's link definitions by label, in lower case."""


def split(text: str) -> Parts:
    """Return the body of a report and its definitions."""
    notes: dict[str, str] = {}
    links: dict[str, Reference] = {}
    body: list[str] = []
    listed: list[str] = []
    level = 0
    """Level of the heading of the list that is read; 0 outside of one."""
    note = ""
    lines = text.splitlines()
    for at, line in enumerate(lines, 1):
        if (
            listed and line.startswith("#") and _STARTS_NUMBERED.match(line.lstrip("# "))
        ):  # a bold entry of a PDF is read as a heading
            line, level = line.lstrip("# "), level or 7
        heading = _HEADING.match(line)
        if match := _NOTE.match(line):
            note = match[1]
            notes[note] = match[2].strip()
        elif note and line.startswith(("    ", "\t")) and line.strip():
            notes[note] += f" {line.strip()}"
        elif match := _LINK_DEFINITION.match(line):
            links[match[1].lower()] = parsed(f"[{match[3]}]({match[2]})" if match[3] else match[2], match[1])
        elif (
            _TITLE.fullmatch(line.strip())
            and not URL.search(line)  # with an address it is a source line, no heading
            and any(each.strip() and not _HEADING.match(each) for each in body)  # what cites comes first
            and not _tells(lines[at:])
        ):
            level = len(heading[1]) if heading and heading[1] else 7
            listed.append("")
        elif level and heading and (len(heading[1]) if heading[1] else 7) <= level:
            level = 0
            body.append(line)
        else:
            (listed if level else body).append(line)
            note = note if not line.strip() else ""
    body, loose = _loose(body)
    return Parts(tuple(body), tuple(_entries([*listed, "", *loose])[:_MOST]), notes, links)


def _tells(lines: Sequence[str]) -> bool:
    """Return whether all lines up to the next heading are sentences, which cite or tell, rather than references."""
    section = [number_of(line) for line in takewhile(lambda line: not _HEADING.match(line), lines) if line.strip()]
    return bool(section) and all(_CITES.search(rest) or not number and _is_sentence(rest) for number, rest in section)


def _is_sentence(text: str) -> bool:
    """Return whether a line ends as a sentence, has neither date nor address, and consists of common words."""
    words = re.findall(r"[^\W\d_]+", text)
    common = sum(not each[0].isupper() for each in words)
    return (
        text.endswith((".", "!", "?", "。", "！", "？"))
        and 2 * common > len(words)
        and not any(pattern.search(text) for pattern in (_DATED, URL, DOI, LINK))
    )


def _loose(body: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the body, and the numbered entries at its end or in rows of two, which have no heading of their own."""
    where = [i for i, line in enumerate(body) if _STARTS_NUMBERED.match(line) and _like_entry(line)]
    chosen = set(_counted(body))
    for i in where:
        beside = [
            j
            for j in where
            if j != i and not any(body[k].strip() for k in range(min(i, j) + 1, max(i, j)) if k not in where)
        ]
        if beside or not any(line.strip() for line in body[i + 1 :]) or URL.search(body[i]):
            chosen.add(i)
    return [line for i, line in enumerate(body) if i not in chosen], [body[i] for i in sorted(chosen)]


def _counted(body: Sequence[str]) -> list[int]:
    """Return the lines at the end that begin with [1], [2], [3] …, if the text above them cites all these numbers."""
    said = [i for i, line in enumerate(body) if line.strip()]
    start = next((at for at in range(len(said), 0, -1) if not _STARTS_NUMBERED.match(body[said[at - 1]])), 0)
    above, tail = "\n".join(body[i] for i in said[:start]), said[start:]
    numbers = [number_of(body[i])[0] for i in tail]
    cited = all(f"[{n}]" in above for n in numbers)
    return tail if len(tail) > 1 and cited and numbers == [str(n) for n in range(1, len(tail) + 1)] else []


def _like_entry(line: str) -> bool:
    _, rest = number_of(line)
    if URL.search(rest) or DOI.search(rest) or LINK.search(rest):
        return True
    return bool(YEAR.search(rest)) and len(rest) < 400 or bool(re.match(r"[“\"《*_]", rest))


def _entries(lines: Sequence[str]) -> list[Reference]:
    """Return the entries of a list: each begins with a number or bullet, or after an empty line."""
    blocks: list[list[str]] = []
    new = True
    counts = any(number_of(line)[0] for line in lines)
    for line in lines:
        if not line.strip():
            new = True
            continue
        begins = bool(number_of(line)[0]) or bool(re.match(r"\s{0,3}[-*•]\s", line))
        if (
            begins
            or (new and not (counts and blocks and _goes_on(line)))
            or not blocks
            or not counts
            and URL.search(" ".join(blocks[-1]))
            and not _goes_on(line)
        ):
            blocks.append([line])
        else:
            blocks[-1].append(line)
        new = False
    found = []
    for block in blocks:
        label, rest = number_of(" ".join(each.strip() for each in block))
        if re.search(r"\w", rest):
            found.append(parsed(rest, label))
    return found


def _goes_on(line: str) -> bool:
    """Return whether a line is the rest of the entry above, such as its address."""
    return bool(URL.match(line.strip())) or line.startswith(("    ", "\t")) or line.strip()[:1].islower()
