"""The tables of the library.  Each version of the schema is a tuple of statements; append a new one to change it."""

from __future__ import annotations

import sqlite3

_VERSIONS = (
    (
        """CREATE TABLE IF NOT EXISTS collections (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, version TEXT NOT NULL DEFAULT '')""",
        """CREATE TABLE IF NOT EXISTS documents (
        id INTEGER PRIMARY KEY, collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
        url TEXT NOT NULL UNIQUE, title TEXT NOT NULL, text TEXT NOT NULL, names TEXT NOT NULL, mtime INTEGER NOT NULL,
        sha256 TEXT NOT NULL)""",
        "CREATE INDEX IF NOT EXISTS documents_collection ON documents (collection, title)",
        """CREATE TABLE IF NOT EXISTS passages (
        id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
        ordinal INTEGER NOT NULL, text TEXT NOT NULL, start INTEGER NOT NULL)""",
        "CREATE INDEX IF NOT EXISTS passages_document ON passages (document)",
        """CREATE TABLE IF NOT EXISTS vectors (
        id INTEGER PRIMARY KEY AUTOINCREMENT, passage INTEGER NOT NULL REFERENCES passages ON DELETE CASCADE,
        encoder TEXT NOT NULL, vector BLOB NOT NULL, UNIQUE (passage, encoder))""",
        """CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
        title, names, text, tokenize = 'porter unicode61 remove_diacritics 2')""",
        """CREATE TRIGGER IF NOT EXISTS passages_gone AFTER DELETE ON passages BEGIN
        DELETE FROM words WHERE rowid = old.id; END""",
    ),
    (
        # A forgotten collection is hidden at once and deleted later, so that it can be restored.
        "ALTER TABLE collections ADD COLUMN forgotten REAL",
        "ALTER TABLE collections ADD COLUMN indexed REAL",
        """CREATE TABLE unreadable (collection INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
        path TEXT NOT NULL, reason TEXT NOT NULL)""",
    ),
    (
        # Text length in UTF-8, in an index because a sum must not read the texts.
        "ALTER TABLE documents ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0",
        "UPDATE documents SET bytes = length(CAST(text AS BLOB))",
        "CREATE INDEX documents_bytes ON documents (collection, bytes)",
    ),
    (
        # The page, slide, chapter or sheet of a passage; files that have such places are read again when they are refreshed.
        "ALTER TABLE passages ADD COLUMN place TEXT NOT NULL DEFAULT ''",
        "UPDATE documents SET mtime = 0, sha256 = '' WHERE url LIKE '%.pdf' OR url LIKE '%.csv' OR url LIKE '%.tsv'",
    ),
    (
        # `head` is a table without its rows, as JSON; `rows` are its rows and their numbers, packed.
        """CREATE TABLE tables (
        id INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE, head BLOB NOT NULL,
        count INTEGER NOT NULL, rows BLOB NOT NULL)""",
        "CREATE INDEX tables_document ON tables (document)",
        # Files that may contain tables are read again when they are refreshed.
        "UPDATE documents SET mtime = 0, sha256 = '' WHERE url LIKE '%.xls%' OR url LIKE '%.ods' "
        "OR url LIKE '%.csv' OR url LIKE '%.tsv'",
    ),
    (
        # What was left out of a file, a line each.  More is read of most formats: files are read again when they are refreshed.
        "ALTER TABLE documents ADD COLUMN notes TEXT NOT NULL DEFAULT ''",
        "UPDATE documents SET mtime = 0, sha256 = '' WHERE url LIKE 'library://folder-%'",
    ),
    (
        # Bibliographic data of kept pages as JSON, and which runs have read them; `deleted`: when the run was deleted.
        "ALTER TABLE documents ADD COLUMN csl TEXT NOT NULL DEFAULT ''",
        """CREATE TABLE readings (document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
        run TEXT NOT NULL, deleted REAL, PRIMARY KEY (document, run)) WITHOUT ROWID""",
        "CREATE INDEX readings_run ON readings (run)",
        "CREATE INDEX documents_read ON documents (collection, mtime, bytes)",  # which are the oldest must not read the texts
    ),
)


def is_current(connection: sqlite3.Connection) -> bool:
    """Return whether the tables have the newest version."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version >= len(_VERSIONS)


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Apply the missing versions.  Call it in a write transaction, so that only one process does so at a time."""
    done = connection.execute("PRAGMA user_version").fetchone()[0]
    for number, statements in enumerate(_VERSIONS[done:], done + 1):
        for statement in statements:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
