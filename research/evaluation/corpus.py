"""The documents that all recipes of an evaluation search: a collection of the library, and how its ids come back.

A file of documents becomes a folder of the home, one file each, indexed as any other.  A run cites the address that the
library gave the file; `Corpus.names` turns it into the id that the dataset knows.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from research.errors import ConfigError
from research.evaluation.datasets import load_corpus
from research.search.factbook import Document
from research.search.shelves import existing, file_url
from research.types import Source

_SAFE = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
"""Ids that are names of files, on every system and in one case."""


class Corpus(Struct, frozen=True):
    """Where recipes search."""

    folder: str = ""
    """Absolute path of what is searched alone; empty: the library as it is, with the Factbook."""
    ids: Mapping[str, str] = {}
    """Of a file of documents: the id behind each address of the library."""

    @property
    def folders(self) -> tuple[str, ...]:
        return (self.folder,) if self.folder else ()

    @property
    def search(self) -> tuple[str, ...]:
        """For `Recipe.search`."""
        return ("folders",) if self.folder else ("library",)

    def names(self, source: Source) -> Collection[str]:
        """The ids under which a dataset may know a source.

        Of a file of documents its id alone, beside the address; of a folder the path within it, with and without the
        suffix, and the title; of all else address and title.
        """
        if self.ids:
            return (self.ids.get(source.url, source.url), source.url)
        within = source.url.partition("://")[2].partition("/")[2]
        path = (within, within.rpartition(".")[0]) if self.folder else ()
        return (source.url, source.title, *path)


def open_corpus(home: Path, name: str, documents: Sequence[Document] | None, path: Path | None = None) -> Corpus:
    """The corpus at `path`, a folder or a file; without one the `documents` of the dataset, or the Factbook.

    Writes what has to be indexed; indexing is the workbench's.  Raises `ConfigError`.
    """
    if path is not None and path.is_dir():
        return Corpus(str(existing(path)))
    if path is not None:
        documents, name = load_corpus(path), path.stem
    return _written(home, name, documents) if documents is not None else Corpus()


def _written(home: Path, name: str, documents: Sequence[Document]) -> Corpus:
    """A folder named after what it holds: whole or not there, and never written twice."""
    digest = hashlib.sha256(msgspec.json.encode(documents)).hexdigest()[:12]
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40]
    folder = home / "corpora" / f"{stem or 'corpus'}-{digest}"
    files = {document.url: _file_name(document.url) for document in documents}
    if not folder.is_dir():
        part = folder.with_name(f".{folder.name}.part")
        try:
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            for document in documents:
                text = f"# {document.title}\n\n{document.text}".replace("\0", " ")
                (part / files[document.url]).write_text(text, encoding="utf-8", errors="replace")
            part.rename(folder)
        except OSError as error:
            raise ConfigError(f"the corpus cannot be written to {folder}: {error.strerror or error}") from error
    return Corpus(
        str(folder.resolve()), {file_url(folder.resolve(), folder.resolve() / file): key for key, file in files.items()}
    )


def _file_name(key: str) -> str:
    """The id itself where it can be a name, else what is left of it with a digest."""
    if _SAFE.fullmatch(key):
        return f"{key}.md"
    plain = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:40]
    return f"{plain}-{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:12]}.md".lstrip("-")
