"""Prompts that every run uses, one file per name and language (`NAME.en.md`); a recipe records a hash of all prompts.

A framework's own prompts are in `prompts/` beside its file.  Questions to the user are in `to_user/` and not in the
hash, because no model reads them; prompts of runs with a plan are in `plan/`, and in the hash of those runs.  May
import `plugins`, `types` and `errors`."""

from __future__ import annotations

import datetime
import hashlib
import re
from functools import cache
from pathlib import Path

from research import plugins
from research.errors import ConfigError

_FOLDERS = (Path(__file__).parent, Path(__file__).parents[1] / "frameworks" / "prompts")
_TAG = re.compile(
    r"<(?=\s{0,3}/?\s{0,3}(?:earlier|recalled|plan|think(?:ing)?|tool_call|tool_response|report|previous_research_summary|"
    r"action|answer)\b)",
    re.I,
)
_SLOT = re.compile(r"\{\{(\w+)\}\}")


def text(name: str, language: str, **values: str) -> str:
    """Return the prompt with its `{{slots}}` filled; braces inside a value are not slots."""
    return _SLOT.sub(lambda match: values[match.group(1)], _read(name, language))


def system(name: str, calling: str, language: str, *, tools: str) -> str:
    """Return a framework's system prompt: role and rules, the date, and how to call tools.

    `calling` is the protocol, or `must_act` for native calls of which one is the answer.
    """
    return text(name, language, date=today(), calling=text(f"calling_{calling}", language, tools=tools))


def quoted(tag: str, text: str) -> str:
    """Return the text between two tags, escaped so that it cannot close them or imitate our other tags."""
    return f"<{tag}>\n{escape(text)}\n</{tag}>"


def escape(text: str) -> str:
    """Escape our tags inside foreign text, so that a web page cannot close its own quotation."""
    return _TAG.sub("&lt;", text)


def fence(text: str) -> str:
    """Return a line to put before and after a text that it cannot contain: no text contains its own digest."""
    return f"====={hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:12]}====="


def today() -> str:
    """Return the date as prompts state it."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


@cache
def digest(*further: str) -> str:
    """Return twelve hex digits that change with any prompt for all runs or in the `further` folders."""
    folders = (*_FOLDERS, *(_FOLDERS[0] / name for name in further))
    files = sorted((path for folder in folders for path in folder.glob("*.md")), key=lambda path: path.name)
    content = b"".join(path.read_bytes() for path in files)
    return hashlib.sha256(content).hexdigest()[:12]


@cache
def _read(name: str, language: str) -> str:
    file = f"{name}.{language}.md"
    folders = [*_FOLDERS, *(each.folder / "prompts" for each in plugins.framework.loaded())]
    found = next((folder / file for folder in folders if (folder / file).is_file()), None)
    if found is None:
        raise ConfigError(f"no prompt {file!r}; a framework's own prompts are files in prompts/ beside its file")
    return found.read_text(encoding="utf-8").strip()
