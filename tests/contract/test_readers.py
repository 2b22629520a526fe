"""Reading files: text, HTML, PDF and Word, and errors for unreadable ones."""

from __future__ import annotations

import io
import os
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import docx
import msgspec
import pytest
from pypdf import PdfWriter
from pypdf.errors import DependencyError
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, TextStringObject

from research.errors import ConfigError
from research.web import isolated, scans
from research.web.isolated import read_file, read_isolated
from research.web.locators import Place
from research.web.readers import SUFFIXES, FileText, Link, UnreadableFile, bounded, read_bytes

Read = Callable[[bytes, str, str], FileText]

both_ways = pytest.mark.parametrize("read", [read_bytes, read_isolated])


def pdf(*pages: str) -> bytes:
    """Return a small PDF with one line on each page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, line in enumerate(pages):
        drawing = f"BT /F1 12 Tf 72 700 Td ({line}) Tj ET" if line else ""
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(drawing)} >>\nstream\n{drawing}\nendstream",
        ]
    body, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    return (
        f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}"
        f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    ).encode()


def changed_pdf(change: Callable[[PdfWriter], object]) -> bytes:
    writer = PdfWriter(clone_from=io.BytesIO(pdf("Hello")))
    change(writer)
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def word() -> bytes:
    document = docx.Document()
    document.core_properties.title = "Trade of France"
    document.add_heading("Exports", 2)
    document.add_paragraph("Aircraft come first. 飞机")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ["Year | est.", "Billion", "2024", "1,045"], strict=True):
        cell.text = text
    document.add_paragraph("After the table.")
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


WORD = """## Exports

Aircraft come first. 飞机

| Year ¦ est. | Billion |
| --- | --- |
| 2024 | 1,045 |

After the table."""


def test_markdown_is_titled_by_its_heading(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("intro\n\n# The title\n\ntext\n", encoding="utf-8")
    assert read_file(file) == FileText("The title", "intro\n\n# The title\n\ntext")


MARKDOWN = {
    "front matter": (
        "---\ntitle: 'Bridges'\nauthor: L. Tamm\n---\n\n# Overview\n",
        "Bridges",
        "author: L. Tamm\n\n# Overview",
    ),
    "lists": ("---\ntags: [a, b]\nauthors:\n  - X\n  - Y\n---\nText", "n", "tags: a, b; authors: X, Y\n\nText"),
    "without a title": ("---\ndate: 2021-05-06\n---\n# Overview", "Overview", "date: 2021-05-06\n\n# Overview"),
    "rules": ("---\nNot a field\n---\n# Overview", "Overview", "---\nNot a field\n---\n# Overview"),
    "underlined": ("Bridges\n=======\n\nText", "Bridges", "Bridges\n=======\n\nText"),
    "code": ("```\n# comment\n```\n\n# Title", "Title", "```\n# comment\n```\n\n# Title"),
}


@pytest.mark.parametrize("name", MARKDOWN)
@both_ways
def test_markdown_is_titled_by_its_front_matter_or_first_heading(read: Read, name: str) -> None:
    written, title, text = MARKDOWN[name]
    found = read(written.encode(), ".md", "n")
    assert (found.title, found.text) == (title, text)


def test_text_is_titled_by_its_file_name(tmp_path: Path) -> None:
    file = tmp_path / "report.2024.TXT"
    file.write_text("words", encoding="utf-8")
    assert read_file(file) == FileText("report.2024", "words")


def test_bytes_without_a_title_are_titled_by_their_name() -> None:
    assert read_bytes(b"words", ".txt", "upload.txt").title == "upload.txt"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gbk", "gb18030"])
def test_text_is_decoded_from_common_encodings(encoding: str) -> None:
    text = "法国国内生产总值 2024"
    assert read_bytes(text.encode(encoding), ".txt", "n").text == text


LEGACY = [
    ("windows-1252", "Müller & Söhne in Köln: die Straße heißt Grünenweg."),
    ("windows-1252", "Müller: 48"),
    ("windows-1252", "El niño comió una piña en el jardín de la señora Muñoz."),
    ("windows-1252", "A população da região de São Paulo é de 46 milhões."),
    ("windows-1252", "Åke åkte till Malmö för att köpa smör."),
    ("windows-1252", "20 °C ± 2, £5"),
    ("windows-1250", "Zażółć gęślą jaźń. Ludność miasta wynosi 48 tysięcy osób."),
    ("windows-1251", "Население города составляет 84 тысячи человек."),
    ("koi8-r", "Население города составляет 84 тысячи человек."),
    ("windows-1253", "Ο πληθυσμός της Αθήνας είναι τρία εκατομμύρια."),
    ("windows-1254", "Şirketin geliri geçen yıl yüzde on arttı, yağmur yağıyor."),
    ("windows-1255", "אוכלוסיית תל אביב היא חצי מיליון תושבים."),
    ("shift_jis", "東京の人口は約千四百万人です。首都は東京です。"),
    ("euc_jp", "東京の人口は約千四百万人です。首都は東京です。"),
    ("iso2022_jp", "東京の人口は約千四百万人です。"),
    ("big5", "臺灣的人口約為二千三百萬人。首都是臺北。"),
    ("euc_kr", "서울의 인구는 약 구백만 명이다."),
    ("gb18030", "北京,2020,12"),
    ("utf-16-le", "Half a million people."),
]


@pytest.mark.examples(19)
@pytest.mark.parametrize(("encoding", "text"), LEGACY)
@pytest.mark.parametrize("suffix", [".txt", ".csv", ".html"])
def test_an_undeclared_encoding_is_found_by_its_letters_and_said(encoding: str, text: str, suffix: str) -> None:
    if suffix == ".html" and encoding == "utf-16-le":
        return  # the parser of html finds the encoding by the markup
    written = {".txt": text, ".csv": f"a;b\n{text};1\n", ".html": f"<p>{text.replace('&', '&amp;')}"}[suffix]
    found = read_isolated(written.encode(encoding), suffix, "n")
    assert text in found.text
    assert bool(found.notes) is (encoding != "iso2022_jp")
    assert all("read as" in note for note in found.notes)


def test_a_few_damaged_characters_do_not_change_the_encoding() -> None:
    found = read_bytes("Größe und Fläche, Äpfel, Öl, Übung, Maß, Fuß, süß".encode() + b" \xff", ".txt", "n")
    assert found.text.startswith("Größe und Fläche")
    assert "1 characters are damaged" in found.notes[0]


def test_html_is_decoded_as_it_declares() -> None:
    page = '<html><head><meta charset="iso-8859-1"><title>Café</title></head><body>déjà vu</body></html>'
    read = read_bytes(page.encode("latin-1"), ".html", "n")
    assert (read.title, read.text) == ("Café", "déjà vu")


def test_html_becomes_markdown() -> None:
    sentence = "The quick brown fox jumps over the lazy dog, again and again, until the paragraph is long. "
    article = f"<article><h2>Life</h2><p>{sentence * 3}</p><ul><li>one</li></ul></article>"
    page = f"<html><head><title>Fox</title></head><body><nav>menu</nav>{article}</body></html>"
    read = read_bytes(page.encode(), ".htm", "n")
    assert read.title == "Fox"
    assert read.text.startswith("## Life\n")
    assert "menu" not in read.text


@both_ways
def test_pdf_pages_are_read_in_order(read: Read) -> None:
    found = read(pdf("Hello", "", "World"), ".pdf", "paper")
    assert found == FileText("paper", "Hello\n\nWorld", places=(Place(0, "page 1"), Place(7, "page 3")))


def test_a_pdf_is_titled_by_its_metadata() -> None:
    assert read_bytes(changed_pdf(lambda it: it.add_metadata({"/Title": "Own"})), ".pdf", "n").title == "Own"


def test_an_encrypted_pdf_without_a_user_password_is_read() -> None:
    data = changed_pdf(lambda it: it.encrypt("", owner_password="owner", algorithm="RC4-128"))
    assert read_bytes(data, ".pdf", "n").text == "Hello"


def test_a_pdf_that_only_a_missing_package_opens_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise DependencyError("cryptography>=3.1 is required for AES algorithm")

    monkeypatch.setattr("pypdf.PdfReader.__init__", missing)
    with pytest.raises(UnreadableFile, match="pip install cryptography"):
        read_bytes(pdf("Hello"), ".pdf", "n")


def undecodable(writer: PdfWriter) -> None:
    """Make the font of the pages one whose codes are numbers of glyphs, without a table of letters."""
    font = writer.pages[0]["/Resources"]["/Font"]["/F1"].get_object()  # type: ignore[index]
    font[NameObject("/Subtype")], font[NameObject("/Encoding")] = NameObject("/Type0"), NameObject("/Identity-H")
    info = DictionaryObject({NameObject("/Ordering"): TextStringObject("Identity")})
    inner = {"/Type": NameObject("/Font"), "/Subtype": NameObject("/CIDFontType2"), "/CIDSystemInfo": info}
    font[NameObject("/DescendantFonts")] = ArrayObject([DictionaryObject({NameObject(k): v for k, v in inner.items()})])


def test_a_pdf_whose_letters_are_unknown_is_not_read() -> None:
    with pytest.raises(UnreadableFile, match="do not say which letters they show, .*run OCR"):
        read_isolated(changed_pdf(undecodable), ".pdf", "n")


def test_a_font_with_a_false_table_of_letters_is_not_read() -> None:
    text = (
        "the yearly inspection found eleven cracks within western walls, none deeper than three metres; every second sample "
        "showed moisture below their bottom layers, though neither engineers nor village council considered urgent measures"
    )
    shifted = "".join(chr((ord(letter) - 97 + 3) % 26 + 97) if letter.isalpha() else letter for letter in text)
    assert read_isolated(pdf(text), ".pdf", "n").text == text
    with pytest.raises(UnreadableFile, match="or say it falsely"):
        read_isolated(pdf(shifted), ".pdf", "n")


def test_what_cannot_be_decoded_is_left_out_and_said() -> None:
    writer = PdfWriter(clone_from=io.BytesIO(changed_pdf(undecodable)))
    writer.append(io.BytesIO(pdf("World", "\\001\\002\\003\\004")))
    written = io.BytesIO()
    writer.write(written)
    found = read_isolated(written.getvalue(), ".pdf", "n")
    assert found.text == "World"
    assert found.notes[0].startswith("pages 1, 3: text left out, because its font does not say")


def test_a_page_that_is_a_picture_is_said() -> None:
    def scanned(writer: PdfWriter) -> None:
        page = writer.add_blank_page(99, 99)
        picture = DictionaryObject({NameObject("/Subtype"): NameObject("/Image")})
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/XObject"): DictionaryObject({NameObject("/I"): picture})}
        )

    assert read_bytes(changed_pdf(scanned), ".pdf", "n").notes == (f"page 2: a picture without text; {scans.INSTALL}",)


def lines(*texts: str) -> bytes:
    return pdf(") Tj 0 -14 Td (".join(texts))


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (["the reser-", "voir, which is 93 me-", "tres deep"], "the reservoir,\nwhich is 93 metres\ndeep"),
        (["a well-known dam", "is well-", "known"], "a well-known dam\nis well-known"),
        (["a long list of the term", "in the long-", "term plan"], "a long list of the term\nin the long-term\nplan"),
        (["the Anglo-", "Saxon wall"], "the Anglo-Saxon\nwall"),
        (["from 2020-", "2021"], "from 2020-\n2021"),
        (["a - ", "b"], "a -\nb"),
    ],
)
def test_a_word_divided_at_the_end_of_a_line_is_joined(written: list[str], text: str) -> None:
    assert [line.strip() for line in read_bytes(lines(*written), ".pdf", "n").text.split("\n")] == text.split("\n")


SPANS = {
    "rows": (
        "<tr><th>Region<th>City<th>Shops<tr><td rowspan=2>North<td>Orvik<td>12<tr><td>Lucknow<td>7<tr><td>South<td>Tamm<td>9",
        "| North | Lucknow | 7 |",
    ),
    "last column": (
        "<tr><th>City<th>Shops<th>Year<tr><td>Orvik<td>12<td rowspan=0>2021<tr><td>Lucknow<td>7",
        "| Lucknow | 7 | 2021 |",
    ),
    "columns": ("<tr><th>City<th colspan=2>Shops<tr><td>Orvik<td>12<td>13", "| City | Shops | Shops |"),
    "both": (
        "<tr><th>A<th>B<th>C<tr><td rowspan=2 colspan=2>x<td>1<tr><td>2",
        "| x | x | 2 |",
    ),
}


def test_a_raised_digit_of_a_unit_stays_part_of_it() -> None:
    table = "<table><tr><th colspan=2>Lake Orr<tr><th>Area<td>412 km<sup>2</sup><tr><th>Note<td>old<sup>2</sup></table>"
    found = read_isolated(
        f"<article><h1>Lake Orr</h1>{table}<p>{'A lake of the north. ' * 20}</p>".encode(), ".html", "n"
    )
    assert "412 km²" in found.text and "old²" not in found.text


@pytest.mark.parametrize("name", SPANS)
def test_a_merged_cell_of_html_is_repeated(name: str) -> None:
    table, row = SPANS[name]
    prose = "<p>The table lists the number of shops that each region had in the year 2021, as counted by the board.</p>"
    found = read_isolated(f"<article><h1>Sales</h1>{prose}<table>{table}</table></article>".encode(), ".html", "n")
    assert row in found.text.replace("  ", " ")


def test_merged_cells_do_not_blow_up_a_page() -> None:
    rows = "<tr><td rowspan=65000 colspan=1000>x</td></tr>" * 3_000
    assert read_isolated(f"<table>{rows}</table>".encode(), ".html", "n", timeout_s=30).text


def test_a_docx_without_a_title_is_titled_by_the_heading_it_begins_with() -> None:
    document, written = docx.Document(), io.BytesIO()
    document.add_heading("Lease", 0)
    document.add_heading("1 Term", 1)
    document.save(written)
    assert read_bytes(written.getvalue(), ".docx", "n") == FileText("Lease", "# Lease\n\n# 1 Term")
    assert read_bytes(pdf("# Lease"), ".pdf", "n").title == "n"


@both_ways
def test_docx_keeps_headings_tables_and_order(read: Read) -> None:
    found = read(word(), ".docx", "n")
    assert (found.title, found.text) == ("Trade of France", WORD)
    assert [(table.place, table.rows) for table in found.tables] == [("table 1", ((2024, 1045),))]


@cache
def bomb() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("word/document.xml", "w") as part:
        for _ in range(210):
            part.write(bytes(10**6))
    return packed.getvalue()


def without(part: str) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(word())) as whole, zipfile.ZipFile(written, "w") as rest:
        for name in whole.namelist():
            if name != part:
                rest.writestr(name, whole.read(name))
    return written.getvalue()


REFUSED = {
    "empty": (b"", ".txt", "is empty"),
    "blank": (b" \n\t\n", ".md", "contains no text"),
    "html without words": (b"<title>only</title>", ".html", "contains no text"),
    "unknown kind": (b"x", ".key", "unknown format '.key'; known: .md, .txt"),
    "no kind": (b"x", "", "unknown format ''"),
    "binary": (b"\x89PNG\r\n\x1a\n\x00\x00", ".txt", "not text; save it as text in UTF-8"),
    "zeros": (bytes(9), ".md", "not text"),
    "half a utf-16 character": (b"\xff\xfea", ".txt", "not text"),
    "garbage pdf": (b"garbage", ".pdf", "a damaged pdf"),
    "half a pdf": (pdf("Hello")[:90], ".pdf", "a damaged pdf"),
    "locked pdf": (
        changed_pdf(lambda it: it.encrypt("key", algorithm="RC4-128")),
        ".pdf",
        "encrypted; save it without",
    ),
    "scanned pdf": (pdf("", ""), ".pdf", "has no text on its 2 pages"),
    "garbage docx": (b"garbage", ".docx", "a damaged docx"),
    "half a docx": (word()[:5000], ".docx", "a damaged docx"),
    "docx without document": (without("word/document.xml"), ".docx", "a damaged docx"),
    "docx without types": (without("[Content_Types].xml"), ".docx", "a damaged docx"),
    "locked docx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ".docx", "encrypted, or an old .doc"),
}


@both_ways
@pytest.mark.parametrize(("data", "suffix", "reason"), REFUSED.values(), ids=REFUSED)
def test_an_unreadable_file_is_reported_with_the_reason(read: Read, data: bytes, suffix: str, reason: str) -> None:
    with pytest.raises(UnreadableFile) as caught:
        read(data, suffix, "the file")
    assert caught.value.path == "the file"
    assert reason in caught.value.reason
    assert str(caught.value).startswith("the file ")
    assert isinstance(caught.value, ConfigError)


@both_ways
def test_a_file_that_unpacks_to_too_much_is_refused(read: Read) -> None:
    with pytest.raises(UnreadableFile, match="unpacks to 210 MB, the limit is 200 MB"):
        read(bomb(), ".docx", "n")


def test_a_file_over_the_size_limit_is_rejected_unread(tmp_path: Path) -> None:
    file = tmp_path / "big.pdf"
    file.touch()
    os.truncate(file, 60_000_000)
    with pytest.raises(UnreadableFile, match=r"big\.pdf is too big: 60 MB, the limit is 50 MB; split it"):
        read_file(file)


def test_an_unreadable_file_is_named_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "empty.docx"
    file.write_bytes(b"not a zip")
    with pytest.raises(UnreadableFile, match="a damaged docx") as caught:
        read_file(file)
    assert caught.value.path == file


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"gone\.md cannot be opened: No such file"):
        read_file(tmp_path / "gone.md")


def test_every_suffix_has_a_reader() -> None:
    for suffix in SUFFIXES:
        with pytest.raises(UnreadableFile, match="n (contains no text|is a damaged|is not|has no head)"):
            read_bytes(b" ", suffix, "n")


def test_a_reader_over_its_time_limit_is_killed() -> None:
    with pytest.raises(UnreadableFile, match=r"slow takes more than 0 s to read"):
        read_isolated(b"<p>text", ".html", "slow", timeout_s=0)
    assert read_isolated(b"<p>text", ".html", "next").text == "text"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can seal a process")
def test_readers_are_sealed() -> None:
    assert isolated.problem() == ""


def test_a_declared_charset_is_one_of_the_web_or_ignored() -> None:
    page = '<html><head><meta charset="{}"></head><body>café-</body></html>'
    assert read_bytes(page.format("punycode").encode(), ".html", "n").text == "café-"
    assert read_bytes(page.format("latin-1").encode("latin-1"), ".html", "n").text == "café-"
    assert read_bytes(b"caf-", ".txt", "n", "punycode").text == "caf-"
    assert read_bytes("法国".encode("gb18030"), ".txt", "n", "gb2312").text == "法国"
    assert read_bytes("Страна".encode("koi8-r"), ".txt", "n", "KOI8-R").text == "Страна"


LONG = "word " * 1000


@both_ways
def test_titles_and_metadata_are_short(read: Read) -> None:
    head = f'<title>{LONG}</title><meta name="author" content="{LONG}"><meta name="citation_doi" content="{LONG}">'
    found = read(f"<html><head>{head}<base href='/{LONG}'></head><body>a</body></html>".encode(), ".html", "n")
    values = [found.title, found.base, found.csl["title"], found.csl["DOI"], found.csl["author"][0]["literal"]]
    assert max(map(len, values)) <= 300
    assert len(read(f"# {LONG}\n\ntext".encode(), ".md", "n").title) <= 300
    assert len(read(b"text", ".txt", LONG).title) <= 300
    titled = changed_pdf(lambda it: it.add_metadata({"/Title": LONG, "/Author": LONG}))
    assert max(map(len, map(str, (read(titled, ".pdf", "n").title, read(titled, ".pdf", "n").csl)))) <= 800


def test_what_a_reader_process_answers_is_not_trusted() -> None:
    nested: list[object] = []
    for _ in range(100):
        nested = [nested]
    links = (Link(LONG, "/" + LONG), Link(LONG, "/a")) * 1000
    csl = {"author": [{"literal": LONG}] * 1000, LONG: nested, "issued": {"date-parts": [[2024, 10**99]]}}
    found = bounded(FileText(LONG, "text", links, LONG, csl), "n")
    assert len(found.links) == 300
    assert len(msgspec.json.encode(found)) < 100_000
    assert found.csl["issued"] == {"date-parts": [[2024, ""]]}
    with pytest.raises(UnreadableFile, match="60 million characters"):
        bounded(FileText("n", "x" * 60_000_000), "n")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "zero.md").symlink_to("/dev/zero")
    (tmp_path / "folder.md").mkdir()
    for path in tmp_path.iterdir():
        with pytest.raises(UnreadableFile, match="is not a regular file"):
            read_file(path)


def test_a_declared_encoding_that_is_wrong_is_not_believed() -> None:
    text = "Müller und Söhne in Köln führen schöne Bücher über die Straße."
    page = b"<meta charset=utf-8><p>" + text.encode("cp1252")
    read = read_bytes(page, ".html", "n")
    assert (read.text, len(read.notes)) == (text, 1)
    assert "was read as windows-1252" in read.notes[0]
    one = "Größe, Köln, Straße, schön, über, für, Bücher, Bäume, Öl, Übung, Äpfel".encode() + b" \xff"
    assert read_bytes(b"<meta charset=utf-8><p>" + one, ".html", "n").notes == (
        "1 damaged characters; if they matter, save it again as UTF-8",
    )


def test_front_matter_may_be_toml() -> None:
    read = read_bytes(
        b'+++\ntitle = "Bridges"\nauthors = ["L. Tamm", "A. Berg"]\ndate = 2021-05-06\n+++\n\nText.', ".md", "n"
    )
    assert (read.title, read.text) == ("Bridges", "authors: L. Tamm, A. Berg; date: 2021-05-06\n\nText.")


def test_thai_without_a_declaration_is_read() -> None:
    text = "ประชากรของกรุงเทพมหานครมีประมาณสิบล้านคน"
    assert read_bytes(text.encode("cp874"), ".txt", "n").text == text
