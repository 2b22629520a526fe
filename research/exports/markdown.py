"""The cited report as Markdown: front matter, body, numbered references, what was checked, plots.

One file by itself: plots stand in it as data.  The body and everything quoted are foreign; nothing of them becomes HTML,
a picture that is fetched, or a link with another scheme than the web's, whatever reads the file.
"""

from __future__ import annotations

import base64
import datetime
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from research.exports.document import PLOT_BYTES, PLOTS, STATUSES, Reference, Told, checked, references
from research.exports.words import Words, words_of
from research.text import clip
from research.view import RunView

__all__ = ["PLOTS", "STATUSES", "front", "markdown", "plain", "prose"]

_PNG = b"\x89PNG\r\n\x1a\n"

# An invisible joiner parts what means something only when it stands together.  Unlike a backslash or an entity it does
# so in every dialect, within code and outside, whatever stands before it.
_JOINER = "\u2060"
_HTML = re.compile(r"<(?=[A-Za-z/!?])(?!https?://[^\s<>]*>)")
_IMAGE = re.compile(r"!(?=\[)")
_LINK = re.compile(r"(?<=\])(?=\(\s*(?!<?(?:https?://|mailto:|#))|:)", re.IGNORECASE)
"""A link to anything but the web, or the definition of one: it could also give a meaning to our `[1]`."""
_MARKUP = re.compile(r"([\\`*_\[\]<>&$~|])|^([-+#])|(?<=^\d)([.)])|(?<=^\d\d)([.)])")
_UNPRINTED = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def markdown(view: RunView) -> str:
    """One file, readable by people, static-site generators and pandoc."""
    say = words_of(view)
    parts = [
        _front(view),
        f"# {plain(clip(' '.join(view.question.split()), 200))}",
        _closed(prose(view.report.strip())),
        _section(say("References"), [_reference(each) for each in references(view, say)]),
        _section(say("Checked"), [_told(each) for each in checked(view, say)]),
        _section(say("Plots"), _plots(view.images, say)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def prose(text: str) -> str:
    """Markdown of a model: emphasis, lists, tables, code and web links stay, the rest shows as it was written."""
    return _LINK.sub(_JOINER, _IMAGE.sub(f"!{_JOINER}", _HTML.sub(f"<{_JOINER}", text)))


def _closed(text: str) -> str:
    """The same, with its last code block closed: an open one would swallow the references."""
    if "```" not in text and "~~~" not in text:
        return text
    from markdown_it import MarkdownIt

    last = MarkdownIt("commonmark").parse(f"{text}\n\n# Next")[-1]
    return f"{text}\n{last.markup}" if last.type == "fence" else text


def plain(text: str) -> str:
    """Text on one line that shows as it was written."""
    return _MARKUP.sub(lambda match: f"\\{match.group()}", " ".join(text.split()))


def _front(view: RunView) -> str:
    started = datetime.datetime.fromtimestamp(view.started, datetime.UTC)
    statuses = Counter(citation.status for citation in view.citations)
    values = {
        "title": view.question,
        "date": started.isoformat(timespec="seconds"),
        "run": view.run,
        "framework": view.recipe.framework,
        "context": view.recipe.context,
        "model": view.recipe.model,
        "recipe": view.recipe.hash,
        "status": view.status,
        "outcome": view.outcome,
        "rounds": view.round_count(),
        "model_calls": view.model_calls,
        "tool_calls": view.tool_calls,
        "prompt_tokens": view.prompt_tokens,
        "completion_tokens": view.completion_tokens,
        "tokens_estimated": view.estimated,
        "cost_usd": view.cost_usd,
        "seconds": round(view.seconds, 1),
        "citations": {status: statuses[status] for status in STATUSES},
    }
    return front(values)


def front(values: Mapping[str, object]) -> str:
    """Front matter, whatever the values hold."""
    # A JSON value is a YAML value, but for the characters that YAML wants written as numbers.
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items())
    return "---\n" + _UNPRINTED.sub(lambda match: f"\\u{ord(match.group()):04x}", "\n".join(lines)) + "\n---"


def _section(heading: str, parts: Sequence[str]) -> str:
    return "\n\n".join([f"## {heading}", *parts]) if parts else ""


def _reference(each: Reference) -> str:
    """Number, title, address and how the statements that cite it stand; the quote; what it does not support."""
    verdict = f" — {each.verdict}" if each.verdict else ""
    quote = "  \n".join(f"> {plain(line)}" for line in each.quote)
    doubts = "\n".join(f"- {plain(doubt)}" for doubt in each.doubts)
    address = f" {_address(each.address)}" if each.address else ""
    head = f"[{each.n}] {plain(each.title)}.{address}{verdict}"
    return "\n\n".join(filter(None, [f"{head}\n{quote}".rstrip(), doubts]))


def _told(told: Told) -> str:
    items = "\n".join(f"- {_code(item) if told.addresses else plain(item)}" for item in told.items)
    return f"{told.text}\n\n{items}".rstrip()


def _plots(images: Sequence[bytes], say: Words) -> list[str]:
    """The plots as pictures that carry their own data."""
    drawn: list[str] = []
    room = PLOT_BYTES
    for image in images:
        if image.startswith(_PNG) and len(image) <= room and len(drawn) < PLOTS:
            room -= len(image)
            drawn.append(
                f"![{say('Plot {n}', n=len(drawn) + 1)}](data:image/png;base64,{base64.b64encode(image).decode()})"
            )
    left = len(images) - len(drawn)
    told = say("{count} not shown here: too large, too many, or no PNG.", count=say.count(left, "plot"))
    return [*drawn, *([told] if left else [])]


def _address(url: str) -> str:
    """A link where it leads to the web or into the library; text that does nothing otherwise."""
    return f"<{url}>" if re.fullmatch(r"(?:https?|library)://[^\s<>\x00-\x20\x7f]+", url) else _code(url)


def _code(text: str) -> str:
    return f"`{' '.join(text.replace('`', chr(0x2019)).split())}`"
