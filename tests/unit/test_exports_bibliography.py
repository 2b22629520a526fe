"""Exports of a run: bibliographies that parsers can read, inert reports, and complete JSON."""

from __future__ import annotations

import base64
import json
import re
import zlib
from itertools import pairwise
from typing import Any

import bibtexparser
import pytest
from bibtexparser.middlewares import LatexDecodingMiddleware
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from research.events.events import (
    Asked,
    Event,
    Replied,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolStarted,
    decode,
    encode,
)
from research.events.recipe import Recipe
from research.events.view import RunView, fold
from research.exports import bibtex, csl_json
from research.exports.document import PLOTS
from research.exports.html import html
from research.exports.json import as_dict
from research.exports.markdown import markdown, prose
from research.exports.progress import summary
from research.types import Citation, Observation, Reply, Source, ToolCall, Usage, Verdict
from tests.unit.test_png import DATA, chunk
from tests.unit.test_png import GOOD as PNG

DAY = 1_763_700_000.0  # 21 November 2025
PAPER = {
    "type": "article-journal",
    "title": "Attention is all you need & more",
    "author": [{"family": "Vaswani", "given": "Ashish"}, {"family": "Jones", "given": "Llion", "suffix": "Jr."}],
    "issued": {"date-parts": [[2017, 6, 12]]},
    "container-title": "Journal of R&D",
    "volume": 30,
    "page": "1-11",
    "DOI": "https://doi.org/10.5555/3295222.3295349",
}


def source(n: int, name: str = "A page", url: str = "", **told: Any) -> Source:
    return Source(n, url or f"https://example.org/{n}", name, f"The quote of {n}.", told)


def run_of(*sources: Source, report: str | None = None, images: tuple[bytes, ...] = (), **end: Any) -> RunView:
    """Return the view of a run with these sources; it cites all of them unless `report` is given."""
    call = ToolCall("c1", "search", {"query": "x"})
    text = " ".join(f"Fact [{each.n}]." for each in sources) if report is None else report
    events: list[Event] = [
        RunStarted(question="What <b>is</b> it?", recipe=Recipe()),
        Asked(ask=1, round=1, purpose="act", model="m"),
        Replied(ask=1, purpose="act", reply=Reply(calls=(call,)), usage=Usage(10, 5, cost_usd=0.0), seconds=1),
        ToolStarted(call=call),
        ToolFinished(observation=Observation("c1", "search", "seen", sources=sources, images=images)),
        RunFinished(status="completed", outcome="answered", answer=text, report=text, **end),
    ]
    stamped = (type(each)(**{**_fields(each), "run": "r1", "seq": i, "time": DAY}) for i, each in enumerate(events))
    return fold(decode(encode(each)) for each in stamped)


def _fields(event: Event) -> dict[str, Any]:
    return {name: getattr(event, name) for name in event.__struct_fields__}


def parsed(text: str, *, decoded: bool = True) -> Any:
    library = bibtexparser.parse_string(text, append_middleware=[LatexDecodingMiddleware()] if decoded else [])
    assert library.failed_blocks == []
    assert library.strings == library.preambles == []
    return library


# Bibliographies


def test_a_paper_is_exported_as_an_article_with_its_fields() -> None:
    (entry,) = parsed(bibtex.render(run_of(source(1, **PAPER)))).entries
    fields = {field.key: field.value for field in entry.fields}
    assert (entry.entry_type, entry.key) == ("article", "vaswani2017attention")
    assert fields == {
        "author": "Vaswani, Ashish and Jones, Jr., Llion",
        "title": "Attention is all you need & more",
        "volume": "30",
        "pages": "1-11",
        "journaltitle": "Journal of R&D",
        "date": "2017-06-12",
        "doi": "10.5555/3295222.3295349",
        "url": "https://example.org/1",
        "urldate": "2025-11-21",
    }


def test_a_web_page_is_exported_as_online_and_a_library_document_as_misc() -> None:
    view = run_of(
        source(1, "Japan", "https://www.example.org/a_b?x=1&y=%7E#top"), source(2, "France", "library://f/France")
    )
    page, document = parsed(bibtex.render(view), decoded=False).entries
    assert (page.entry_type, page.key) == ("online", "examplejapan")
    assert page["url"] == "https://www.example.org/a_b?x=1&y=%7E#top", "URLs are verbatim"
    assert (document.entry_type, document.key) == ("misc", "sourcefrance")
    assert document["note"] == "library://f/France"


def test_a_paper_on_two_hosts_is_one_reference_with_both_addresses() -> None:
    quoted = Citation(n=1, claim="Fact", status="supported", quote="The second page says so.")
    first, second = (Source(1, f"https://{name}.example/paper", "Mills", f"The {name} page says so.", PAPER)
                     for name in ("first", "second"))  # fmt: skip
    view = run_of(first, second, report="Fact [1].", citations=(quoted,))
    (seen,) = view.cited_sources
    assert seen.addresses == (second.url, first.url), "the address of the quote comes first"
    (entry,) = parsed(bibtex.render(view), decoded=False).entries
    assert (entry["url"], entry["note"]) == (second.url, f"Also at {first.url}")
    (record,) = as_dict(view)["sources"]
    assert (record["url"], list(record["also"])) == (second.url, [first.url])
    for text in (markdown(view), html(view), summary(view), csl_json.render(view)):
        assert first.url in text and second.url in text


@pytest.mark.parametrize(
    ("author", "written"),
    [
        ({"family": "王", "given": "小明"}, "王, 小明"),
        ({"literal": "王小明"}, "{王小明}"),
        ({"literal": "Rock and Roll, Inc."}, "{Rock and Roll, Inc.}"),
        ({"family": "Maaten", "given": "Laurens", "non-dropping-particle": "van der"}, "van der Maaten, Laurens"),
        ({"family": "Black and White", "given": "A, B"}, "{Black and White}, {A, B}"),
        ({"family": "World Bank"}, "{World Bank}"),
        ({"literal": "others"}, "{others}"),
        ("Ada Lovelace", "{Ada Lovelace}"),
    ],
)
def test_each_author_stays_one_name(author: Any, written: str) -> None:
    text = bibtex.render(run_of(source(1, author=[author])))
    assert f"author = {{{written}}}," in text


def test_keys_are_unique_and_independent_of_the_exported_selection() -> None:
    sources = [source(n, **{**PAPER, "volume": n}) for n in range(1, 31)]
    every = [item["id"] for item in csl_json.items(run_of(*sources))]
    assert every[:3] == ["vaswani2017attention", "vaswani2017attentiona", "vaswani2017attentionb"]
    assert len(set(every)) == 30
    assert all(re.fullmatch(r"[a-z0-9-]+", key) for key in every)
    one = run_of(*sources, report="Only this [17].")
    assert [item["id"] for item in csl_json.items(one)] == [every[16]]


@pytest.mark.parametrize("url", ["http://[half", "http://ex\u2100mple.test/", "https:///nowhere", "http://"])
def test_a_url_without_a_host_is_left_out_and_breaks_no_export(url: str) -> None:
    assert not csl_json.web(url)
    view = run_of(source(1, "A title", url))
    assert json.loads(csl_json.render(view))[0]["type"] == "document"
    assert "  url = " not in bibtex.render(view)


def test_csl_json_keeps_only_known_fields_of_the_right_type() -> None:
    odd = {
        "type": "weapon", "title": ["a list"], "author": [{"family": 7}, None, "Li"], "issued": {"date-parts": [["2024", 13]]},
        "DOI": {}, "URL": "javascript:alert(1)", "script": "<script>", "publisher": "A\x00\u202e \n B", "volume": True,
    }  # fmt: skip
    first, second = json.loads(csl_json.render(run_of(source(1, **PAPER), source(2, "Odd", **odd))))
    assert first["author"][0] == {"family": "Vaswani", "given": "Ashish"}
    assert (first["DOI"], first["accessed"]) == ("10.5555/3295222.3295349", {"date-parts": [[2025, 11, 21]]})
    assert second == {
        "id": "72024odd", "type": "webpage", "title": "Odd", "publisher": "A B",
        "author": [{"family": "7"}, {"literal": "Li"}], "issued": {"date-parts": [[2024]]},
        "URL": "https://example.org/2", "accessed": {"date-parts": [[2025, 11, 21]]}, "citation-number": 2,
    }  # fmt: skip


@example("}, note = {x")
@example("}\n@article{evil, title={x}")
@example('\\} \\{ {{ \\\\} @string{a=1} % $x$ #1 ~^_& "q"')
@example('<img src=x onerror=alert(1)>\r\n@preamble{"\\input{/etc/passwd}"}')
@example("第\u2028二\x85行")
@given(st.text(max_size=60))
def test_no_title_name_or_url_breaks_out_of_its_bibtex_field(text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    told = {"author": [{"family": text, "given": text}, text], "container-title": text, "DOI": f"10.1234/{text}"}
    view = run_of(source(1, text, f"https://example.org/{text}", **told), source(2, "Next"))
    library = parsed(bibtex.render(view))
    first, second = library.entries
    allowed = {"author", "title", "organization", "doi", "url", "note", "urldate"}
    assert {field.key for field in first.fields} <= allowed
    assert second["title"] == "Next"
    assert [comment.comment for comment in library.comments] == ["% [1]", "% [2]"]
    raw = bibtex.render(view)
    assert raw.count("\n@") == 2
    assert all(_balanced(row) for row in raw.splitlines() if row.startswith("  "))
    assert json.loads(csl_json.render(view))[1]["title"] == "Next"


def _balanced(row: str) -> bool:
    """Return whether braces balance as BibTeX counts them: backslashes do not escape, and the first brace closes last."""
    depth = 0
    inner = row[row.index("{") : -1]
    for place, sign in enumerate(inner):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth == 0 and place < len(inner) - 1:
            return False
    return depth == 0


@pytest.mark.parametrize("title", ["50% of R&D_1 #2 costs $3", "C:\\f", "GDP – 国内生产总值, naïve", "“a” 'b' \"c\""])
def test_titles_survive_a_bibtex_round_trip(title: str) -> None:
    (entry,) = parsed(bibtex.render(run_of(source(1, title)))).entries
    assert entry["title"] == title


def test_characters_special_to_latex_are_escaped() -> None:
    assert bibtex.escaped("a~b^c <d>") == r"a\textasciitilde{}b\textasciicircum{}c \textless{}d\textgreater{}"


# Markdown


def tokens(text: str) -> list[Token]:
    """Parse the body as Markdown with HTML and tables enabled."""
    body = text.split("\n---\n", 1)[1]
    found: list[Token] = []
    for token in MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(body):
        found += [token, *(token.children or ())]
    return found


HOSTILE = [
    "<script>alert(1)</script>",
    '<img src="https://evil.test/x.png">',
    "![x](https://evil.test/x.png)",
    "![x][p]\n\n[p]: https://evil.test/x.png",
    "\\![x](https://evil.test/x.png)",
    "\\\\<script>alert(1)</script>",
    "`a <b` <script>x</script>",
    "> ```\n<script>x</script>",
    "    ```\n<script>x</script>\n",
    "[click](javascript:alert(1))",
    "[click](\njavascript:alert(1))",
    "[click](<javascript:alert(1)>)",
    "[click](java&#115;cript:alert(1))",
    "[click][e]\n\n[e]:\njavascript:alert(1)",
    "<javascript:alert(1)>",
    "<!-- comment --> <?php ?> <![CDATA[x]]>",
    "[1]: https://evil.test/\n\n[1]",
    "[Plot 1]: https://evil.test/x.png",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_becomes_neither_html_nor_images_nor_scripts(text: str) -> None:
    line = text.replace("\n", " ")
    view = run_of(
        Source(1, f"https://example.org/{text}", text, text),
        Source(2, "javascript:alert(1)//" + line, line, line),
        report=f"{text}\n\nFact [1]. Other [2].\n\n{text}",
        citations=(Citation(1, text, "unsupported", text, text), Citation(9, text, "dead")),
        uncited=(text,),
        removed=(text, "https://evil.test/leak"),
        images=(PNG,),
    )
    found = tokens(markdown(view))
    assert [t.type for t in found if t.type.startswith("html")] == []
    assert [str(t.attrs["src"])[:21] for t in found if t.type == "image"] == ["data:image/png;base64"]
    links = [str(t.attrs["href"]) for t in found if t.type == "link_open"]
    assert [link for link in links if not link.startswith(("https://", "library://"))] == []
    assert not [t for t in found if t.type == "link_open" and t.attrs["href"] == "https://evil.test/leak"]


@pytest.mark.parametrize(
    "text", ["```\ncode", "~~~~\n```\ncode", "> ```\n> code", "- ```\n  code", "```\ncode\n```", "``` x"]
)
def test_an_unclosed_code_block_does_not_swallow_the_references(text: str) -> None:
    found = tokens(markdown(run_of(source(1), report=f"Fact [1].\n\n{text}")))
    headings = [after.content for token, after in pairwise(found) if token.type == "heading_open"]
    assert headings[1:] == ["References"]


def test_harmless_markdown_is_left_unchanged() -> None:
    text = "# Head\n\n**Bold** 3 < 4 <https://a.test> [web](https://b.test/x) `a < b` [1]\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    assert prose(text) == text


def test_each_reference_lists_the_verdicts_on_its_statements() -> None:
    view = run_of(
        source(1, "Japan"), source(2, "France"), source(3, "Unchecked"),
        citations=(
            Citation(1, "Japan has 5 people.", "unsupported", reason="5 does not stand in it."),
            Citation(1, "Japan is a country.", "supported"),
            Citation(2, "France is.", "supported"),
            Citation(4, "Nobody said so.", "dead"),
        ),
        uncited=("Birds sing.",), removed=("https://made.up/x",),
    )  # fmt: skip
    text = markdown(view)
    assert "[1] Japan. <https://example.org/1> — ✓ 1 supported, ✗ 1 not supported\n> The quote of 1.\n" in text
    assert "- not supported: 5 does not stand in it. (“Japan has 5 people.”)" in text
    assert "[2] France. <https://example.org/2> — ✓ 1 supported\n" in text
    assert "[3] Unchecked. <https://example.org/3>\n" in text
    assert "4 citations checked: ✓ 2 supported, ✗ 1 not supported, ⌁ 1 without a source." in text
    assert "1 sentence without a source:\n\n- Birds sing." in text
    assert "1 address taken out that no source had shown:\n\n- `https://made.up/x`" in text
    (counts,) = re.findall(r"^citations: (.+)$", text, re.M)
    assert {verdict: n for verdict, n in json.loads(counts).items() if n} == {
        "supported": 2,
        "unsupported": 1,
        "dead": 1,
    }
    assert "## Checked" not in markdown(run_of(report="Nothing."))


def test_plots_are_embedded_up_to_a_limit() -> None:
    others = [PNG.replace(DATA, chunk(b"IDAT", zlib.compress(b"\0%cbcdef" % n * 2))) for n in range(10)]
    text = markdown(run_of(images=(PNG, PNG, b"GIF89a", PNG + bytes(3_000_000))))
    assert re.findall(r"base64,([^)]+)", text) == [base64.b64encode(PNG).decode()], "the same plot appears once"
    assert "2 plots not shown here" in text
    many = markdown(run_of(images=tuple(others)))
    assert many.count("data:image") == PLOTS


def test_front_matter_is_valid_yaml_without_hidden_characters() -> None:
    view = run_of()
    view.question = 'x"\n---\nevil: true\x85\u2028\x7f'
    head = markdown(view).split("\n---\n")[0].splitlines()
    assert head[1] == r'title: "x\"\n---\nevil: true\u2028"'


# JSON


@pytest.mark.parametrize(
    ("statuses", "verdict"),
    [
        (("supported", "calculated"), "✓ 1 supported, ✓ 1 calculated"),
        (("supported", "calculated", "unverified"), "✓ 1 supported, ✓ 1 calculated, ○ 1 not verified"),
        (("unverified",), "○ 1 not verified"),
        (("contradicted", "unsupported"), "✗ 1 not supported, ✗ 1 contradicted"),
    ],
)
def test_a_statement_that_is_not_verified_counts_neither_for_nor_against_its_source(
    statuses: tuple[Verdict, ...], verdict: str
) -> None:
    citations = tuple(Citation(1, f"Claim {i}.", status) for i, status in enumerate(statuses))
    text = markdown(run_of(source(1, "Japan"), citations=citations))
    assert f"[1] Japan. <https://example.org/1> — {verdict}\n" in text


def test_json_contains_citations_with_reasons_and_removed_links() -> None:
    cited = Citation(1, "Claim.", "partial", "Seen.", "Why.", "rules")
    found = as_dict(run_of(source(1), citations=(cited,), uncited=("U.",), removed=("https://x",)))
    assert found["citations"] == [
        {"n": 1, "claim": "Claim.", "status": "partial", "quote": "Seen.", "reason": "Why.", "by": "rules"}
    ]
    assert (found["uncited"], found["removed"]) == (["U."], ["https://x"])
    json.dumps(found)


def test_a_source_merges_the_metadata_of_its_passages() -> None:
    first, again = (
        source(1, DOI="10.1234/a"),
        Source(1, "https://example.org/1", "A page", "Other.", {"publisher": "P"}),
    )
    (kept,) = run_of(first, again, report="Fact [1].").cited_sources
    assert kept.csl == {"DOI": "10.1234/a", "publisher": "P"}


def test_a_source_without_title_and_url_has_a_key() -> None:
    view = run_of(Source(1, "", "", "Said."), report="So [1].")
    assert [item["id"] for item in csl_json.items(view)] == ["source"]
    assert "@misc{source," in bibtex.render(view)
