"""The title and the front matter of a Markdown file: fields between lines of dashes or plus signs, not part of its text."""

from __future__ import annotations

import re

_FRONT = re.compile(r"(---|\+\+\+)[ \t]*\n(.{0,20000}?)\n(?:\1|\.\.\.)[ \t]*(?:\n|$)", re.S)
_FIELDS = {
    "---": re.compile(r"([A-Za-z][\w-]{0,60}):(?:[ \t]+(.*)|[ \t]*)"),
    "+++": re.compile(r"([A-Za-z][\w-]{0,60})[ \t]{0,9}=[ \t]{0,9}(.*)"),
}
"""A field of YAML, and one of TOML."""
_HEADING_IN = 20_000
"""Characters searched for the first heading."""


def split(text: str) -> tuple[str, str]:
    """Return the title and the text; the other fields of the front matter become the first line.

    The title is that of the front matter, or else the first heading of the first level; it may be empty.
    """
    found = _FRONT.match(text)
    fields = _fields(found[2], _FIELDS[found[1]]) if found else {}
    if not found or not fields:
        return _heading(text), text
    body = text[found.end() :].lstrip("\n")
    title = ", ".join(fields.pop("title", []))
    line = "; ".join(f"{name}: {', '.join(values)}" for name, values in fields.items() if values)
    return title or _heading(body), "\n\n".join(filter(None, [line, body]))


def _fields(front: str, form: re.Pattern[str]) -> dict[str, list[str]]:
    """Return the values of each field; empty if the lines are text between two rules, not fields."""
    fields: dict[str, list[str]] = {}
    values: list[str] | None = None
    for line in front.splitlines():
        field = form.fullmatch(line.rstrip())
        if field:
            values = fields.setdefault(field[1].lower(), [])
            written = (field[2] or "").strip()
            parts = written[1:-1].split(",") if written[:1] == "[" and written[-1:] == "]" else [written]
            values += filter(None, map(_plain, parts if written not in ("|", ">", "|-", ">-") else []))
        elif values is not None and (not line.strip() or line[0] in " \t-#"):
            values += filter(None, [_plain(line.strip().removeprefix("- "))])
        elif not line.lstrip().startswith("#") and line.strip():
            return {}
    return fields


def _plain(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _heading(text: str) -> str:
    """Return the first heading of the first level, marked by `#` or underlined with `===`."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").disable("inline").parse(text[:_HEADING_IN])
    headings = (
        tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h1"
    )
    return next(headings, "")
