"""Escaping of foreign text: what models, pages and users wrote never becomes an image, an icon or a formula.

All Markdown that the workbench did not write itself goes through one of these two functions. Streamlit escapes HTML
by itself; `unsafe_allow_html` is never used.
"""

from __future__ import annotations

import re

_JOINER = "\u2060"  # invisible; separates characters that have a meaning only together
_IMAGE = re.compile(r"!\[([^\[\]]*)\](?=\()")
_WEB = r"<?(?:https?://|mailto:|#|\Z)"  # the end, where an address or code was cut off
_LINK = re.compile(rf"\](?=[(:]\s*(?!\s|{_WEB}))|<(?=[a-z][a-z\d+.-]+:(?<!http:)(?<!https:)(?<!mailto:))", re.I)
"""The start of a link to anything but the web, or of a link definition."""
_FENCE = re.compile(r"^([ \t>*+\-\d.)]*```+)[^`\n]*$", re.M)
_DIRECTIVE = re.compile(r":(?=[\w+\-/]+[:\[{])|:(?=:{1,9}\w)")
_AS_IS = re.compile(
    r"^[ \t]*```.*?(?:^[ \t]*```[ \t]*$|\Z)|(?<![`\\])(`+)(?!`)[^\n]+?(?<!`)\1(?!`)|https?://[^\s<>()\[\]]+",
    re.M | re.S,
)
"""Fenced code, inline code and addresses, where a backslash would show."""
_SPECIAL = re.compile(rf"(?<!\\)\\*([$~]|:(?={_JOINER}))")
_MARKUP = re.compile(rf"([\\`*_\[\]<>#|~$!(){{}}&]|:(?={_JOINER}))|^([+-])|(?<=^\d)([.)])|(?<=^\d\d)([.)])")


def prose(text: str) -> str:
    """Escape Markdown from a model or a page: emphasis, lists, tables, links and code stay, the rest shows literally.

    An image becomes a link, because Streamlit would fetch it. A dollar sign is money, not LaTeX; a tilde means
    "about", not strike-through; `:red[…]`, `:material/…:` and Mermaid fences are reserved for the app.
    """
    text = _IMAGE.sub(lambda match: f"[image: {match[1]}]" if match[1].strip() else "[image]", text)
    text = text.replace("![", f"!{_JOINER}[")
    # Both are needed: the joiner prevents icons and emoji, a backslash keeps the brackets.
    text = _DIRECTIVE.sub(f":{_JOINER}", _FENCE.sub(r"\1", text))
    pieces, position = [], 0
    for kept in _AS_IS.finditer(text):
        pieces += [_quiet(text[position : kept.start()]), kept.group()]
        position = kept.end()
    return "".join([*pieces, _quiet(text[position:])])


def _quiet(text: str) -> str:
    """Escape text outside code and addresses."""
    return _SPECIAL.sub(r"\\\1", _LINK.sub(rf"\g<0>{_JOINER}", text))


def plain(text: str) -> str:
    """Escape one line of text so that it shows literally wherever Streamlit accepts Markdown: titles, labels, errors."""
    line = _DIRECTIVE.sub(f":{_JOINER}", " ".join(text.split()))
    return _MARKUP.sub(lambda match: f"\\{match.group()}", line)
