"""Untrusted text on a page: escaped Markdown, disabled links, and no images."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

from pages.parts.shared.safe import plain, prose

HIDDEN = "\u2060"


DRAWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
DRAWN.use(dollarmath_plugin, allow_space=True, allow_digits=True, double_inline=True)
DRAWN.validateLink = lambda url: True  # type: ignore[method-assign]  # Streamlit's parser forbids none


def shown(text: str) -> str:
    """Return the text as a reader sees it, without escapes and invisible joiners."""
    return " ".join(re.sub(r"\\([^\w\s]|_)", r"\1", text).replace(HIDDEN, "").split())


def drawn(text: str) -> list[Token]:
    """Return what a parser like Streamlit's makes of the text."""
    return [inner for token in DRAWN.parse(text) for inner in (token, *(token.children or ()))]


@pytest.mark.parametrize(
    "text",
    [
        "![chart](https://evil.example/pixel.png)",
        "![a][ref]\n\n[ref]: https://evil.example/pixel.png",
        "[![badge](https://evil.example/a.svg)](https://evil.example)",
        "![](https://evil.example/pixel.png)",
        "`code` ![x](https://evil.example/p) `more`",
        "```\n![x](https://evil.example/p)\n```",
        "\\![x](https://evil.example/p)",
    ],
)
def test_an_image_becomes_a_link(text: str) -> None:
    assert not [token for token in drawn(prose(text)) if token.type == "image"]
    assert "https://evil.example" in prose(text)
    assert "![" not in plain(text)


def test_an_image_keeps_its_alt_text() -> None:
    assert prose("![GDP by year](https://example.org/g.png)") == "[\\[GDP by year\\]](https://example.org/g.png)"


@pytest.mark.parametrize(
    "text", ["from $3.689 trillion to $3.732 trillion", "$ x $ and $ y $", "already \\$5 and \\\\$6"]
)
def test_a_dollar_sign_never_starts_a_formula(text: str) -> None:
    assert not [token for token in drawn(prose(text)) if token.type.startswith("math")]
    assert prose(text).count("$") == text.count("$")


def test_code_and_urls_are_left_unchanged() -> None:
    code = "`echo $HOME ~/x`, see https://example.org/~me/$1\n\n```\ncost = $5 ~ $6\n```\n\nand $7"
    wanted = code.replace("and $7", "and \\$7").replace("https://example.org/~me/$1", "<https://example.org/~me/$1>")
    assert prose(code) == wanted


def test_only_two_tildes_strike_through() -> None:
    assert prose("~5 to ~10, ~~gone~~") == "\\~5 to \\~10, ~~gone~~"


@pytest.mark.parametrize(
    "text",
    [
        ":red[supported]", ":green-badge[verified]", ":material/verified: checked", ":material_verified:", ":+1:",
        ':color[x]{foreground="#f00"}', ":streamlit:", ":help[x]", "::leaf[x]", ":::note", "see note:a[1]",
        "`a\nb` :red[c] `", "\\`:red[x]`",
    ],
)  # fmt: skip
def test_streamlit_directives_are_escaped(text: str) -> None:
    active = re.compile(r":[\w+\-/]+[:\[{]|:material_\w+:|::+\w")
    assert active.search(text)
    assert not active.search(prose(text))
    assert not active.search(plain(text))
    assert shown(prose(text)) == shown(text)


def test_a_diagram_is_shown_as_text() -> None:
    fence = '```mermaid\nflowchart LR\n  a@{ img: "https://evil.example/p.png" }\n```'
    assert "mermaid" not in prose(fence)
    assert "mermaid" not in prose(f"> {fence}".replace("\n", "\n> "))
    assert "m&#101;rmaid" not in prose(fence.replace("mermaid", "m&#101;rmaid"))


@pytest.mark.parametrize(
    "text", ["[x](javascript:alert(1))", "[x](<data:text/html,x>)", "<vbscript:x>", "[x](/runs)", "[x]: javascript:y"]
)
def test_links_that_do_not_lead_to_the_web_are_disabled(text: str) -> None:
    assert not [token for token in drawn(prose(text)) if token.type == "link_open"]
    assert prose(f"`{text}`") == f"`{text}`"


@pytest.mark.parametrize(
    "text",
    [
        "[x](https://e.org)",
        "[x](<https://e.org>)",
        "[x][a]\n\n[a]: https://e.org",
        "<https://e.org>",
        "see https://e.org.",
    ],
)
def test_links_to_the_web_stay(text: str) -> None:
    (link,) = (token for token in drawn(prose(text)) if token.type == "link_open")
    assert link.attrs["href"] == "https://e.org"


def test_ordinary_markdown_is_left_unchanged() -> None:
    text = "## France\n\n- **GDP**: *up* at 10:30, see [the page](https://example.org:8080/a?b=1)\n\n| a | b |\n| --- | --- |"
    assert prose(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "# not a heading", "1. not a list", "12) nor this", "- nor this", "+ nor this", "*not* _emphasis_ `or` code",
        "<b>not</b> [a](https://example.org)", "a | b ~ c $d$ &amp; e", "C:\\path\\file", "> quote",
    ],
)  # fmt: skip
def test_plain_text_looks_as_it_was_written(text: str) -> None:
    assert shown(plain(text)) == text
    assert not re.match(r"[#>+*-]|\d+[.)]", plain(text))
    assert not re.search(r"(?<!\\)[*_`\[\]<>|~$&]", plain(text))


@pytest.mark.parametrize("text", ["(see http://x)", "the page https://example.org/a(b)", "www.example.org)"])
def test_an_address_in_plain_text_is_no_link(text: str) -> None:
    """An address is recognized before and after backslashes are read."""
    assert shown(plain(text)) == text
    assert not re.search(r"https?://|www\.", plain(text).replace("\\", ""))


def test_plain_text_is_one_line() -> None:
    assert plain("a\n\n# b\n- c") == "a \\# b - c"
