"""Files of questions and of documents.

Questions come one JSON object per line or one row of a CSV table, in this project's own form, in that of HotpotQA's
distractor files or SQuAD-like files (CMRC 2018), whose passages are read too, or in one of the formats of `published`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from research.errors import ConfigError
from research.evaluation.csv_files import ASKS, read_csv
from research.evaluation.published import accepted, published
from research.evaluation.questions import NO_TOLERANCE, Dataset, Question
from research.search.library.factbook import Document
from research.text import one_line

_ANSWERS = ("answers", "answer")
_GOLD = ("gold", "gold_ids", "gold_pids", "gold_pid")
_ID = ("id", "_id", "pid", "query_id")


def read_questions(path: Path) -> Dataset:
    """Return the questions of a file, and its documents if it has any.

    Raises `ConfigError` that names the malformed record.
    """
    records = _records(path)
    documents: dict[str, Document] = {}
    left_out: Counter[str] = Counter()
    questions = tuple(_questions(path, records, documents, left_out))
    if not questions:
        raise ConfigError(f"dataset {path} contains no questions")
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise ConfigError(f"dataset {path}: the id {question.id!r} appears twice")
        seen.add(question.id)
    notes = tuple(f"{number} records are left out: each {why}" for why, number in left_out.items())
    return Dataset(path.stem, questions, tuple(documents.values()) or None, notes)


def read_documents(path: Path) -> tuple[Document, ...]:
    """Return the documents of a JSONL file of `{"id", "title", "text"}`; `Document.url` holds the id.

    Raises `ConfigError` that names the malformed record.
    """
    documents: dict[str, Document] = {}
    for number, record in enumerate(_records(path), 1):
        where = f"corpus {path}, document {number}"
        key = _field(record, _ID, where)
        text = record.get("text")
        if not isinstance(text, str):
            raise ConfigError(f"{where} has no text")
        if key in documents:
            raise ConfigError(f"{where}: the id {key!r} appears twice")
        documents[key] = Document(key, one_line(str(record.get("title") or key)), text)
    if not documents:
        raise ConfigError(f"corpus {path} holds no document")
    return tuple(documents.values())


def _records(path: Path) -> list[Mapping[str, Any]]:
    """Return the records of a file: rows of a `.csv`, else JSON objects, one per line or in a `.json` file's array or `data`."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f'{path} is not UTF-8 text; a spreadsheet saves it as "CSV UTF-8"') from error
    if path.suffix.lower() in (".csv", ".tsv"):
        return read_csv(path, text)
    if path.suffix == ".json":
        found = _decoded(text, str(path))
        records = found.get("data", [found]) if isinstance(found, dict) else found
    else:
        lines = enumerate(text.split("\n"), 1)  # not splitlines: JSON strings may contain other line breaks
        records = [_decoded(line, f"{path}, line {number}") for number, line in lines if line.strip()]
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise ConfigError(f"{path} must contain JSON objects, one per line or in one array")
    return records


def _decoded(text: str, where: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise ConfigError(f"{where} is not JSON: {error}") from error


def _questions(
    path: Path, records: Sequence[Mapping[str, Any]], documents: dict[str, Document], left_out: Counter[str]
) -> Iterator[Question]:
    """Yield the questions of a file.

    Adds the documents found with them to `documents`, by id, and counts in `left_out` the reasons for skipping records.
    """
    known = published(records[0]) if records else None
    for number, record in enumerate(records, 1):
        where = f"dataset {path}, record {number}"
        if known is not None:
            lower = {key.strip().lower(): value for key, value in record.items()}
            if why := known.skips(lower):
                left_out[why] += 1
            else:
                yield known.read(lower, where)
        elif "qas" in record or "paragraphs" in record:
            yield from _squad(record, where, documents)
        elif "context" in record and "supporting_facts" in record:
            yield _hotpot(record, where, documents)
        elif number == 1 and not set(record) & set(ASKS):
            raise ConfigError(f"{where} has no question: its columns are {', '.join(map(str, record))}; {accepted()}")
        else:
            yield _plain(record, where)


def _plain(record: Mapping[str, Any], where: str) -> Question:
    """Read a question in this project's own form (docs/evaluation.md)."""
    given = next((record[name] for name in _ANSWERS if name in record), None)
    answers = _texts(given, f"{where}: answer")
    value, tolerance = record.get("value"), record.get("tolerance", NO_TOLERANCE)
    if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in (tolerance, value or 0)):
        raise ConfigError(f"{where}: value and tolerance must be numbers")
    answerable = record.get("answerable", True)
    if not isinstance(answerable, bool) or (answers and not answerable):
        raise ConfigError(f"{where}: answerable must be true, or false without any answer")
    asked = _field(record, ASKS, where)
    named = any(record.get(name) not in (None, "") for name in _ID)
    return Question(
        # The same question has the same id wherever it is in the file, so that rows already measured stay valid.
        id=_field(record, _ID, where) if named else f"q-{hashlib.sha256(asked.encode()).hexdigest()[:8]}",
        question=asked,
        answers=answers,
        gold=_texts(next((record[name] for name in _GOLD if name in record), None), f"{where}: gold"),
        kind=str(record.get("kind") or record.get("type") or ""),
        answerable=answerable,
        value=value,
        tolerance=tolerance,
        unit=str(record.get("unit") or ""),
        over=_texts(record.get("over"), f"{where}: over"),
        reference=str(record.get("reference") or ""),
        rubric=str(record.get("rubric") or ""),
        canary=str(record.get("canary") or ""),
    )


def _hotpot(record: Mapping[str, Any], where: str, documents: dict[str, Document]) -> Question:
    """Read a HotpotQA question with its ten passages, as lists (the authors' files) or columns (Hugging Face)."""
    context, facts = record["context"], record["supporting_facts"]
    try:
        pairs = zip(context["title"], context["sentences"], strict=True) if isinstance(context, dict) else context
        for title, sentences in pairs:
            documents[title] = Document(title, one_line(title), "".join(sentences))
        gold = facts["title"] if isinstance(facts, dict) else [title for title, _ in facts]
        answers = _texts(record.get("answer"), where)
        key, asked = _field(record, ("_id", "id"), where), _field(record, ("question",), where)
        return Question(key, asked, answers, tuple(dict.fromkeys(gold)), str(record.get("type", "")))
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{where} does not have the form of HotpotQA: {error}") from error


def _squad(record: Mapping[str, Any], where: str, documents: dict[str, Document]) -> Iterator[Question]:
    """Read the questions of a CMRC 2018 record: SQuAD's form, or the older one without `paragraphs`."""
    try:
        for place, each in enumerate(record.get("paragraphs", [record])):
            text = each.get("context", each.get("context_text"))
            title = one_line(str(record.get("title") or each.get("title") or ""))
            source = str(each.get("id") or each.get("context_id") or f"{title}#{place}")
            if not isinstance(text, str):
                raise ConfigError(f"{where}: paragraph {place + 1} has no context")
            documents[source] = Document(source, title or source, text)
            for asked in each["qas"]:
                given = [one["text"] if isinstance(one, dict) else one for one in asked["answers"]]
                answers = _texts(given, f"{where}: answers")
                key, words = _field(asked, _ID, where), _field(asked, ASKS, where)
                yield Question(key, words, answers, (source,), answerable=bool(answers))
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{where} does not have the form of SQuAD: {error}") from error


def _field(record: Mapping[str, Any], names: Sequence[str], where: str) -> str:
    found = next((record[name] for name in names if record.get(name) not in (None, "")), None)
    if not isinstance(found, str | int) or isinstance(found, bool) or not str(found).strip():
        raise ConfigError(f"{where} has no {names[0]}")
    return str(found).strip()


def _texts(given: Any, where: str) -> tuple[str, ...]:
    """Return a text, a number or a list of them as distinct texts."""
    several = given if isinstance(given, list) else [] if given is None else [given]
    if not all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in several):
        raise ConfigError(f"{where} must be a text or a list of texts")
    return tuple(dict.fromkeys(text for each in several if (text := str(each).strip())))
