"""Questions with their gold answers, and the documents they are asked about.

One question a line is the form of our own; HotpotQA's distractor files and SQuAD-like ones (CMRC 2018) are read as they
are published, with the passages they bring along.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from research.errors import ConfigError
from research.search.factbook import Document
from research.text import has_cjk


class Question(Struct, frozen=True, omit_defaults=True):
    """One question, and what is known of its answer."""

    id: str
    question: str
    answers: tuple[str, ...] = ()
    """Any of them is right; none where nothing but a report can be judged."""
    gold: tuple[str, ...] = ()
    """Ids of the documents that a right answer needs."""
    kind: str = ""
    answerable: bool = True
    """False: the documents do not hold it, and an honest run says so."""
    value: float | None = None
    """The answer as a number, for one that is computed; then a number within `tolerance` of it is right, too."""
    tolerance: float = 0.0
    unit: str = ""
    """`%`: the number has to be followed by it."""
    over: tuple[str, ...] = ()
    """What the answer is chosen over: named earlier than the answer, it is the verdict, and wrong."""
    reference: str = ""
    """A report to judge others against."""

    @property
    def language(self) -> str:
        """`zh` or `en`: whose rules an answer is compared by."""
        return "zh" if has_cjk(self.question) else "en"

    @property
    def digest(self) -> str:
        """Twelve hex digits that change when anything of the question does."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:12]


class Dataset(Struct, frozen=True):
    """Questions, and the documents that come with them."""

    name: str
    questions: tuple[Question, ...]
    documents: tuple[Document, ...] | None = None
    """`url` holds the document's id; None where the file has none of its own."""


BUILT_IN = ("factbook", "factbook-zh", "almanac", "almanac-zh")
"""Datasets that need no file."""
SPLITS = ("dev", "held")

_QUESTION = ("question", "prompt", "query", "query_text")
_ANSWERS = ("answers", "answer")
_GOLD = ("gold", "gold_ids", "gold_pids", "gold_pid")
_ID = ("id", "_id", "pid", "query_id")


def load(name: str, split: str = "dev") -> Dataset:
    """A built-in dataset by its name, or the file of that path.  Raises `ConfigError` that names what is wrong."""
    if name in BUILT_IN:
        if split not in SPLITS:
            raise ConfigError(f"split {split!r}: one of {', '.join(SPLITS)} is accepted")
        made = _built_in(name)
        return msgspec.structs.replace(made, questions=tuple(_of_split(made.questions, split)))
    path = Path(name)
    records = _records(path)
    documents: dict[str, Document] = {}
    questions = tuple(_questions(path, records, documents))
    if not questions:
        raise ConfigError(f"dataset {path} holds no question")
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise ConfigError(f"dataset {path}: the id {question.id!r} stands there twice")
        seen.add(question.id)
    return Dataset(path.stem, questions, tuple(documents.values()) or None)


def load_corpus(path: Path) -> tuple[Document, ...]:
    """The documents of a JSONL file of `{"id", "title", "text"}`; `url` holds the id.  Raises `ConfigError`."""
    documents: dict[str, Document] = {}
    for number, record in enumerate(_records(path), 1):
        where = f"corpus {path}, document {number}"
        key = _field(record, _ID, where)
        text = record.get("text")
        if not isinstance(text, str):
            raise ConfigError(f"{where} has no text")
        if key in documents:
            raise ConfigError(f"{where}: the id {key!r} stands there twice")
        documents[key] = Document(key, _flat(str(record.get("title") or key)), text)
    if not documents:
        raise ConfigError(f"corpus {path} holds no document")
    return tuple(documents.values())


def _built_in(name: str) -> Dataset:
    from research.evaluation import almanac, chinese, english

    match name:
        case "factbook":
            return english.dataset()
        case "factbook-zh":
            return chinese.dataset()
        case _:
            return almanac.dataset(name, "zh" if name.endswith("-zh") else "en")


def _of_split(questions: Sequence[Question], split: str) -> Iterator[Question]:
    """Their ids begin with the split they belong to."""
    return (question for question in questions if question.id.startswith(f"{split}-"))


def _records(path: Path) -> list[Mapping[str, Any]]:
    """The objects of a file: one a line, or one array or object that holds them."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        known = ", ".join(BUILT_IN)
        raise ConfigError(f"{path} cannot be read ({error.strerror}); known without a file: {known}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not text in UTF-8") from error
    if path.suffix == ".json":
        found = _decoded(text, str(path))
        records = found.get("data", [found]) if isinstance(found, dict) else found
    else:
        lines = enumerate(text.split("\n"), 1)  # not splitlines: a JSON string may hold other line breaks
        records = [_decoded(line, f"{path}, line {number}") for number, line in lines if line.strip()]
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise ConfigError(f"{path}: objects are accepted, one a line or in one array")
    return records


def _decoded(text: str, where: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise ConfigError(f"{where} is not JSON: {error}") from error


def _questions(path: Path, records: Sequence[Mapping[str, Any]], documents: dict[str, Document]) -> Iterator[Question]:
    """The questions of a file; documents that it brings along are put into `documents` by their id."""
    for number, record in enumerate(records, 1):
        where = f"dataset {path}, record {number}"
        if "qas" in record or "paragraphs" in record:
            yield from _squad(record, where, documents)
        elif "context" in record and "supporting_facts" in record:
            yield _hotpot(record, where, documents)
        else:
            yield _plain(record, where)


def _plain(record: Mapping[str, Any], where: str) -> Question:
    """A line of our own form, as the contract of `eval` says."""
    given = next((record[name] for name in _ANSWERS if name in record), None)
    answers = _texts(given, f"{where}: answer")
    value, tolerance = record.get("value"), record.get("tolerance", 0.0)
    if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in (tolerance, value or 0)):
        raise ConfigError(f"{where}: value and tolerance are numbers")
    answerable = record.get("answerable", True)
    if not isinstance(answerable, bool) or (answers and not answerable):
        raise ConfigError(f"{where}: answerable is true, or false with no answer")
    return Question(
        id=_field(record, _ID, where),
        question=_field(record, _QUESTION, where),
        answers=answers,
        gold=_texts(next((record[name] for name in _GOLD if name in record), None), f"{where}: gold"),
        kind=str(record.get("kind") or record.get("type") or ""),
        answerable=answerable,
        value=value,
        tolerance=tolerance,
        unit=str(record.get("unit") or ""),
        over=_texts(record.get("over"), f"{where}: over"),
        reference=str(record.get("reference") or ""),
    )


def _hotpot(record: Mapping[str, Any], where: str, documents: dict[str, Document]) -> Question:
    """HotpotQA with its ten passages: lists as its authors publish them, or the columns that others made of them."""
    context, facts = record["context"], record["supporting_facts"]
    try:
        pairs = zip(context["title"], context["sentences"], strict=True) if isinstance(context, dict) else context
        for title, sentences in pairs:
            documents[title] = Document(title, _flat(title), "".join(sentences))
        gold = facts["title"] if isinstance(facts, dict) else [title for title, _ in facts]
        answers = _texts(record.get("answer"), where)
        key, asked = _field(record, ("_id", "id"), where), _field(record, ("question",), where)
        return Question(key, asked, answers, tuple(dict.fromkeys(gold)), str(record.get("type", "")))
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{where} is not as HotpotQA writes its context: {error}") from error


def _squad(record: Mapping[str, Any], where: str, documents: dict[str, Document]) -> Iterator[Question]:
    """SQuAD's form as CMRC 2018 publishes it, and its older one without `paragraphs`."""
    try:
        for place, each in enumerate(record.get("paragraphs", [record])):
            text = each.get("context", each.get("context_text"))
            title = _flat(str(record.get("title") or each.get("title") or ""))
            source = str(each.get("id") or each.get("context_id") or f"{title}#{place}")
            if not isinstance(text, str):
                raise ConfigError(f"{where}: paragraph {place + 1} has no context")
            documents[source] = Document(source, title or source, text)
            for asked in each["qas"]:
                told = [one["text"] if isinstance(one, dict) else one for one in asked["answers"]]
                answers = _texts(told, f"{where}: answers")
                key, words = _field(asked, _ID, where), _field(asked, _QUESTION, where)
                yield Question(key, words, answers, (source,), answerable=bool(answers))
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{where} is not as SQuAD writes its paragraphs: {error}") from error


def _field(record: Mapping[str, Any], names: Sequence[str], where: str) -> str:
    found = next((record[name] for name in names if record.get(name) not in (None, "")), None)
    if not isinstance(found, str | int) or isinstance(found, bool) or not str(found).strip():
        raise ConfigError(f"{where} has no {names[0]}")
    return str(found).strip()


def _texts(given: Any, where: str) -> tuple[str, ...]:
    """One text or number, or several, each once."""
    several = given if isinstance(given, list) else [] if given is None else [given]
    if not all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in several):
        raise ConfigError(f"{where}: texts are accepted")
    return tuple(dict.fromkeys(text for each in several if (text := str(each).strip())))


def _flat(title: str) -> str:
    """On one line."""
    return " ".join(title.split())
