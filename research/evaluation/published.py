"""Rows of published datasets, as their authors distribute them; a format is recognised by its columns.

The user brings the file; nothing is downloaded.  BrowseComp and xbench publish their rows encrypted, so that they do not end
up in training data: base64 of the text XOR a key.  BrowseComp's key is the SHA-256 of the row's canary, xbench's the canary.
"""

from __future__ import annotations

import ast
import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from itertools import cycle
from typing import Any, Final

import msgspec
from msgspec import Struct

from research.errors import ConfigError
from research.evaluation.questions import Question

Record = Mapping[str, Any]
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_LINKS: Final = 20
"""Most columns `wikipedia_link_N` of FRAMES."""


class Format(Struct, frozen=True):
    """A published dataset."""

    name: str
    columns: tuple[str, ...]
    """Lower-case columns; a file of this format has all."""
    read: Callable[[Record, str], Question]
    """Reads a record, whose keys are in lower case; the second argument names it in errors."""

    skips: Callable[[Record], str] = lambda record: ""
    """Returns why a record is left out; empty if it is read."""

    def fits(self, columns: Collection[str]) -> bool:
        return set(self.columns) <= set(columns)


def published(columns: Collection[str]) -> Format | None:
    """Return the format of a file with these columns, in any case; None if it is not a published one."""
    names = {column.strip().lower() for column in columns}
    return next((each for each in FORMATS if each.fits(names)), None)


def accepted() -> str:
    """Return the formats in one line, for errors."""
    others = "; ".join(f"{each.name} ({', '.join(each.columns)})" for each in FORMATS)
    return (
        "accepted are our own columns (question with answer, answers or value), HotpotQA (question, answer, context, "
        f"supporting_facts), SQuAD (qas or paragraphs), and {others}"
    )


def _simpleqa(record: Record, where: str) -> Question:
    topic = re.search(r"""['"]topic['"]:\s*['"]([^'"]+)""", str(record["metadata"]))
    return _question(record, where, "problem", "answer", kind=topic[1].strip() if topic else "")


def _browsecomp(record: Record, where: str) -> Question:
    key = hashlib.sha256(_text(record, "canary", where).encode()).digest()
    plain = _decrypted(record, ("problem", "answer"), key, where)
    return _question(plain, where, "problem", "answer", kind=_said(record, "problem_topic"))


def _xbench(record: Record, where: str) -> Question:
    plain = _decrypted(record, ("prompt", "answer"), _text(record, "canary", where).encode(), where)
    return _question(plain, where, "prompt", "answer", kind=_said(record, "type"))


def _gaia(record: Record, where: str) -> Question:
    hidden = str(record["final answer"]).strip() == "?"  # from the test split, whose answers are not published
    plain = {**record, "final answer": ""} if hidden else record
    kind = f"level {record['level']}".strip() if record.get("level") not in (None, "") else ""
    return _question(plain, where, "question", "final answer", key="task_id", kind=kind)


def _frames(record: Record, where: str) -> Question:
    links = [str(record.get(f"wikipedia_link_{number}") or "") for number in range(1, _LINKS)]
    links += _listed(record.get("wiki_links"))
    gold = tuple(dict.fromkeys(link.strip() for link in links if link.strip().startswith("http")))
    return _question(record, where, "prompt", "answer", gold=gold, kind=_said(record, "reasoning_types"))


def _deep_research_bench(record: Record, where: str) -> Question:
    reference = str(record.get("article") or record.get("reference") or "").strip()
    return _question(record, where, "prompt", "", kind=_said(record, "topic"), reference=reference)


def _draco(record: Record, where: str) -> Question:
    rubric = record["answer"]
    try:
        found = msgspec.json.decode(rubric) if isinstance(rubric, str) else rubric
        lines = [
            f"{each['weight']:+g} {each['requirement']}" for part in found["sections"] for each in part["criteria"]
        ]
    except (msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"{where}: answer of DRACO must be JSON with sections of criteria, each with weight and requirement"
        ) from error
    return _question(record, where, "problem", "", kind=_said(record, "domain"), rubric="\n".join(lines))


def _needs_file(record: Record) -> str:
    return "needs an attached file" if _said(record, "file_name") else ""


FORMATS: Final = (
    Format("BrowseComp", ("problem", "answer", "canary"), _browsecomp),
    Format("DRACO", ("problem", "answer", "domain"), _draco),
    Format("SimpleQA", ("problem", "answer", "metadata"), _simpleqa),
    Format("xbench", ("prompt", "answer", "canary"), _xbench),
    Format("GAIA", ("task_id", "question", "final answer"), _gaia, _needs_file),
    Format("FRAMES", ("prompt", "answer", "reasoning_types"), _frames),
    Format("DeepResearch Bench", ("id", "prompt", "topic", "language"), _deep_research_bench),
    Format("DeepResearch Bench reports", ("id", "prompt", "article"), _deep_research_bench),
)
"""More specific formats come first: BrowseComp and SimpleQA share two columns."""


def _question(record: Record, where: str, asks: str, answer: str, *, key: str = "id", **more: Any) -> Question:
    """Return a question of the columns `asks` and `answer`; its id is in `key`, or made from the question.

    `more` are other fields of it.
    """
    asked = _text(record, asks, where)
    given = str(record[answer]).strip() if answer and record.get(answer) is not None else ""
    named = record.get(key)
    known = ("" if named is None else str(named).strip()) or f"q-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"
    return Question(known, asked, (given,) if given else (), canary=_said(record, "canary"), **more)


def _said(record: Record, column: str) -> str:
    return str(record.get(column) or "").strip()


def _text(record: Record, column: str, where: str) -> str:
    found = record.get(column)
    if not isinstance(found, str) or not found.strip():
        raise ConfigError(f"{where} has no {column}")
    return found.strip()


def _decrypted(record: Record, columns: tuple[str, ...], key: bytes, where: str) -> Record:
    """Return the record with these columns decrypted; a file decrypted before is unchanged."""
    if not _BASE64.fullmatch(_text(record, columns[0], where)):
        return record
    plain = dict(record)
    for column in columns:
        try:
            cipher = base64.b64decode(_text(record, column, where), validate=True)
            plain[column] = bytes(one ^ other for one, other in zip(cipher, cycle(key), strict=False)).decode()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise ConfigError(f"{where}: {column} cannot be decrypted with the canary of its row") from error
    return plain


def _listed(given: Any) -> list[str]:
    """Return a list that a table holds as Python source."""
    if isinstance(given, list):
        return [str(each) for each in given]
    try:
        found = ast.literal_eval(given) if isinstance(given, str) else []
    except (ValueError, SyntaxError):
        return []
    return [str(each) for each in found] if isinstance(found, list) else []
