"""Reference managers: their files are read with all fields, a Zotero library is copied, and sources are exported to them."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from research.errors import ConfigError
from research.exports import ris
from research.search.library import zotero
from research.search.library.documents import Library
from research.web.readers import UnreadableFile, read_bytes
from tests.contract.test_readers import pdf
from tests.unit.test_exports_bibliography import run_of, source

BIB = r"""% a remark
@string{jn = "Journal of " # {Harbours}}
@comment{left out}
@article{muller2020, author = {M{\"u}ller, J{\"o}rg and S\o rensen, \'{E}va and {\v Z}i\v{z}ek, S.},
  title = "The {Orvik} Harbour: 3 \& 4", journal = jn # ", new series", year = 2020, pages = {12--19}, doi={10.1/x_y},
  abstract={It has twelve {berths}.}, local={kept too}}
@book(key2, title={Second}, publisher={Stra\ss e})
"""
RIS = """TY  - JOUR\r\nAU  - Müller, J.\r\nAU  - Sørensen, E.\r\nT1  - The harbour\r\nJO  - J. Harb.\r\nPY  - 2020\r\nSP  - 12\r
EP  - 19\r\nAB  - It has\r\n  twelve berths.\r\nZZ  - kept too\r\nER  - \r\n\r\nTY  - BOOK\r\nTI  - Second\r\nER  - \r\n"""


def test_bibtex_is_read_with_all_fields() -> None:
    read = read_bytes(BIB.encode(), ".bib", "refs.bib")
    assert [place.name for place in read.places] == ["muller2020", "key2"]
    assert read.text.splitlines()[:9] == [
        "# The Orvik Harbour: 3 & 4",
        "type: article",
        "Authors: Müller, Jörg and Sørensen, Éva and Žižek, S.",
        "In: Journal of Harbours, new series",
        "Year: 2020",
        "Pages: 12–19",
        "DOI: 10.1/x_y",
        "Abstract: It has twelve berths.",
        "local: kept too",
    ]
    assert "Publisher: Straße" in read.text and "left out" not in read.text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_ris_is_read_with_all_fields(encoding: str) -> None:
    read = read_bytes(RIS.encode(encoding), ".ris", "refs.ris")
    assert [place.name for place in read.places] == ["The harbour", "Second"]
    assert read.text.splitlines()[:7] == [
        "# The harbour",
        "Authors: Müller, J.; Sørensen, E.",
        "In: J. Harb.",
        "Year: 2020",
        "Pages: 12–19",
        "Abstract: It has twelve berths.",
        "ZZ: kept too",
    ]


@pytest.mark.parametrize("suffix", [".bib", ".ris"])
def test_another_text_is_refused(suffix: str) -> None:
    with pytest.raises(UnreadableFile, match="export it again"):
        read_bytes(b"Some words.", suffix, "n")


def test_sources_are_exported_as_ris_that_is_read_again() -> None:
    told = {"type": "article-journal", "title": "The harbour", "author": [{"family": "Müller", "given": "J."}]}
    told |= {"issued": {"date-parts": [[2020, 5]]}, "container-title": "J. Harb.", "DOI": "10.1234/x", "volume": "3"}
    made = ris.render(run_of(source(1, **told), source(2)))
    assert made.splitlines()[0] == "TY  - JOUR" and "DA  - 2020/05/" in made.splitlines()
    read = read_bytes(made.encode(), ".ris", "n")
    assert len(read.places) == 2
    assert {"Authors: Müller, J.", "In: J. Harb.", "DOI: 10.1234/x", "Volume: 3"} <= set(read.text.splitlines())


def zotero_of(files: list[Path]) -> httpx2.Client:
    """Return a client of a Zotero that has these files, a link, and 120 records."""
    items = [{"key": f"K{n}", "links": {"enclosure": {"href": each.as_uri()}}} for n, each in enumerate(files)]
    items.append({"key": "L", "links": {"alternate": {"href": "http://a.example"}}})

    def answer(request: httpx2.Request) -> httpx2.Response:
        start = int(request.url.params["start"])
        if request.url.params["format"] == "json":
            return httpx2.Response(200, json=items, headers={"Total-Results": str(len(items))})
        numbers = range(start, min(120, start + 100))
        text = "\n\n".join(f"TY  - BOOK\nTI  - Book {number} of harbours\nER  - " for number in numbers)
        return httpx2.Response(200, text=text, headers={"Total-Results": "120"})

    return httpx2.Client(base_url=zotero.ADDRESS, transport=httpx2.MockTransport(answer))


def test_a_zotero_library_is_copied_with_its_files_and_searched(tmp_path: Path) -> None:
    paper, gone, picture = tmp_path / "Dams.pdf", tmp_path / "gone.pdf", tmp_path / "a.png"
    paper.write_bytes(pdf("The Zelkova dam is 93 m high."))
    picture.write_bytes(b"x")
    place = tmp_path / "Zotero"
    with zotero_of([paper, gone, picture]) as client:
        copied = zotero.copy(place, client, lambda done, total, name: None)
    assert copied.files == 1
    assert dict(copied.missing) == {
        "gone.pdf": "cannot be copied: No such file or directory",
        "a.png": "is of the format .png, which is not read",
    }
    library = Library(tmp_path / "home")
    library.add_folder(place)
    assert library.search("Zelkova dam")[0].title == "Dams K0.pdf › page 1"
    assert library.search("Book 117")[0].title == "records.ris › Book 117 of harbours"
    with zotero_of([]) as client:
        zotero.copy(place, client, lambda done, total, name: None)
    assert [each.name for each in place.iterdir()] == ["records.ris"]


def test_a_zotero_that_does_not_answer_is_said_with_what_to_do(tmp_path: Path) -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    with (
        httpx2.Client(base_url=zotero.ADDRESS, transport=httpx2.MockTransport(refuse)) as client,
        pytest.raises(ConfigError, match="Zotero does not answer at http://127.0.0.1:23119 .*start it"),
    ):
        zotero.copy(tmp_path / "z", client, lambda done, total, name: None)
