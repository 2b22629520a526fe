"""A folder whose files are exchanged while it is read: nothing outside it is read, and the rest of it is."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from research._util.beneath import open_beneath
from research.search.library.documents import Library

SECRET = "The launch code is heron-4711."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.md").write_text("The harbour opens at six.", encoding="utf-8")
    (folder / "deep" / "b.md").write_text("The lighthouse is white.", encoding="utf-8")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.md").write_text(SECRET, encoding="utf-8")
    return folder


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with closing(Library(tmp_path / "home")) as library:
        yield library


def file_becomes_a_link(folder: Path) -> None:
    (folder / "deep" / "b.md").unlink()
    (folder / "deep" / "b.md").symlink_to(folder.parent / "outside" / "b.md")


def file_becomes_a_relative_link(folder: Path) -> None:
    (folder / "deep" / "b.md").unlink()
    (folder / "deep" / "b.md").symlink_to("../../outside/b.md")


def folder_becomes_a_link(folder: Path) -> None:
    (folder / "deep").rename(folder.parent / "gone")
    (folder / "deep").symlink_to(folder.parent / "outside")


def file_becomes_a_pipe(folder: Path) -> None:
    (folder / "deep" / "b.md").unlink()
    os.mkfifo(folder / "deep" / "b.md")


@pytest.mark.parametrize(
    "exchange", [file_becomes_a_link, file_becomes_a_relative_link, folder_becomes_a_link, file_becomes_a_pipe]
)
def test_what_is_exchanged_after_it_was_listed_is_not_read(
    library: Library, folder: Path, exchange: Callable[[Path], None]
) -> None:
    def progress(done: int, total: int, name: str) -> None:
        if name == "b.md":
            exchange(folder)

    report = library.add_folder(folder, progress)
    assert report.indexed == 1
    assert [path.name for path, _ in report.unreadable] == ["b.md"]
    assert not [found for found in library.search("launch code heron", 5) if SECRET in found.quote]


def test_no_race_reads_what_is_outside(folder: Path) -> None:
    inside, outside, ended = folder / "a.md", folder.parent / "outside" / "b.md", threading.Event()

    def exchange() -> None:
        while not ended.is_set():
            for make in (
                lambda path: path.symlink_to(outside),
                lambda path: path.write_text("inside", encoding="utf-8"),
            ):
                new = folder / "new"
                make(new)
                new.replace(inside)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        for _ in range(300):
            try:
                with os.fdopen(open_beneath(folder, inside), "rb") as file:
                    assert SECRET not in file.read().decode()
            except OSError:
                pass
    finally:
        ended.set()
        thread.join()


def test_links_within_the_folder_are_read_and_those_without_an_end_are_listed(library: Library, folder: Path) -> None:
    (folder / "c.md").symlink_to("deep/b.md")
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "one.md").symlink_to("two.md")
    (folder / "two.md").symlink_to("one.md")
    (folder / "up.md").symlink_to("deep/../../notes/deep/../a.md")
    report = library.add_folder(folder)
    assert report.indexed == 3
    assert sorted(path.name for path, _ in report.unreadable) == ["loop.md", "one.md", "two.md", "up.md"]
