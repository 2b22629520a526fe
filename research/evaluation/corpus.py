"""The documents that all recipes of an evaluation search, and the mapping of sources back to document ids.

A file of documents becomes a folder in the home directory with one file per document, indexed like any other folder.  A run
cites the library's address of a file; `Corpus.names` turns it into the id that the dataset knows.
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
from research.evaluation.question_files import read_documents
from research.search.library.factbook import Document
from research.search.library.storage import existing_folder, file_url
from research.types import Source

_SAFE = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
"""Ids that are valid file names on every system, whatever its case rules."""


class Corpus(Struct, frozen=True):
    """The documents that recipes search."""

    folder: str = ""
    """Absolute path of the only folder to search; empty for the library as it is, with the Factbook."""
    ids: Mapping[str, str] = {}
    """For a file of documents: document id by library address."""

    @property
    def folders(self) -> tuple[str, ...]:
        return (self.folder,) if self.folder else ()

    @property
    def search(self) -> tuple[str, ...]:
        """Value for `Recipe.search`."""
        return ("folders",) if self.folder else ("library",)

    def names(self, source: Source) -> Collection[str]:
        """Return the ids under which a dataset may know a source.

        For a file of documents: id and address.  For a folder: address, title, and the path in the folder with and
        without suffix.  Otherwise: address and title.
        """
        if self.ids:
            return (self.ids.get(source.url, source.url), source.url)
        within = source.url.partition("://")[2].partition("/")[2]
        path = (within, within.rpartition(".")[0]) if self.folder else ()
        return (source.url, source.title, *path)


def open_corpus(home: Path, name: str, documents: Sequence[Document] | None, path: Path | None = None) -> Corpus:
    """Return the corpus at `path`, a folder or a file, or else of the dataset's `documents`, or else the Factbook.

    Writes the files to index; the workbench indexes them.  Raises `ConfigError` for a malformed or unwritable corpus.
    """
    if path is not None and path.is_dir():
        return Corpus(str(existing_folder(path)))
    if path is not None:
        documents, name = read_documents(path), path.stem
    return _written(home, name, documents) if documents is not None else Corpus()


def _written(home: Path, name: str, documents: Sequence[Document]) -> Corpus:
    """Write the documents into a folder named after their digest, atomically and only once."""
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
    """Return the id as a file name, or else its safe characters with a digest."""
    if _SAFE.fullmatch(key):
        return f"{key}.md"
    plain = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:40]
    return f"{plain}-{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:12]}.md".lstrip("-")
