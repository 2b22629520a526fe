"""Every construct of Markdown in every export, and formulas."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import docx as word
import pytest
from lxml import etree
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from research.citations import cited, uncited
from research.events.view import RunView
from research.exports.blocks import Code, Items, Paragraph, Span, Table, content, parse
from research.exports.docx import docx
from research.exports.formulas import LONGEST, formula, line
from research.exports.html import html
from research.exports.json import as_dict
from research.exports.markdown import markdown
from research.exports.pdf import pdf
from tests.constructs import FORMULAS, LINES, MARKUP, REPORT, TEXT
from tests.unit.test_exports_bibliography import run_of, source
from tests.unit.test_exports_documents import docx_text, html_text, pdf_text

MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
READERS: dict[str, Callable[[RunView], str]] = {
    "html": html_text, "docx": lambda view: docx_text(docx(view)), "pdf": lambda view: pdf_text(pdf(view)),
}  # fmt: skip


@pytest.fixture(scope="module")
def view() -> RunView:
    return run_of(source(1), report=REPORT)


def bare(text: str) -> str:
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize("name", READERS)
def test_every_construct_is_in_the_exported_file(view: RunView, name: str) -> None:
    text = bare(READERS[name](view))
    assert [piece for piece in TEXT if bare(piece) not in text] == []
    assert [sign for sign in MARKUP if bare(sign) in text] == []


def test_a_web_page_has_the_elements_of_every_construct(view: RunView) -> None:
    page = html(view)
    for element in (
        "<s>a third</s>", '<th class="center">Middle</th>', '<td class="right">3.7</td>', '<ol start="3">', "<strong>“引文”</strong>",
        '<code class="language-python">', "<msup><mi>c</mi><mn>2</mn></msup>", '<math display="block">', "<msqrt>", "<hr>",
    ):  # fmt: skip
        assert element in page
    assert "<b onclick" not in page


def test_a_word_file_has_formulas_and_aligned_columns(view: RunView) -> None:
    file = word.Document(io.BytesIO(docx(view)))
    body = file.element.body
    assert len(list(body.iter(f"{MATH}oMath"))) == len(FORMULAS)
    assert len(list(body.iter(f"{MATH}oMathPara"))) == 2
    assert [part.tag for part in next(body.iter(f"{MATH}f"))] == [f"{MATH}num", f"{MATH}den"]
    sides = [cell.paragraphs[0].alignment for cell in file.tables[0].rows[1].cells]
    assert sides == [None, 1, 2]  # the default, centre, right
    etree.fromstring(etree.tostring(body))


def test_a_pdf_has_formulas_as_lines(view: RunView) -> None:
    text = bare(pdf_text(pdf(view)))
    assert [each for each in LINES if bare(each) not in text] == []


def test_markdown_and_json_keep_the_source(view: RunView) -> None:
    assert as_dict(view)["report"] == REPORT
    written = markdown(view).partition("\n---\n")[2]
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.use(dollarmath_plugin, allow_digits=False, double_inline=True).use(footnote_plugin)
    tokens = parser.parse(written)
    kinds = {token.type for block in tokens for token in (block, *(block.children or ()))}
    assert {"table_open", "fence", "ordered_list_open", "blockquote_open", "s_open", "footnote_ref", "math_inline",
            "math_block", "hr", "link_open"} <= kinds  # fmt: skip
    assert not {"image", "html_inline", "html_block"} & kinds


@pytest.mark.examples(2)
@pytest.mark.parametrize(
    ("missing", "written"),
    [("\U0001fae8", "[shaking face]"), ("🇫🇷", "[FR]"), ("👍🏽", "👍"), ("\u0e01", "\ufffd"), ("⚠️", "⚠")],
)
def test_a_picture_that_no_font_has_is_named_in_a_pdf(missing: str, written: str) -> None:
    text = pdf_text(pdf(run_of(source(1), report=f"Before {missing} after [1].")))
    assert f"Before {written} after" in text or f"Before {missing} after" in text


# Formulas


@pytest.mark.parametrize(
    "text",
    [
        "from $3.689 trillion to $3.732 trillion", "$5 and $6", "between $5/$6 and $7", "5$ or 6$", "already \\$5 and \\$6",
        "$ x $", "a $", "US$5 和 US$6。", "\\[not a link\\]", "$5\n\nand x$",
    ],
)  # fmt: skip
def test_money_and_escapes_are_no_formulas(text: str) -> None:
    assert [span for block in parse(text) if isinstance(block, Paragraph) for span in block.spans if span.formula] == []
    assert content(parse(text)).replace("\n", "") == text.replace("\\", "").replace("\n", "")


@pytest.mark.parametrize(
    ("text", "latex", "shown"),
    [
        ("so $x^2$.", "x^2", "inline"),
        ("so \\(x^2\\).", "x^2", "inline"),
        ("$$\nx\n+ y\n- z\n$$", "x + y - z", "display"),
        ("\\[\nx = 1\n\\]", "x = 1", "display"),
        ("- a\n\n  $$\n  x\n  $$", "x", "display"),
        ("> $$x\n> + 1$$", "x + 1", "display"),
        ("价格为$x$元", "x", "inline"),
    ],
)
def test_formulas_are_found_in_all_notations(text: str, latex: str, shown: str) -> None:
    assert f"text={latex!r}" in repr(parse(text)) and f"formula={shown!r}" in repr(parse(text))


@pytest.mark.parametrize(
    "latex",
    [
        "\\rule{90em}{90em}", "\\href{javascript:x}{y}", "\\def\\a{\\a\\a}\\a", "\\kern-90em x", "\\unknown{x}", "\\frac{a", "{" * 400,
        "{" * 400 + "}" * 400, "x^", "\\color{red}x", "a\\\\[90em]b", "x" * (LONGEST + 1), "\\hspace{9em}", "\\text", "\\left(", "![x](https://a.test)",
    ],
)  # fmt: skip
def test_a_formula_that_is_broken_or_covers_the_page_stays_text(latex: str) -> None:
    assert formula(latex) is None
    assert content(parse(f"${latex}$")) == f"${latex}$"


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        ("E = mc^2", "E = mc²"), ("\\frac{1}{2}", "1/2"), ("\\frac{a+b}{c}", "(a + b)/c"), ("x_{10}^{n-1}", "x₁₀ⁿ⁻¹"),
        ("\\sqrt{x}", "√x"), ("\\sqrt[3]{x}", "³√x"), ("\\alpha \\times 10^{-3}", "α × 10⁻³"), ("\\mathbf{x}", "x"),
    ],
)  # fmt: skip
def test_a_formula_is_readable_as_a_line(latex: str, text: str) -> None:
    assert line(latex) == text


def test_a_formula_is_no_statement_without_a_source() -> None:
    formulas = "The rule is simple:\n\n$$\nE = 1500 \\times 3.7\n$$\n\n\\[ x = 12,000 + 3 \\]\n\nIt follows that $y = 1500$ holds."
    assert uncited(formulas) == ()
    assert uncited("It costs $1500 and $2700 a year.") != ()


def test_an_interval_in_a_formula_is_no_citation() -> None:
    assert cited("For $x \\in [0, 1]$ and \\([2]\\), as [3] says.") == [3]


# The parser


def test_emphasis_works_beside_chinese() -> None:
    (block,) = parse("前**“引文”**后，**标题：**内容，*斜体*。a * b * c")
    assert isinstance(block, Paragraph)
    assert [span.text for span in block.spans if span.bold] == ["“引文”", "标题："]
    assert [span.text for span in block.spans if span.italic] == ["斜体"]


def test_the_tree_knows_alignment_tasks_languages_and_addresses() -> None:
    table, tasks, code, address = parse(
        "| a | b | c | d |\n|---|:--|:-:|--:|\n\n- [ ] a\n- [X] b\n\n~~~js x\n~~~\n\nSee https://a.test/b_(c)?d=1, or `https://x.test`."
    )
    assert isinstance(table, Table) and table.align == ("left", "left", "center", "right")
    assert isinstance(tasks, Items) and content([tasks]) == "☐ a\n☑ b"
    assert isinstance(code, Code) and code.language == "js"
    assert isinstance(address, Paragraph) and [span.href for span in address.spans if span.href] == [
        "https://a.test/b_(c)?d=1"
    ]


def test_numbered_footnotes_cite_sources_only_in_a_report() -> None:
    text = "A[^1].\n\n[^1]: Note."
    assert any(span.cites for block in parse(text) if isinstance(block, Paragraph) for span in block.spans)
    assert parse(text, cited=False) == (Paragraph((Span("Aᵃ."),)), Paragraph((Span("ᵃ Note."),)))
