"""The report as a web page, a PDF and a Word file: the same text in each, complete Chinese, and nothing active."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import docx as word
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pypdf import PdfReader

from research.citations import statements, uncited, without_marks
from research.citations.marks import SYMBOLS
from research.citations.reasons import because
from research.events.events import Earlier, Event, Exchange, RunStarted
from research.events.recipe import Recipe
from research.events.view import RunView
from research.exports import FORMATS
from research.exports.blocks import DEEPEST, Block, Code, Heading, Items, Paragraph, Quote, Table, parse
from research.exports.docx import docx
from research.exports.html import html
from research.exports.json import as_dict
from research.exports.markdown import markdown
from research.exports.pdf import pdf
from research.exports.progress import summary
from research.exports.right_to_left import shaped, visual
from research.types import Citation, Source
from tests.fuzz import up_to
from tests.unit.test_exports_bibliography import HOSTILE, run_of, source
from tests.unit.test_png import GOOD as PNG

CHINESE = "法国2024年的实际GDP是多少？"
REPORT = """## 摘要

法国2024年的实际GDP（购买力平价）为 **3.732 万亿美元** [1]，约占世界的 2 %
左右。第二句没有核实 [2]。

- 第一项：*斜体* 与 `代码`
  1. 子项 ≈ − ² €

| 国家 | GDP |
|---|---:|
| 法国 | 3.732 [1] |

> 引文

见[世界银行](https://data.example/a?b=1)。
"""
CITATIONS = (
    Citation(1, "法国2024年的实际GDP（购买力平价）为 **3.732 万亿美元** ，约占世界的 2 %", "supported"),
    Citation(2, "第二句没有核实。", "unsupported", reason="the source gives 5 km",
             reasons=(because("the source gives {figure}", figure="5 km"),)),
)  # fmt: skip


def chinese() -> RunView:
    view = run_of(source(1, "法国 · 经济"), source(2, "世界银行", "https://data.example/2"), report=REPORT,
                  citations=CITATIONS, uncited=("没有来源的一句。",), images=(PNG,))  # fmt: skip
    view.question = CHINESE
    return view


REPORT_PDF = "library://mine/report.pdf"
PLACES = (
    Source(1, REPORT_PDF, "report.pdf › page 1", "We moved 4.2 million parcels in 2025."),
    Source(1, REPORT_PDF, "report.pdf › page 2", "The dividend\nproposed is EUR 0.85 per share. A new depot opens."),
    Source(
        1, REPORT_PDF, "report", "We moved 4.2 million parcels in 2025.\nThe dividend\nproposed is EUR 0.85 per share."
    ),
)


def test_a_reference_names_the_page_of_its_own_quote() -> None:
    said = "The dividend proposed is EUR 0.85 per share."
    view = run_of(*PLACES, report=f"{said} [1]", citations=(Citation(1, said, "supported", said),))
    assert [each.title for each in view.cited_sources] == ["report.pdf › page 2"]
    for made in (markdown(view), html(view), docx_text(docx(view)), pdf_text(pdf(view))):
        assert "page 2" in made and "page 1" not in made


def test_quotes_of_several_pages_name_their_own_and_the_reference_none() -> None:
    first, second = "We moved 4.2 million parcels in 2025.", "The dividend proposed is EUR 0.85 per share."
    cited = tuple(Citation(1, each, "supported", each) for each in (first, second))
    view = run_of(*PLACES, report=f"{first} [1] {second} [1]", citations=cited)
    assert [each.title for each in view.cited_sources] == ["report.pdf"]
    for made in (markdown(view), html(view), docx_text(docx(view)), pdf_text(pdf(view))):
        flat = " ".join(made.replace("<br>", " ").replace("> ", "").split())
        assert f"{first} (page 1)" in flat and f"{second} (page 2)" in flat
        assert "› page" not in flat


def test_a_quote_that_no_passage_has_names_no_page() -> None:
    view = run_of(
        *PLACES, report="So it is. [1]", citations=(Citation(1, "So it is.", "unverified", "Something else."),)
    )
    assert [each.title for each in view.cited_sources] == ["report"]


def pdf_text(content: bytes) -> str:
    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(content)).pages)


def docx_text(content: bytes) -> str:
    file = word.Document(io.BytesIO(content))
    return "\n".join("".join(each.itertext()) for each in file.element.body.iter(f"{{{file.element.nsmap['w']}}}p"))


class Page(HTMLParser):
    """The tags, attributes and text of an HTML file."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def values(self, name: str) -> list[str]:
        return [str(attrs[name]) for _, attrs in self.tags if name in attrs]


def html_text(view: RunView) -> str:
    return Page(html(view)).text


READERS: dict[str, Callable[[RunView], str]] = {
    "html": html_text, "pdf": lambda view: pdf_text(pdf(view)), "docx": lambda view: docx_text(docx(view)),
    "md": markdown,
}  # fmt: skip


# The words


@pytest.mark.parametrize("name", READERS)
def test_a_chinese_report_is_chinese_throughout(name: str) -> None:
    text = re.sub(r"\s", "", READERS[name](chinese()))
    for expected in (
        CHINESE, "摘要", "3.732万亿美元", "斜体", "代码", "≈−²€", "国家", "引文", "参考文献", "法国·经济", "核查",
        "共核查2处引用：✓1有依据，✗1无依据。", "✓1有依据", "无依据：来源给出的是5km", "没有来源的一句。", "图",
    ):  # fmt: skip
        assert expected in text, expected
    assert "References" not in text


@pytest.mark.parametrize("name", READERS)
def test_an_english_report_has_english_words_and_the_recipe_decides(name: str) -> None:
    view = chinese()
    view.recipe = Recipe(language="en")
    text = READERS[name](view)
    assert "References" in text
    assert "参考文献" not in text
    assert re.search("✗ 1 ", text)


@pytest.mark.parametrize("name", ["html", "pdf", "docx"])
@pytest.mark.parametrize(
    "language, words", [("en", ["ReAct / Full history", "Offline model"]), ("zh", ["ReAct / 完整历史", "离线模型"])]
)
def test_a_file_calls_framework_strategy_and_model_as_a_reader_does(name: str, language: str, words: list[str]) -> None:
    view = chinese()
    view.recipe = Recipe(language=language)
    text = " ".join(READERS[name](view).split())
    assert [each for each in words if each not in text] == []


# The tree


def texts(blocks: tuple[Block, ...]) -> str:
    """Return all text of a tree."""
    found = ""
    for block in blocks:
        match block:
            case Heading(spans=spans) | Paragraph(spans=spans):
                found += "".join(span.text for span in spans)
            case Code(text=text):
                found += text
            case Quote(blocks=inner):
                found += texts(inner)
            case Items(items=items):
                found += "".join(map(texts, items))
            case Table():
                found += "".join(span.text for row in (block.head, *block.rows) for cell in row for span in cell)
        found += "\n"
    return found


def depth(blocks: tuple[Block, ...]) -> int:
    inner = [each.blocks for each in blocks if isinstance(each, Quote)]
    inner += [item for each in blocks if isinstance(each, Items) for item in each.items]
    return 1 + max(map(depth, inner), default=-1)


@pytest.mark.examples(4)
@pytest.mark.parametrize("mark", ["> ", "- ", "1. ", "* > "])
@pytest.mark.parametrize("deep", [5, 50, 500])
def test_deeply_nested_text_is_flattened_but_not_lost(mark: str, deep: int) -> None:
    for text in (mark * deep + "kept", "\n".join("  " * i + mark + f"x{i}" for i in range(deep)) + "\n\nkept"):
        blocks = parse(text)
        assert "kept" in texts(blocks)
        assert depth(blocks) <= DEEPEST
    assert all(f"x{i}" in texts(blocks) for i in range(deep))


def test_citation_marks_carry_the_verdict_on_their_own_statement() -> None:
    checked = (
        Citation(1, "One is so.", "supported"),
        Citation(1, "Two is so.", "partial"),
        Citation(3, "Gone.", "dead"),
    )
    (block,) = parse("One is so [1]. Two is so [1, 3].", checked)
    assert isinstance(block, Paragraph)
    assert [(span.cites, span.status) for span in block.spans if span.cites] == [
        (1, "supported"),
        (1, "partial"),
        (3, "dead"),
    ]
    (first,), (second,) = parse("One is so [1].", checked), parse("Two is so [1].", checked)
    assert [span.status for span in (*first.spans, *second.spans) if span.cites] == ["supported", "partial"]  # type: ignore[union-attr]


def test_a_mark_in_a_table_carries_the_verdict_on_its_row_or_cell() -> None:
    text = "| Town | Area | Mills | Source |\n|---|---|---|---|\n| Orrin | 5 | 2 | [1] |\n| Tveit | 7 | 3 | [1] |"
    several = text.replace("| 5 | 2 | [1] |", "| 5 [1] | 2 [1] | |")
    for report in (text, several):
        checked = tuple(
            Citation(each.numbers[0], without_marks(each.text), verdict)
            for each, verdict in zip(statements(report), ("contradicted", "supported", "partial"), strict=False)
        )
        (table,) = parse(report, checked)
        assert isinstance(table, Table)
        marks = [span.status for row in table.rows for cell in row for span in cell if span.cites]
        assert marks == [each.status for each in checked]


UNSOURCED = """## Norway has 5 million people

This report compares two countries. Norway has **5 million** people. **Sweden has 10 million people.** Iceland is small [1].
Denmark has `5 million cows. Yes` and 6 million people.

| Country | People |
|---|---:|
| Norway | 5 million |
| Sweden | 9 million [1] |

- Finland has *6 million people*

$$x = 5$$
"""


def test_a_statement_without_a_source_is_marked_where_it_stands() -> None:
    found = uncited(UNSOURCED)
    text = texts(parse(UNSOURCED, uncited=found))
    assert text.count("[?]") == 2, "a paragraph in which a statement ends within code has no marks"
    paragraph = UNSOURCED.replace("Denmark has `5 million cows. Yes` and 6 million people.", "")
    heading, first, table, items, shown = parse(paragraph, uncited=found)
    assert isinstance(first, Paragraph) and isinstance(table, Table)
    assert texts((heading, shown)) == "Norway has 5 million people\nx = 5\n"
    said = (
        "This report compares two countries. Norway has 5 million people.[?] Sweden has 10 million people.[?] Iceland"
    )
    assert texts((first,)).startswith(said)
    assert [span.bold for span in first.spans if span.unsourced] == [False, True]
    assert [[span.unsourced for span in row[1]] for row in table.rows] == [[False, True], [False, False]]
    assert "[?]" not in texts(parse(paragraph)), "nothing is known about a draft"


@pytest.mark.parametrize("name", ["html", "pdf", "docx"])
def test_an_export_shows_the_marks_of_statements_without_a_source(name: str) -> None:
    report = "Norway has 5 million people. Sweden has 10 million people [1]."
    view = run_of(source(1, "Sweden"), report=report, uncited=uncited(report))
    text = re.sub(r"\s", "", READERS[name](view))
    assert "Norwayhas5millionpeople.[?]Sweden" in text
    assert "1sentencewithoutasource,marked[?]:" in text


def test_chinese_lines_are_joined_without_a_space_and_english_lines_with_one() -> None:
    assert texts(parse("第一行。\n第二行\nand English\nhere")).strip() == "第一行。第二行 and English here"


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "library://a/b", "file:///etc/passwd", "//x.test/", "vbscript:x"]
)
def test_unsafe_urls_are_not_linked(url: str) -> None:
    for text in (f"[a]({url})", f"<{url}>", f"![a]({url})", f"[a][r]\n\n[r]: {url}"):
        assert '"href"' not in str(parse(text))
        assert not re.search(r"href='[^']", str(parse(text)))


# Inert


MORE = [
    "<svg onload=alert(1)><style>@import 'https://evil.test/x.css'</style></svg>",
    "<iframe src=https://evil.test/></iframe>\n\n```mermaid\ngraph TD; A-->B\n```",
    "[a](https://evil.test/\" onclick=\"alert(1))",
    "\u202ereversed\u2066 \u200fx\ufeff \x00\x0b\x1b]8;;https://evil.test\x07",
    "{nb} ${plots} $body %s {0} \ue000\ue001\ue002\ue003",
    "]]>&lt;script&gt;alert(1)&lt;/script&gt;<!--",
    "| a |\n|---|\n| <img src=x onerror=alert(1)> |",
    "=cmd|' /C calc'!A0",
]  # fmt: skip


@pytest.mark.examples(8)
@pytest.mark.parametrize("text", HOSTILE + MORE)
def test_a_hostile_report_is_inert_in_every_format(text: str) -> None:
    line = " ".join(text.split())
    view = run_of(
        Source(1, f"https://example.org/{text}", text, text), Source(2, "javascript:alert(1)//" + line, line, line),
        report=f"{text}\n\nFact [1]. Other [2].\n\n{text}", citations=(Citation(1, text, "unsupported", text, text),),
        uncited=(text,), removed=(text, "https://evil.test/leak"), images=(PNG, b"<svg>"),
    )  # fmt: skip
    view.question = text
    page = Page(html(view))
    assert {tag for tag, _ in page.tags} <= {
        "html", "head", "meta", "link", "title", "style", "body", "main", "h1", "h2", "h3", "section", "p", "ol", "ul", "li",
        "cite", "code", "a", "blockquote", "bdi", "abbr", "img", "dl", "div", "dt", "dd", "br", "pre", "table", "thead",
        "tbody", "tr", "th", "td",
    }  # fmt: skip
    assert {name for _, attrs in page.tags for name in attrs} <= {
        "lang", "charset", "http-equiv", "content", "name", "rel", "href", "class", "id", "value", "title", "alt", "src", "start",
    }  # fmt: skip
    assert all(url.startswith("data:image/png;base64,") for url in page.values("src"))
    assert all(re.match(r"https?://|mailto:|#source-|data:,", url) for url in page.values("href"))
    assert all(attrs["rel"] == "noopener noreferrer" for tag, attrs in page.tags if tag == "a")
    assert "https://evil.test/leak" not in page.values("href")
    made = docx(view)
    with zipfile.ZipFile(io.BytesIO(made)) as parts:
        outside = [
            (kind, target)
            for name in parts.namelist() if name.endswith(".rels")
            for kind, target in re.findall(r'Type="[^"]*/(\w+)" Target="([^"]*)" TargetMode="External"', parts.read(name).decode())
        ]  # fmt: skip
    assert {kind for kind, _ in outside} <= {"hyperlink"}
    assert all(re.match(r"https?://|mailto:", target) for _, target in outside)
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", docx_text(made))


def test_a_hostile_report_is_inert_in_a_pdf() -> None:
    texts = [*HOSTILE, *MORE]
    sources = [Source(n, f"https://example.org/{text}", text, text) for n, text in enumerate(texts, 1)]
    report = "\n\n".join(f"{text} [{n}]" for n, text in enumerate(texts, 1))
    view = run_of(*sources, report=report, uncited=tuple(texts), removed=("https://evil.test/leak",))
    view.question = texts[0]
    reader = PdfReader(io.BytesIO(pdf(view)))
    notes = [note.get_object() for page in reader.pages for note in page.get("/Annots", [])]
    actions = [note["/A"] for note in notes if "/A" in note]
    assert len(actions) > 3
    assert all(action["/S"] == "/URI" and re.match(r"https?://|mailto:", action["/URI"]) for action in actions)
    assert "https://evil.test/leak" not in {action["/URI"] for action in actions}
    assert not {"/AA", "/Names", "/AcroForm"} & set(reader.root_object)
    assert "{nb}" in pdf_text(pdf(view))


@pytest.mark.slow
@up_to(50)
@given(st.text(max_size=200))
def test_any_text_gives_files_that_can_be_opened(text: str) -> None:
    view = run_of(source(1, text), report=f"{text}\n\n{text} [1]", uncited=(text,))
    view.question = text
    assert Page(html(view)).text
    assert docx_text(docx(view))
    assert pdf_text(pdf(view))


# Each format


def test_the_web_page_has_a_strict_content_security_policy_and_loads_nothing() -> None:
    made = html(chinese())
    page = Page(made)
    policy = next(str(attrs["content"]) for tag, attrs in page.tags if attrs.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert page.tags[0] == ("html", {"lang": "zh-CN"})
    assert "url(" not in made
    assert "@import" not in made
    assert ("a", {"class": "mark", "href": "#source-1", "rel": "noopener noreferrer"}) in page.tags
    assert ("li", {"id": "source-1", "value": "1"}) in page.tags
    assert page.text.count(SYMBOLS["unsupported"]) == 3


def test_the_pdf_has_embedded_fonts_links_a_title_and_page_numbers() -> None:
    made = pdf(chinese())
    reader = PdfReader(io.BytesIO(made))
    assert len(made) < 300_000
    assert reader.metadata is not None
    assert reader.metadata.title == CHINESE
    assert reader.root_object["/Lang"] == "zh-CN"
    fonts = [font.get_object() for page in reader.pages for font in page["/Resources"]["/Font"].values()]  # type: ignore[index]
    for font in fonts:
        described = font["/DescendantFonts"][0].get_object()["/FontDescriptor"].get_object()
        assert {"/FontFile2", "/FontFile3"} & set(described), "the font is not embedded"
    notes = [note.get_object() for page in reader.pages for note in page.get("/Annots", [])]
    addresses = {note["/A"]["/URI"] for note in notes if "/A" in note}
    assert {"https://data.example/a?b=1", "https://example.org/1", "https://data.example/2"} <= addresses
    assert sum("/Dest" in note for note in notes) >= 3, "citation marks do not link to the references"
    assert f"第 1 页，共 {len(reader.pages)} 页" in pdf_text(made)


def test_characters_missing_from_the_fonts_are_shown_as_replacement_characters() -> None:
    assert "before �� after" in pdf_text(pdf(run_of(report="before \u0e01\u0915 after")))


def test_the_fonts_are_the_published_files() -> None:
    import manimgx_fonts
    from pylopdf_fonts_zh_cn import sans_path

    (emoji,) = Path(manimgx_fonts.__file__).parent.glob("NotoEmoji*.ttf")
    published = {
        sans_path(): "faa6c9df652116dde789d351359f3d7e5d2285a2b2a1f04a2d7244df706d5ea9",
        emoji: "de6c18832938afc99caf132b39d6a30a19bac7f2e812e28db2535b4608d27551",
    }
    assert {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in published} == published


@pytest.mark.examples(1)
@pytest.mark.parametrize("size", [1, 60])
def test_wide_tables_and_long_words_stay_on_the_page(size: int) -> None:
    row = "|" + "|".join(["x" * 30] * 12) + "|"
    text = (
        f"{row}\n{'|-' * 12}|\n"
        + f"{row}\n" * size
        + "\n\nhttps://a.test/"
        + "y" * 3000
        + "\n\n"
        + "```\n"
        + "z" * 500
        + "\n```"
    )
    reader = PdfReader(io.BytesIO(pdf(run_of(report=text))))
    edges: list[float] = []
    for page in reader.pages:
        page.extract_text(
            visitor_text=lambda said, _, matrix, font, size: edges.append(matrix[4]) if said.strip() else None
        )
    assert max(edges) < 595 - 40


def test_word_has_real_headings_links_and_a_chinese_font() -> None:
    made = docx(chinese())
    file = word.Document(io.BytesIO(made))
    assert file.core_properties.title == CHINESE
    styles = {line.text: line.style.name for line in file.paragraphs if line.style}
    assert (styles[CHINESE], styles["摘要"], styles["参考文献"]) == ("Title", "Heading 1", "Heading 1")
    assert len(file.inline_shapes) == 1
    assert [[cell.text for cell in row.cells] for row in file.tables[0].rows] == [
        ["国家", "GDP"],
        ["法国", "3.732 [1]✓"],
    ]
    assert 'w:eastAsia="Microsoft YaHei"' in file.styles["Normal"].element.xml
    assert 'w:eastAsia="Microsoft YaHei"' in file.styles["Heading 1"].element.xml
    body = file.element.body.xml
    assert body.count('w:anchor="source-1"') == 2
    assert 'w:name="source-1"' in body


@pytest.mark.examples(2)
@pytest.mark.parametrize("name", ["html", "pdf", "docx"])
def test_a_very_long_report_is_cut_with_a_notice(name: str) -> None:
    row = "| 1 | 2 | 3 |\n"
    text = "Begin.\n\n| a | b | c |\n|---|---|---|\n" + row * 1_100 + "\n" + "word " * 40_000
    if name == "html":
        assert FORMATS[name].make(run_of(report=text), ()).count(b"<tr>") == 1_101
    else:
        told = READERS[name](run_of(report=text))
        assert "The rest of the table is not drawn here" in told
        assert "The rest of the report is not drawn here" in told


def test_a_run_without_a_report_says_so() -> None:
    for name in ("html", "pdf", "docx"):
        assert "There is no report yet." in READERS[name](run_of(report=""))


# The table of formats


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_makes_a_file(name: str) -> None:
    events: list[Event] = [RunStarted(question="q", recipe=Recipe(), run="r", seq=0)]
    made = FORMATS[name].make(chinese(), events)
    begins = {
        "pdf": b"%PDF-",
        "docx": b"PK",
        "html": b"<!DOCTYPE html>",
        "md": b"---\n",
        "json": b"{",
        "jsonl": b'{"type"',
    }
    assert made.startswith(begins.get(name, b""))
    assert FORMATS[name].binary == (name in ("pdf", "docx"))
    if name == "jsonl":
        assert json.loads(made)["question"] == "q"


def test_exports_do_not_contain_folder_paths() -> None:
    view = chinese()
    view.recipe = replace(view.recipe, folders=("/home/anna/secret-folder",))
    for read in READERS.values():
        assert "secret-folder" not in read(view)


def test_a_question_longer_than_a_property_of_a_file_may_be_is_exported() -> None:
    view = run_of(report="Yes.")
    view.question = "How many people live in Japan? " * 20
    assert word.Document(io.BytesIO(docx(view))).core_properties.title.startswith("How many")


def test_no_figure_of_a_table_of_nine_columns_is_broken() -> None:
    years = " | ".join(map(str, range(2015, 2023)))
    figures = " | ".join(f"{n},234,567" for n in range(1, 9))
    text = pdf_text(pdf(run_of(source(1), report=f"| Country | {years} |\n|---|{'---:|' * 8}\n| Norway | {figures} |")))
    assert [n for n in range(1, 9) if f"{n},234,567" not in text] == []


@pytest.mark.parametrize(
    ("pieces", "backwards", "shown"),
    [
        (["In (", "שלום", " ", "עולם", ") 2024"], False, "In (םלוע םולש) 2024"),
        (["שלום", " ", "(2024)", " abc"], True, "abc (2024) םולש"),
        (["a", " b"], False, "a b"),
    ],
)
def test_text_from_right_to_left_is_drawn_in_the_order_that_readers_see(
    pieces: list[str], backwards: bool, shown: str
) -> None:
    assert "".join(text for _, text in visual(pieces, backwards=backwards)) == shown


def test_arabic_letters_have_the_shapes_of_their_neighbours() -> None:
    assert shaped("بلغ لا abc") == "ﺑﻠﻎ ﻻ abc"
    assert shaped("دار") == "ﺩﺍﺭ"


def test_a_paragraph_from_right_to_left_is_marked_as_one() -> None:
    view = run_of(source(1), report="שלום עולם, 2024 [1].\n\nAn English line with שלום.")
    assert html(view).count('dir="rtl"') == 1
    paragraphs = [each for each in word.Document(io.BytesIO(docx(view))).paragraphs if "שלום" in each.text]
    assert ["<w:bidi/>" in each._p.xml for each in paragraphs] == [True, False]


def test_pictures_of_several_characters_have_no_leftovers_in_a_pdf() -> None:
    text = pdf_text(pdf(run_of(source(1), report="Signs: 👍🏽 👩‍🚀 1️⃣ 🇩🇪 ❤️ end [1].")))
    assert re.sub(r"\s", "", text.split("Signs:")[1].split("end")[0]) == "👍👩🚀1[DE]❤"


LEFT_OUT = "not read, because only the text that is shown is: 1 comment, 3 pictures"


@pytest.mark.parametrize(
    ("question", "told"), [("How high is it?", LEFT_OUT), (CHINESE, "未读取（只读取显示的文字）：1 条批注、3 张图片")]
)
def test_what_was_left_out_of_a_source_is_said_once_in_every_export(question: str, told: str) -> None:
    cited = replace(source(1, "plan.docx"), notes=(LEFT_OUT,))
    view = run_of(cited, replace(cited, quote="Another passage."))
    view.question = question
    paragraphs = [each.text for each in word.Document(io.BytesIO(docx(view))).paragraphs]
    texts = [markdown(view), html(view), pdf_text(pdf(view)), "\n".join(paragraphs)]
    assert [re.sub(r"\s", "", text).count(re.sub(r"\s", "", told)) for text in texts] == [1, 1, 1, 1]
    assert as_dict(view)["sources"][0]["notes"] == (LEFT_OUT,)
    assert summary(view).count(LEFT_OUT) == 1


@pytest.mark.parametrize("form", READERS)
def test_a_reader_sees_where_a_source_is_and_no_verdict_on_an_answer_that_is_none(form: str) -> None:
    cited = [
        source(1, "France", "library://factbook/france/economy"),
        source(2, "Plan", "library://notes-1a2b3c4d/a.md"),
    ]
    claims = (Citation(1, "**France** grew.", "unverified", reason="not checked"), Citation(2, "It did.", "supported"))
    view = run_of(*cited, report="**France** grew [1]. It did [2].", citations=claims)
    read = " ".join(READERS[form](view).split())
    assert "library://" not in read and "\\*" not in read and "“**" not in read
    assert "France (the CIA World Factbook)" in read.replace("\\", "") and "Plan (notes/a.md)" in read.replace("\\", "")
    assert "✓ 1 supported" in read
    view.outcome = "no_evidence"
    refused = READERS[form](view).partition("# France")[2] or READERS[form](view)
    assert "1 statement supported" not in refused and "1 supported" not in refused


def test_a_last_page_is_not_nearly_empty() -> None:
    def pages(lines: int) -> list[str]:
        view = run_of(source(1, "France"), report="\n\n".join(["France grew [1]."] * lines))
        return [page.extract_text() for page in PdfReader(io.BytesIO(pdf(view))).pages]

    ends = [len(found[-1].splitlines()) for found in map(pages, range(24, 44, 2)) if len(found) == 2]
    assert ends and min(ends) > 6


def test_no_heading_stands_alone_at_the_foot_of_a_page() -> None:
    for lines in (26, 27, 28):
        view = run_of(source(1, "France"), report="\n\n".join(["France grew [1]."] * lines))
        pages = [page.extract_text().splitlines() for page in PdfReader(io.BytesIO(pdf(view))).pages]
        assert not {"References", "How it was made"} & {page[-2] for page in pages}, lines


def test_a_reference_is_not_torn_by_the_end_of_a_page() -> None:
    cited = replace(
        source(1, " ".join(["Population"] * 20)), quote="\n".join(f"Line {n} of the quote." for n in range(1, 6))
    )
    for lines in range(18, 30):
        view = run_of(cited, report="\n\n".join(["France grew [1]."] * lines))
        pages = [page.extract_text() for page in PdfReader(io.BytesIO(pdf(view))).pages]
        assert any("References" in page and "Line 5 of the quote." in page for page in pages), lines


def test_the_last_line_of_a_paragraph_is_not_alone_on_a_page() -> None:
    words = " ".join(f"word{n}" for n in range(16))
    for lines in range(30, 38):
        view = run_of(source(1, "France"), report="\n\n".join([*["France grew [1]."] * lines, words]))
        pages = [page.extract_text() for page in PdfReader(io.BytesIO(pdf(view))).pages]
        assert len({place for place, page in enumerate(pages) for n in (0, 15) if f"word{n} " in f"{page} "}) == 1, (
            lines
        )


PARTS = """# Kenya

## Its capital

The capital is Nairobi [1].

### Evidence

- Kenya · Government: “Capital, name: Nairobi” [1]

## Its population

It has 55 million people [2].

## Conclusion

- Kenya · People: “Population, total: 55 million” [2]
"""


@pytest.mark.parametrize("form", ["md", "html"])
def test_the_quotes_of_each_part_stand_with_their_sources_only(form: str) -> None:
    sources = (replace(source(1, "Kenya · Government"), quote="Capital, name: Nairobi"), source(2, "Kenya · People"))
    citations = (Citation(1, "The capital is Nairobi.", "supported", "Capital, name: Nairobi"),)
    made = FORMATS[form].make(run_of(*sources, report=PARTS, citations=citations), ())
    shown = made if isinstance(made, str) else made.decode()
    assert "Evidence" not in shown and "Conclusion" not in shown
    assert shown.count("Capital, name: Nairobi") == 1
    assert "Its population" in shown


@pytest.mark.parametrize("form", ["md", "html", "docx", "pdf"])
def test_what_is_said_of_a_statement_stands_once_and_only_what_is_cited_is_listed(form: str) -> None:
    said = "Three countries are large."
    report = f"{said} [1] [2] [3]\n\n### Evidence\n\n- Fourth: “The quote of 4.” [4]\n"
    doubtful = tuple(
        Citation(n, said, "unverified", reason="rules can't decide this, and no model has checked it")
        for n in (1, 2, 3)
    )
    view = run_of(*(source(n, f"Title {n}") for n in (1, 2, 3, 4)), report=report, citations=doubtful)
    made = FORMATS[form].make(view, ())
    if form == "docx":
        text = "\n".join(each.text for each in word.Document(io.BytesIO(made)).paragraphs)
    else:
        text = pdf_text(made) if form == "pdf" else made.decode()
    text = text.replace("\\[", "[").replace("\\]", "]")
    assert text.count("rules can't decide this") + text.count("rules can&#x27;t decide this") == 1
    assert "[1, 2, 3] not verified" in " ".join(text.split())
    assert "Title 3" in text and "Title 4" not in text


def test_citations_are_counted_as_they_are_read() -> None:
    """Each statement with a mark counts once, whatever number of sources it has; quoted passages behind it do not."""
    report = "It is Nairobi [1, 2].\n\n### Evidence\n\n- Kenya: “Capital, name: Nairobi” [1]\n"
    claims = ((1, "It is Nairobi."), (2, "It is Nairobi."), (1, "Kenya: “Capital, name: Nairobi”"))
    view = run_of(
        source(1), source(2), report=report, citations=tuple(Citation(n, claim, "supported") for n, claim in claims)
    )
    assert view.verdicts["supported"] == 1
    assert "Checked: 1 supported" in summary(view)
    assert "1 citation checked: ✓ 1 supported." in markdown(view)
    assert pdf_text(pdf(view)).replace("\n", " ").count("✓ 1 ") == 3, "of each source, too"


def test_headings_of_a_pdf_have_a_bold_face() -> None:
    page = PdfReader(io.BytesIO(pdf(run_of(source(1), report="## Growth\n\nIt **grew** [1].")))).pages[0]
    assert b"2 Tr" not in page.get_contents().get_data(), "letters are drawn with thicker strokes instead"


def test_what_the_signs_mean_stands_below_the_answer_of_a_pdf() -> None:
    citations = (Citation(1, "France grew by 2 %.", "calculated"),)
    view = run_of(source(1, "France"), report="France grew by 2 % [1].", citations=citations)
    text = PdfReader(io.BytesIO(pdf(view))).pages[0].extract_text()
    assert text.index("[1]✓") < text.index("✓ 1 calculated") < text.index("References")


@pytest.mark.parametrize("name", READERS)
def test_a_follow_up_names_the_question_that_it_follows(name: str) -> None:
    view = run_of(source(1), report="47 million [1].")
    label = "follows:" if name == "md" else "Follow-up to"
    assert label not in READERS[name](view)
    view.earlier = Earlier((Exchange("Who?", "Nobody."), Exchange("What is the population of France?", "68 million.")))
    told = " ".join(READERS[name](view).split())
    assert label in told
    assert "What is the population of France?" in told
