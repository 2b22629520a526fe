"""Scores of search hits, removal and restoring of collections, the map, and older library files."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from research.defaults import FACTBOOK
from research.errors import ConfigError, ToolError
from research.search.library import schema
from research.search.library.documents import Library


class Letters:
    """An encoder that counts letters."""

    id, dimension = "letters", 26

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.array([[1e-3 + text.lower().count(chr(97 + n)) for n in range(26)] for text in texts], "<f4")
        unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("<f4")
        return unit


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    for name, text in {"whale": "The blue whale swims.", "moon": "The moon is basalt.", "wood": "Oak is hard."}.items():
        (folder / f"{name}.md").write_text(f"# {name.title()}\n\n{text}", "utf-8")
    (folder / "broken.pdf").write_bytes(b"no pdf")
    return folder


@pytest.fixture
def library(tmp_path: Path, papers: Path) -> Library:
    library = Library(tmp_path / "home", Letters())
    library.add_folder(papers)
    return library


def test_a_hit_has_its_cosine_and_its_rank_by_words(library: Library, papers: Path) -> None:
    (hit,) = library.scored("basalt")
    assert (hit.cosine, hit.words, hit.collection) == (None, 1, str(papers))
    library.embed_missing()
    hits = library.scored("moon basalt")
    assert [hit.passage for hit in hits] == library.search("moon basalt")
    assert (hits[0].passage.title, hits[0].words) == ("Moon", 1)
    assert hits[0].cosine == pytest.approx(max(hit.cosine for hit in hits if hit.cosine is not None))
    assert all(hit.cosine is not None and 0 < hit.cosine <= 1.001 for hit in hits)


def test_two_words_that_no_page_has_together_find_a_page_of_each_beside_what_is_only_similar(
    library: Library, tmp_path: Path
) -> None:
    atlas = tmp_path / "atlas"
    atlas.mkdir()
    sections = {
        "Kenya · Economy": "Tea and flowers.",
        "Kenya · Sea": "The coast is long.",
        "Gabon · People": "Literacy: 88.9%",
    }
    for title, text in sections.items():
        (atlas / f"{title}.md").write_text(f"# {title}\n\n{text}", "utf-8")
    library.add_folder(atlas)
    library.embed_missing()
    hits = library.scored("Kenya literacy")
    assert {hit.passage.title for hit in hits if hit.words} == set(sections)
    assert {hit.passage.title for hit in hits if not hit.words} == {"Whale", "Moon", "Wood"}


def test_a_forgotten_collection_is_hidden_until_it_is_restored(library: Library, papers: Path) -> None:
    library.embed_missing()
    (url,) = [each.url for each in library.documents(str(papers), "moon")]
    library.forget(str(papers))
    assert library.collections() == []
    assert library.search("moon basalt") == []
    for ask in (lambda: library.documents(str(papers)), lambda: library.search("moon", collections=[str(papers)])):
        with pytest.raises(ConfigError, match="unknown collection"):
            ask()
    with pytest.raises(ToolError, match="no document"):
        library.open(url)
    library.restore(str(papers))
    assert library.search("moon basalt")[0].title == "Moon"
    assert library.open(url).title == "Moon"


def test_adding_a_forgotten_folder_again_restores_it(library: Library, papers: Path) -> None:
    library.forget(str(papers))
    assert library.add_folder(papers).unchanged == 3
    assert library.purge(before=9e9) == 0
    assert library.search("basalt")


def test_a_purge_deletes_collections_forgotten_before_a_time(library: Library, papers: Path) -> None:
    library.forget(str(papers))
    assert library.purge(before=1.0) == 0
    assert library.purge(before=9e9) == 1
    library.restore(str(papers))
    assert library.collections() == []
    assert (papers / "moon.md").exists()


def test_the_factbook_cannot_be_forgotten(library: Library) -> None:
    with pytest.raises(ConfigError, match="is part of the workbench"):
        library.forget(FACTBOOK)


def test_unreadable_files_are_listed_until_they_are_fixed_or_removed(library: Library, papers: Path) -> None:
    assert [path.name for path, _ in library.unreadable(str(papers))] == ["broken.pdf"]
    assert library.collections()[0].unreadable == 1
    (papers / "broken.pdf").unlink()
    library.add_folder(papers)
    assert library.unreadable(str(papers)) == []


def test_the_map_has_a_distinct_position_for_each_document(library: Library, papers: Path) -> None:
    assert library.spots(str(papers)) == []  # no vectors yet
    library.embed_missing()
    spots = library.spots(str(papers))
    assert sorted(spot.title for spot in spots) == ["Moon", "Whale", "Wood"]
    assert all(-1 <= spot.x <= 1 and -1 <= spot.y <= 1 for spot in spots)
    assert len({(spot.x, spot.y) for spot in spots}) == 3
    assert len(library.spots(str(papers), limit=1)) == 1


def test_a_library_of_the_first_version_is_migrated(tmp_path: Path, papers: Path) -> None:
    home = tmp_path / "old"
    home.mkdir()
    with closing(sqlite3.connect(home / "library.sqlite", isolation_level=None)) as connection:
        for statement in schema._VERSIONS[0]:
            connection.execute(statement)
        connection.execute("PRAGMA user_version = 1")
        connection.execute("INSERT INTO collections (name) VALUES (?)", [str(papers)])
    library = Library(home)
    assert library.collections()[0].indexed is None
    library.add_folder(papers)
    assert library.collections()[0].indexed is not None
