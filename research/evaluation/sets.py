"""Named sets of questions: each change is a new version, named by the hash of its questions, and all versions are kept."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from research._util import decoding
from research.errors import ConfigError
from research.evaluation.plans import version_of
from research.evaluation.questions import Dataset, Question
from research.search.library.factbook import Document
from research.store import KeyValue
from research.store.saved import readable

_LONGEST = 50


class Version(Struct, frozen=True):
    """One version of a set."""

    name: str
    version: str
    """Twelve hex digits that change with any question, answer or id."""
    questions: tuple[Question, ...]
    created: float
    """Seconds since the epoch."""
    note: str
    """What was changed."""
    documents: str = ""
    """Digest of the documents that come with the questions; empty if there are none."""


class Sets:
    """The named sets in a store."""

    def __init__(self, store: KeyValue) -> None:
        self._store = store

    def latest(self) -> list[Version]:
        """Return the newest version of each set, sorted by name."""
        newest: dict[str, Version] = {}
        for each in self._versions(""):
            newest.setdefault(each.name, each)
        return [newest[name] for name in sorted(newest)]

    def history(self, name: str) -> list[Version]:
        """Return all versions of a set, newest first.  Raises `ConfigError` for an unknown name."""
        found = self._versions(f"{checked_name(name)}/")
        if not found:
            known = ", ".join(each.name for each in self.latest()) or "none yet"
            raise ConfigError(f"unknown set {name!r}; saved sets: {known}; `eval add {name} --from FILE` makes it")
        return found

    def load(self, name: str) -> Dataset:
        """Return a set as a dataset; `NAME@VERSION` is an earlier version.  Raises `ConfigError`."""
        name, _, version = name.partition("@")
        history = self.history(name)
        found = [each for each in history if each.version.startswith(version)]
        if not found:
            versions = ", ".join(each.version for each in history)
            raise ConfigError(f"set {name!r} has no version {version!r}; its versions are {versions}")
        chosen = found[0]
        documents = self._documents(chosen.documents) if chosen.documents else None
        return Dataset(chosen.name, chosen.questions, documents)

    def add(self, name: str, dataset: Dataset, note: str) -> Version:
        """Add questions and documents to a set, or make it, and return the new version.

        A question replaces an earlier one with its id or words, unless only the earlier one has an answer.  Raises
        `ConfigError` for a name that is not allowed.
        """
        name = checked_name(name)
        before = next(iter(self._versions(f"{name}/")), None)
        questions = _merged(before.questions if before else (), dataset.questions)
        known = self._documents(before.documents) if before and before.documents else ()
        documents = tuple({each.url: each for each in (*known, *(dataset.documents or ()))}.values())
        made = Version(name, version_of(questions), questions, time.time(), note, self._keep_documents(documents))
        if before is not None and (before.version, before.documents) == (made.version, made.documents):
            return before
        self._store.put("set", f"{name}/{made.version}", msgspec.json.encode(made))
        return made

    def _versions(self, prefix: str) -> list[Version]:
        found = readable(self._store.values("set", prefix), Version, "question set")
        return sorted(found, key=lambda each: -each.created)

    def _keep_documents(self, documents: Sequence[Document]) -> str:
        if not documents:
            return ""
        body = msgspec.json.encode(documents)
        digest = hashlib.sha256(body).hexdigest()[:12]
        self._store.put("set_documents", digest, body)
        return digest

    def _documents(self, digest: str) -> tuple[Document, ...]:
        (body,) = self._store.values("set_documents", digest)
        found: tuple[Document, ...] = decoding.decode(body, tuple[Document, ...])
        return found


def checked_name(name: str) -> str:
    """Return the name of a set with single spaces.  Raises `ConfigError` for a name that is not allowed."""
    name = " ".join(name.split())
    if not 0 < len(name) <= _LONGEST or not name.isprintable() or set(name) & set("/@\\"):
        raise ConfigError(f"set name {name[:80]!r}: use 1 to {_LONGEST} printable characters without / @ and \\")
    return name


def from_run(question: str, answers: Sequence[str] = (), *, answerable: bool = True) -> Question:
    """Return the question of a run for a set.  Raises `ConfigError` if it has answers but is not answerable."""
    known = tuple(dict.fromkeys(text for each in answers if (text := each.strip())))
    if known and not answerable:
        raise ConfigError("give the expected answers, or say that there is none, not both")
    asked = question.strip()
    return Question(f"q-{hashlib.sha256(asked.encode()).hexdigest()[:8]}", asked, known, answerable=answerable)


def _merged(before: Sequence[Question], new: Sequence[Question]) -> tuple[Question, ...]:
    """Return the questions with replaced ones in place, and then the other new ones."""
    found = list(before)
    for question in new:
        places = [
            place
            for place, each in enumerate(found)
            if each.id == question.id or _words(each.question) == _words(question.question)
        ]
        if places and found[places[0]].has_gold and not question.has_gold:
            continue  # a question without an answer does not remove one
        if places:
            found[places[0]] = replace(question, id=found[places[0]].id)
            found = [each for place, each in enumerate(found) if place not in places[1:]]
        else:
            found.append(question)
    return tuple(found)


def _words(text: str) -> str:
    return " ".join(text.casefold().split())
