"""The cited report as Markdown: front matter, body, numbered references, checks, plots.

The file is self-contained: plots are data URLs.  The body and all quotes are untrusted; no Markdown dialect turns them
into HTML, fetched pictures, or links outside the web.
"""

from __future__ import annotations

import base64
import datetime
import json
import re
from collections.abc import Iterable, Mapping, Sequence

from research.events.view import RunView, without_quotes
from research.exports.blocks import UNSEEN
from research.exports.charts import headline
from research.exports.document import Note, Reference, checked, left, plots, references
from research.exports.labels import Words, words_of
from research.exports.numbering import by_first_use
from research.text import clip

# An invisible joiner separates characters that are markup only together.  Unlike a backslash or an entity, it works in
# every dialect, inside and outside code, and after any character.
_JOINER = "\u2060"
_HTML = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>]*>)")
_IMAGE = re.compile(r"!(?=\[)")
_LINK = re.compile(r"(?<=\])(?=\(\s*(?!<?(?:https?://|mailto:|#))|:)", re.IGNORECASE)
"""A link outside the web, or a link definition, which could also redefine a citation mark such as `[1]`."""
_FENCE = re.compile(r"^([ \t>*+\-\d.)]{0,60})(`{3,}(?=[^`\n]*$)|~{3,})[^\n]*$", re.M)
"""The first line of a code block: after it, a viewer may draw what the block contains, such as a diagram."""
_CONTAINER = re.compile(r"::(?=:)")
_MAILBOX = re.compile(r"(mailto:)?([\w.+-]{1,64})@(?=[\w-]{1,63}\.)")
"""A mail address, which a viewer would link; explicit links were checked before."""
_NOTE = re.compile(r"(\[\^[^\]\s]{1,60}\]):[ \t]+[\w*][^\s:/<]{0,60}[ \t]+[\w*]")
"""The beginning of a footnote of two or more words, which no dialect takes for a link definition."""
_MARKUP = re.compile(r"([\\`*_\[\]<>&$~|])|^([-+#])|(?<=^\d)([.)])|(?<=^\d\d)([.)])")
_UNPRINTED = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def markdown(view: RunView) -> str:
    """Return a file for people, static-site generators and pandoc."""
    say, view = words_of(view), by_first_use(view)
    parts = [
        _front(view),
        f"# {plain(clip(' '.join(view.question.split()), 200))}",
        f"**{say('Answer:')}** {plain(headline(view))}" if view.short else "",
        _closed(prose(without_quotes(view).strip())),
        _section(say("References"), [_reference(each) for each in references(view, say)]),
        _section(say("Checked"), [_note(each) for each in checked(view, say)]),
        _section(say("Plots"), _plots(view.images, say)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def prose(text: str) -> str:
    """Keep the emphasis, lists, tables, code and web links of a model's Markdown; show all other markup literally."""
    text = _FENCE.sub(lambda match: match[1] + match[2], UNSEEN.sub("", text))
    inert = _IMAGE.sub(f"!{_JOINER}", _HTML.sub(f"<{_JOINER}", text))
    inert = _CONTAINER.sub(f":{_JOINER}:", inert)
    inert = _MAILBOX.sub(lambda match: match[0] if match[1] else f"{match[2]}{_JOINER}@", inert)
    return _LINK.sub(lambda match: "" if _is_note(inert, match.start()) else _JOINER, inert)


def _is_note(text: str, end: int) -> bool:
    """Return whether the label ending there begins a footnote."""
    start = text.rfind("[^", max(0, end - 64), end)
    found = _NOTE.match(text, start) if start >= 0 and text[start - 1 : start] in ("", "\n") else None
    return found is not None and found.end(1) == end


def _closed(text: str) -> str:
    """Close the last code block, because an open one would swallow the references."""
    if "```" not in text and "~~~" not in text:
        return text
    from markdown_it import MarkdownIt

    last = MarkdownIt("commonmark").parse(f"{text}\n\n# Next")[-1]
    return f"{text}\n{last.markup}" if last.type == "fence" else text


def plain(text: str) -> str:
    """Escape text so that it shows literally, on one line."""
    return _MARKUP.sub(lambda match: f"\\{match.group()}", " ".join(UNSEEN.sub("", text).split()))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the cells must be Markdown already."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))


def _front(view: RunView) -> str:
    started = datetime.datetime.fromtimestamp(view.started, datetime.UTC)
    values = {
        "title": prose(view.question),
        "date": started.isoformat(timespec="seconds"),
        **({"follows": prose(view.earlier.exchanges[-1].question)} if view.earlier else {}),
        "run": view.run,
        "framework": view.recipe.framework,
        "context": view.recipe.context,
        "model": view.recipe.model,
        "recipe": view.recipe.hash,
        "status": view.status,
        "outcome": view.outcome,
        **({"answer": prose(view.short)} if view.short else {}),
        **({"parts": [{"text": prose(p.text), "status": p.status} for p in view.parts]} if view.parts else {}),
        "rounds": view.round_count(),
        "model_calls": view.model_calls,
        "tool_calls": view.tool_calls,
        "prompt_tokens": view.prompt_tokens,
        "completion_tokens": view.completion_tokens,
        "tokens_estimated": view.estimated,
        "cost_usd": view.cost_usd,
        "seconds": round(view.seconds, 1),
        **({} if view.sent is None else {"left_this_machine": left(view.sent, Words("en"))}),
        "citations": dict(view.verdicts),
    }
    return front(values)


def front(values: Mapping[str, object]) -> str:
    """Return YAML front matter; values may contain any characters."""
    # JSON values are YAML values, except for some characters that YAML requires as escapes.
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items())
    return "---\n" + _UNPRINTED.sub(lambda match: f"\\u{ord(match.group()):04x}", "\n".join(lines)) + "\n---"


def _section(heading: str, parts: Sequence[str]) -> str:
    return "\n\n".join([f"## {heading}", *parts]) if parts else ""


def _reference(each: Reference) -> str:
    """Format number, title, address and verdict, then quote, notes and the statements that it does not support."""
    verdict = f" — {each.verdict}" if each.verdict else ""
    quote = "  \n".join(f"> {plain(line)}" for line in each.quote)
    doubts = "\n".join(f"- {plain(doubt)}" for doubt in each.doubts)
    notes = plain(each.notes)
    address = "".join(f" {_address(url)}" for url in each.addresses)
    head = f"[{each.n}] {plain(each.title)}.{address}{verdict}"
    return "\n\n".join(filter(None, [f"{head}\n{quote}".rstrip(), notes, doubts]))


def _note(note: Note) -> str:
    items = "\n".join(f"- {_code(item) if note.addresses else plain(item)}" for item in note.items)
    return f"{note.text}\n\n{items}".rstrip()


def _plots(images: Sequence[bytes], say: Words) -> list[str]:
    """Return the plots as data URLs, and a note on those left out."""
    drawn, note = plots(images, say)
    urls = (f"data:image/png;base64,{base64.b64encode(image).decode()}" for image in drawn)
    return [*(f"![{say('Plot {n}', n=n)}]({url})" for n, url in enumerate(urls, 1)), *filter(None, [note])]


def _address(url: str) -> str:
    """Format an address as a link if it leads to the web, else as inert text."""
    return f"<{url}>" if re.fullmatch(r"https?://[^\s<>\x00-\x20\x7f]+", url) else _code(url)


def _code(text: str) -> str:
    return f"`{' '.join(text.replace('`', chr(0x2019)).split())}`"
