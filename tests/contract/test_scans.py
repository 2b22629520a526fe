"""Pages that are pictures are read by the program `tesseract` where it is installed, and else a note says how they can be."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image
from pypdf import PdfWriter

from research.search.library.documents import Library
from research.web import isolated
from research.web.readers import UnreadableFile
from tests.contract.test_readers import pdf

READ = "read from a picture with OCR; compare names and figures with the file"
Installed = Callable[[str], None]


def scan(*, text: str = "", pictures: int = 1) -> bytes:
    """Return a pdf with a page of text, if there is one, and pages that are pictures."""
    writer = PdfWriter()
    if text:
        writer.append(io.BytesIO(pdf(text)))
    for _ in range(pictures):
        page = io.BytesIO()
        Image.effect_noise((120, 80), 90).save(page, "PDF")
        writer.append(page)
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    """Installs a program that does what the lines of a shell script say."""
    folder = Path(tempfile.mkdtemp())  # where a process without rights may look, too
    folder.chmod(0o755)

    def install(lines: str) -> None:
        program = folder / "tesseract"
        program.write_text(
            f'#!/bin/sh\nif [ "$1" = --list-langs ]; then echo Languages:; echo eng; exit; fi\n{lines}\n'
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    yield install
    shutil.rmtree(folder)


def test_a_page_without_text_is_read_and_cited_as_read_with_ocr(
    tmp_path: Path, installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dam.pdf").write_bytes(scan(text="Report"))
    library = Library(tmp_path / "home")
    with monkeypatch.context() as before:
        before.setenv("PATH", "/nowhere")
        library.add_folder(tmp_path)
    assert library.search("Zelkova high") == []
    installed('cat > /dev/null; [ "$4" = eng ] && echo "Zelkova is 93 m high"')
    library.add_folder(tmp_path)
    (found,) = library.search("Zelkova high")
    assert found.title == "dam.pdf › page 2 (OCR)"
    assert found.quote == "Zelkova is 93 m high"
    assert found.notes == (f"page 2: {READ}",)


def test_the_program_gets_pixels_and_neither_files_nor_the_environment(
    monkeypatch: pytest.MonkeyPatch, installed: Installed
) -> None:
    monkeypatch.setenv("SECRET", "hush")
    installed(
        'echo "$SECRET-$PWD-$(ulimit -f)"; head -c 13; echo; (echo x > /tmp/written-by-ocr) 2>/dev/null || echo refused'
    )
    text = isolated.read_isolated(scan(), ".pdf", "n").text
    assert text.split("\n") == ["-/-0", "P5 120 80 255", "refused"]


@pytest.mark.parametrize("script", ["exit 1", "cat > /dev/null", "kill -9 $$"])
def test_a_picture_in_which_nothing_is_found_is_said(installed: Installed, script: str) -> None:
    installed(script)
    read = isolated.read_isolated(scan(text="Report"), ".pdf", "n")
    assert (read.text, read.notes) == ("Report", ("page 2: a picture without text; OCR found no text in it",))
    with pytest.raises(UnreadableFile, match="has no text on its 2 pages, which are pictures; OCR found no text"):
        isolated.read_isolated(scan(pictures=2), ".pdf", "n")


def test_without_the_program_a_note_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    read = isolated.read_isolated(scan(text="Report"), ".pdf", "n")
    (note,) = read.notes
    assert note.startswith(
        "page 2: a picture without text; to have it read, install the program tesseract (apt-get install"
    )
    with pytest.raises(UnreadableFile, match=r"which are pictures; .*apt-get install tesseract-ocr"):
        isolated.read_isolated(scan(), ".pdf", "n")
