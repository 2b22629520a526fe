"""Escaping of foreign text: what models, pages and users wrote never becomes an image, an icon or a formula.

All Markdown that the workbench did not write itself goes through one of these two functions. Streamlit escapes HTML
by itself; `unsafe_allow_html` is never used.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

_JOINER = "\u2060"  # invisible; separates characters that have a meaning only together
_IMAGE = re.compile(r"!\[([^\[\]]*)\](?=\()")
_WEB = r"<?(?:https?://|mailto:|#)"
_LINK = rf"\](?=[(:]\s*(?!\s|{_WEB}))|<(?!https?://|mailto:)(?=[a-z][a-z\d+.-]+:)"
"""The start of a link to anything but the web, or of a link definition."""
_BRACKETS = 2_000
"""Most `[` of a text that is parsed: the time grows with their square."""
_FENCE = re.compile(r"^([ \t>*+\-\d.)]*```+)[^`\n]*$", re.M)
_DIRECTIVE = re.compile(r":(?=[\w+\-/]+[:\[{])|:(?=:{1,9}\w)")
_AS_IS = r"^[ \t]*```.*?(?:^[ \t]*```[ \t]*$|\Z)|(?<![`\\])(?P<ticks>`+)(?!`)[^\n]+?(?<!`)(?P=ticks)(?!`)|https?://[^\s<>()\[\]]+"
"""Fenced code, inline code and addresses, where a backslash would show."""
_SPECIAL = rf"(?<!\\)\\*(?P<mark>[$~]|:(?={_JOINER}))"
_PROSE = re.compile(rf"(?P<as_is>{_AS_IS})|(?P<link>{_LINK})|{_SPECIAL}", re.I | re.M | re.S)
_CODE_TOO = re.compile(rf"(?P<as_is>(?!))|(?P<link>{_LINK})|{_SPECIAL}", re.I)
_ANY_LINK = re.compile(_LINK, re.I)
_MARKUP = re.compile(rf"([\\`*_\[\]<>#|~$!(){{}}&]|:(?={_JOINER}))|^([+-])|(?<=^\d)([.)])|(?<=^\d\d)([.)])")
_ADDRESS = re.compile(r"(https?)(://)|(?<!\w)(www)(\.)", re.I)


def prose(text: str) -> str:
    """Escape Markdown from a model or a page: emphasis, lists, tables, links and code stay, the rest shows literally.

    An image becomes a link, because Streamlit would fetch it. A dollar sign is money, not LaTeX; a tilde means
    "about", not strike-through; `:red[…]`, `:material/…:` and Mermaid fences are reserved for the app.
    """
    text = _IMAGE.sub(lambda match: f"[image: {match[1]}]" if match[1].strip() else "[image]", text)
    text = text.replace("![", f"!{_JOINER}[")
    # Both are needed: the joiner prevents icons and emoji, a backslash keeps the brackets.
    text = _DIRECTIVE.sub(f":{_JOINER}", _FENCE.sub(r"\1", text))
    found = _PROSE.sub(_quiet, text)
    # The pattern for code knows only some of Markdown's rules, so a link may hide in what it takes for code.
    doubtful = any(_ANY_LINK.search(kept) for kept in (match["as_is"] for match in _PROSE.finditer(text)) if kept)
    return _CODE_TOO.sub(_quiet, text) if doubtful and not _only_web_links(found) else found


def _only_web_links(text: str) -> bool:
    """Return whether all links of the Markdown lead to the web; False also for a text that takes long to parse."""
    if text.count("[") > _BRACKETS:
        return False
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # it would hide links instead of telling of them
    tokens = [inner for token in parser.parse(text) for inner in token.children or ()]
    return all(re.match(_WEB, str(token.attrs["href"]), re.I) for token in tokens if token.type == "link_open")


def _quiet(match: re.Match[str]) -> str:
    """Return what a match becomes: code and addresses stay, and links and special characters show literally."""
    if match["as_is"]:
        return match["as_is"]
    return f"{match['link']}{_JOINER}" if match["link"] else f"\\{match['mark']}"


def plain(text: str) -> str:
    """Escape one line of text so that it shows literally wherever Streamlit accepts Markdown: titles, labels, errors."""
    line = _DIRECTIVE.sub(f":{_JOINER}", " ".join(text.split()))
    line = _MARKUP.sub(lambda match: f"\\{match.group()}", line)
    # An address that is recognized before the backslashes are read would contain them.
    return _ADDRESS.sub(lambda match: f"{match[1] or match[3]}\\{match[2] or match[4]}", line)
