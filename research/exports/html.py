"""The cited report as one HTML file: no scripts, nothing fetched, with light, dark and print styles.

Untrusted text passes two barriers: the tree of `blocks` contains nothing active and all text is escaped; then nh3 (the Rust
library ammonia) removes everything but the listed elements.  A content security policy in the file forbids the rest.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape
from pathlib import Path
from string import Template

from research.citations.marks import SYMBOLS
from research.events.view import RunView
from research.exports import formulas
from research.exports.blocks import Block, Code, Heading, Items, Paragraph, Quote, Rule, Span, Table, is_task
from research.exports.csl_json import web
from research.exports.document import STATUSES, Document, Note, Reference, compose
from research.exports.labels import Words
from research.exports.right_to_left import runs_backwards

LONGEST = 600_000
"""Maximum characters of a report; parsing a megabyte takes seconds."""
_ALLOWED = {
    "a": {"href", "class", "title"},
    "abbr": {"title", "class"},
    "li": {"id", "value", "class"},
    "ol": {"start"},
    "td": {"class", "dir"},
    "th": {"class", "dir"},
    "div": {"class"},
    "p": {"class", "dir"},
    "section": {"class"},
    "code": {"class"},
    **{tag: set(formulas.ATTRIBUTES) for tag in formulas.PARTS},
    "math": {"display"},
    **dict.fromkeys(("h2", "h3", "h4", "h5", "h6"), {"dir"}),
    **dict.fromkeys(
        (
            "ul",
            "blockquote",
            "pre",
            "hr",
            "br",
            "strong",
            "em",
            "s",
            "table",
            "thead",
            "tbody",
            "tr",
            "cite",
            "bdi",
        ),
        set(),
    ),
}
_SPAN_TAGS = (("code", "code"), ("strike", "s"), ("italic", "em"), ("bold", "strong"))


def html(view: RunView) -> str:
    """Return a self-contained file."""
    import nh3

    document = compose(view, LONGEST)
    # Pictures bypass the sanitiser, which removes them; ours are drawn or re-encoded here.
    body = "".join(
        part
        if part.startswith("<img ")
        else nh3.clean(
            part,
            tags=set(_ALLOWED),
            attributes={tag: names for tag, names in _ALLOWED.items() if names},
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener noreferrer",
            strip_comments=True,
        )
        for part in _body(document)
    )
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in document.facts)
    here = Path(__file__).with_name("report.html")
    return Template(here.read_text("utf-8")).substitute(
        language="zh-CN" if document.say.language == "zh" else "en",
        title=escape(document.title),
        body=body,
        facts=rows,
        about=escape(document.say("How it was made")),
        plots=_plots(document),
    )


def _body(document: Document) -> list[str]:
    """Return the parts of the file; those that begin with `<img ` are pictures of ours."""
    say = document.say
    parts = [f'<section class="report">{_blocks(document.body, document)}{_aside(document.left)}</section>']
    for each in document.charts:
        picture = base64.b64encode(each.picture).decode()
        parts.append(f"<h3>{escape(each.title)}</h3>")
        parts.append(f'<img alt="{escape(each.told)}" src="data:image/png;base64,{picture}">')
        parts.append(_table(each.table, document) if each.table else "")
    if document.references:
        rows = "".join(_reference(each) for each in document.references)
        parts.append(_section(say("References"), f"<ol>{rows}</ol>", "references"))
    if document.checked:
        parts.append(_section(say("Checked"), "".join(map(_checked, document.checked)), "checked"))
    return parts


def _section(heading: str, content: str, name: str) -> str:
    return f'<section class="{name}"><h2>{escape(heading)}</h2>{content}</section>'


def _aside(text: str) -> str:
    return f'<p class="told">{escape(text)}</p>' if text else ""


def _blocks(blocks: Iterable[Block], document: Document) -> str:
    return "".join(_block(block, document) for block in blocks)


def _block(block: Block, document: Document) -> str:
    match block:
        case Heading(level=level, spans=spans):
            return f"<h{min(level + 1, 6)}{_direction(spans)}>{_spans(spans, document)}</h{min(level + 1, 6)}>"
        case Paragraph(spans=spans):
            # a formula wider than the page scrolls, like a table
            look = ' class="wide"' if len(spans) == 1 and spans[0].formula == "display" else ""
            return f"<p{look}{_direction(spans)}>{_spans(spans, document)}</p>"
        case Code(text=text, language=language):
            look = f' class="language-{language}"' if language else ""
            return f"<pre><code{look}>{escape(text)}</code></pre>"
        case Rule():
            return "<hr>"
        case Quote(blocks=blocks):
            return f"<blockquote>{_blocks(blocks, document)}</blockquote>"
        case Items(items=items, start=start):
            looks = (' class="task"' if is_task(item) else "" for item in items)
            rows = "".join(f"<li{look}>{_blocks(item, document)}</li>" for look, item in zip(looks, items, strict=True))
            return f"<ul>{rows}</ul>" if start is None else f'<ol start="{start}">{rows}</ol>'
        case Table():
            return _table(block, document)


def _table(table: Table, document: Document) -> str:
    def row(cells: Iterable[tuple[Span, ...]], tag: str) -> str:
        looks = ["" if align == "left" else f' class="{align}"' for align in table.align]
        inside = (
            f"<{tag}{look}{_direction(cell)}>{_spans(cell, document)}</{tag}>"
            for cell, look in zip(cells, looks, strict=True)
        )
        return f"<tr>{''.join(inside)}</tr>"

    rows = "".join(row(cells, "td") for cells in table.rows)
    # the box scrolls if the table is wider than the page
    return f'<div class="wide"><table><thead>{row(table.head, "th")}</thead><tbody>{rows}</tbody></table></div>'


def _direction(spans: Iterable[Span]) -> str:
    return ' dir="rtl"' if runs_backwards("".join(span.text for span in spans)) else ""


def _spans(spans: Iterable[Span], document: Document) -> str:
    return "".join(_span(span, document) for span in spans)


def _span(span: Span, document: Document) -> str:
    if span.cites:
        return _mark(span, document)
    if span.unsourced:
        return f'<abbr class="partial" title="{escape(document.say("without a source"))}">{escape(span.text)}</abbr>'
    made = formulas.formula(span.text, span.formula == "display") if span.formula else None
    text = _formula(made, span.formula == "display") if made else escape(span.text).replace("\n", "<br>")
    for name, tag in _SPAN_TAGS:
        text = f"<{tag}>{text}</{tag}>" if getattr(span, name) else text
    return f'<a href="{escape(span.href)}">{text}</a>' if span.href else text


def _formula(sign: formulas.Sign, display: bool) -> str:
    """Return a formula as MathML, which every browser draws."""
    looks = "".join(f' {name}="{escape(value)}"' for name, value in formulas.attributes(sign, display))
    inner = escape(sign.text) + "".join(_formula(each, False) for each in sign.inner)
    return f"<{sign.tag}{looks}>{inner}</{sign.tag}>"


def _mark(span: Span, document: Document) -> str:
    """Return `[n]` with its verdict, as a link to the reference if there is one."""
    say: Words = document.say
    verdict = say(STATUSES[span.status]) if span.status else ""
    sign = f'<abbr class="{span.status}" title="{escape(verdict)}">{SYMBOLS[span.status]}</abbr>' if verdict else ""
    if span.cites in document.numbers:
        return f'<a class="mark" href="#source-{span.cites}">{escape(span.text)}</a>{sign}'
    return f'<code class="mark">{escape(span.text)}</code>{sign}'


def _address(url: str) -> str:
    return f'<a href="{escape(url)}">{escape(url)}</a>' if web(url) else f"<code>{escape(url)}</code>"


def _reference(each: Reference) -> str:
    address = "".join(f" {_address(url)}" for url in each.addresses)
    verdict = f'<p class="verdict">{escape(each.verdict)}</p>' if each.verdict else ""
    quote = f"<blockquote>{'<br>'.join(map(escape, each.quote))}</blockquote>" if each.quote else ""
    doubts = "".join(f"<li>{escape(doubt)}</li>" for doubt in each.doubts)
    return (
        f'<li id="source-{each.n}" value="{each.n}"><p><cite>{escape(each.title)}</cite>{address}</p>'
        f"{quote}{verdict}{_aside(each.notes)}{f'<ul>{doubts}</ul>' if doubts else ''}</li>"
    )


def _checked(note: Note) -> str:
    tag = "code" if note.addresses else "bdi"
    items = "".join(f"<li><{tag}>{escape(item)}</{tag}></li>" for item in note.items)
    return f"<p>{escape(note.text)}</p>" + (f"<ul>{items}</ul>" if items else "")


def _plots(document: Document) -> str:
    """Return the plots, which bypass the sanitiser because it removes pictures; `sanitized` has re-encoded them."""
    say = document.say
    if not document.plots and not document.plots_left:
        return ""
    pictures = "".join(
        f'<p><img alt="{escape(say("Plot {n}", n=n))}" src="data:image/png;base64,{base64.b64encode(plot).decode()}"></p>'
        for n, plot in enumerate(document.plots, 1)
    )
    return _section(say("Plots"), pictures + _aside(document.plots_left), "plots")
