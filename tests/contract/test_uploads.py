"""Uploaded documents: names and content are untrusted, and nothing is written outside its folder."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.errors import ConfigError
from research.search.library import uploads
from research.search.library.documents import Library
from research.search.library.quota import Quota
from research.search.library.uploads import UploadReport, safe_name

MOON = b"# The moon\n\nThe moon is made of basalt."


def keep(place: Path, *files: tuple[str, bytes]) -> UploadReport:
    def content(data: bytes) -> Callable[[], bytes]:
        return lambda: data

    return uploads.save(place, [(name, content(data)) for name, data in files], lambda done, total, what: None)


def names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("report.md", "report.md"),
        ("../../etc/passwd.md", "passwd.md"),
        ("..\\..\\boot.md", "boot.md"),
        ("/abs/olute.md", "olute.md"),
        ("C:\\x\\y.md", "y.md"),
        ("a\x00b\nc.md", "a b c.md"),
        ("good\u202egp.md", "good gp.md"),
        (".hidden.md", "hidden.md"),
        ("con.md", "_con.md"),
        ("a<b>:c?.md", "a_b__c_.md"),
        ("报告 2024.md", "报告 2024.md"),
        ("cafe\u0301.md", "café.md"),
        ("folder/", "folder"),
        ("..", "document"),
        ("", "document"),
    ],
)
def test_a_safe_name_is_a_single_path_component(name: str, kept: str) -> None:
    assert safe_name(name) == kept


@given(st.text())
def test_no_name_leaves_its_folder(name: str) -> None:
    kept = safe_name(name)
    assert kept
    assert not kept.startswith(".")
    assert "/" not in kept
    assert "\\" not in kept
    assert Path("/base", kept).resolve().parent == Path("/base")
    assert len(kept.encode()) <= uploads.NAME_BYTES + 10
    assert kept.isprintable()


def test_a_long_name_keeps_its_suffix() -> None:
    kept = safe_name("长" * 300 + ".pdf")
    assert kept.endswith("长.pdf")
    assert len(kept.encode()) <= uploads.NAME_BYTES


def test_files_are_saved_and_identical_content_only_once(tmp_path: Path) -> None:
    place = tmp_path / "Papers"
    kept = keep(place, ("moon.md", MOON), ("copy.md", MOON), ("moon.md", b"Another moon."))
    assert (kept.saved, kept.known, kept.refused) == (("moon.md", "moon.md"), ("copy.md",), ())
    assert names(place) == ["moon (2).md", "moon.md"]
    assert keep(place, ("again.md", MOON)).known == ("again.md",)
    assert (place / "moon.md").read_bytes() == MOON


def test_an_uploaded_file_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = keep(tmp_path / "Papers", ("moon.md", MOON))
    monkeypatch.setattr("research.web.isolated.read_file", lambda *_: pytest.fail("read once more"))
    library = Library(tmp_path / "home")
    library.add_folder(report.folder, known_texts=report.texts)
    assert library.search("basalt")[0].title == "The moon"


def test_an_upload_that_does_not_fit_is_refused_with_the_limit(tmp_path: Path) -> None:
    library = Library(tmp_path, quota=Quota(library=10**6, collection=200_000))
    place = uploads.folder(tmp_path, "Papers")
    files = [(f"{number}.txt", lambda number=number: b"A line of text. %d\n" % number * 400) for number in range(9)]
    report = uploads.save(place, files, lambda *_: None, library.usage(str(place)).refusal)
    library.add_folder(place, known_texts=report.texts)
    (first, why) = report.refused[0]
    assert re.search(r"the collection takes 0\.\d MB of at most 0\.2 MB; .* WORKBENCH_COLLECTION_GB", why), why
    assert 0 < len(report.saved) < 9 and first not in names(place)
    assert library.collections()[0].documents == len(report.saved)
    other = uploads.folder(tmp_path, "Other")
    whole = uploads.save(other, [("big.txt", lambda: b"word " * 40_000)], lambda *_: None, library.usage("x").refusal)
    assert "the library takes" in library.usage("x").refusal("word " * 200_000)
    assert not whole.saved


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("empty.txt", b"", "is empty"),
        ("fake.pdf", b"not a pdf", "is a damaged pdf"),
        ("fake.docx", b"PK\x03\x04 not really", "is a damaged docx"),
        ("program.exe", b"MZ", "is of an unknown format"),
        ("noise.txt", b"\x00\xff\x00\xfe" * 50, "is not text"),
        (".md", b"text", "is of an unknown format"),
    ],
)
def test_an_unreadable_file_is_rejected_by_name_and_not_saved(
    tmp_path: Path, name: str, data: bytes, reason: str
) -> None:
    kept = keep(tmp_path / "a", (name, data), ("moon.md", MOON))
    assert kept.saved == ("moon.md",)
    ((refused, why),) = kept.refused
    assert refused == name
    assert reason in why
    assert names(tmp_path / "a") == ["moon.md"]


def test_a_file_over_the_size_limit_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("research.web.readers.MAX_BYTES", 10)
    assert "is too big" in keep(tmp_path / "a", ("moon.md", MOON)).refused[0][1]


def test_a_collection_without_a_readable_file_leaves_no_folder(tmp_path: Path) -> None:
    keep(tmp_path / "a", ("empty.txt", b""))
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("name", ["", "   ", "..", "///", "___"])
def test_a_collection_needs_a_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="collection name"):
        uploads.folder(tmp_path, name)


def test_a_collection_stays_under_the_home(tmp_path: Path) -> None:
    for name in ("../../x", "/etc", "a/b", "C:\\z", "..x"):
        assert uploads.folder(tmp_path, name).parent == tmp_path.resolve() / "uploads"


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "uploads").write_text("a file is in the way")
    with pytest.raises(ConfigError, match="uploads"):
        keep(uploads.folder(tmp_path, "Papers"), ("moon.md", MOON))
