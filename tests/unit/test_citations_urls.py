"""A report contains only URLs that the run has seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.citations import clean
from research.types import Source

SOURCES = [
    Source(1, "https://www.example.org/a/b?x=1", "Example", "More at https://quoted.net/page and 10.5555/quoted.1"),
    Source(2, "library://factbook/france/economy", "France · Economy", "GDP"),
    Source(3, "https://zh.wikipedia.org/wiki/%E6%B3%95%E5%9B%BD", "法国", "人口"),
    Source(4, "https://doi.org/10.1000/ABC.1", "A paper", "text"),
    Source(5, "https://en.wikipedia.org/wiki/Foo_(bar)", "Foo", "text"),
    Source(6, "https://arxiv.org/abs/2303.11366v4", "Reflexion", "text", {"DOI": "10.48550/arXiv.2303.11366"}),
]


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Bare https://example.org/a/b?x=1.", "Bare [1]."),
        ("Other ways: http://WWW.Example.org/a/b/?x=1&utm_source=model#part", "Other ways: [1]"),
        ("www.example.org/a/b?x=1, so", "[1], so"),
        ("example.org/a/b?x=1, so", "[1], so"),
        ("See [the page](https://example.org/a/b?x=1).", "See the page [1]."),
        ("See [1](https://example.org/a/b?x=1).", "See [1]."),
        ("See [[1]](https://example.org/a/b?x=1).", "See [1]."),
        ("<https://example.org/a/b?x=1>", "[1]"),
        ('<a href="https://example.org/a/b?x=1">the page</a>', "the page [1]"),
        ("[page][p]\n\n[p]: https://example.org/a/b?x=1 'title'\n", "page [1]\n\n"),
        ("GDP (library://factbook/france/economy)", "GDP ([2])"),
        ("见https://zh.wikipedia.org/wiki/法国。", "见[3]。"),
        ("见（https://zh.wikipedia.org/wiki/法国），", "见（[3]），"),
        ("https://dx.doi.org/10.1000/abc.1, doi:10.1000/abc.1 and 10.1000/abc.1.", "[4], [4] and [4]."),
        ("(https://en.wikipedia.org/wiki/Foo_(bar))", "([5])"),
        ("[Foo](https://en.wikipedia.org/wiki/Foo_(bar))", "Foo [5]"),
        ("arXiv:2303.11366 and https://arxiv.org/pdf/2303.11366", "[6] and [6]"),
        ("https://quoted.net/page was quoted, 10.5555/quoted.1 too", "https://quoted.net/page was quoted, 10.5555/quoted.1 too"),
        ("You asked about https://asked.org/x", "You asked about https://asked.org/x"),
    ],
)  # fmt: skip
def test_a_seen_url_becomes_its_number_or_stays(text: str, cleaned: str) -> None:
    assert clean(text, SOURCES, "What is https://asked.org/x?") == (cleaned, ())


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("See [the page](https://evil.com/x).", "See the page."),
        ("See [the page](<https://evil.com/x y> 'title').", "See the page."),
        ("See [a [nested] label](https://evil.com/x_(y(z))).", "See a [nested] label."),
        ("[![picture](https://evil.com/p.png)](https://evil.com/x)", "picture"),
        ("![](https://evil.com/p.png?q=secret)", ""),
        ("Claim [1](https://evil.com/x).", "Claim [1]."),
        ("Bare https://evil.com/x, then", "Bare (link removed), then"),
        ("见https://evil.com/数据。然后", "见（链接已移除）。然后"),
        ("据https://evil.com/a的数据", "据（链接已移除）的数据"),
        ("www.evil.com is", "(link removed) is"),
        ("evil.com/path is", "(link removed) is"),
        ("<https://evil.com>", "(link removed)"),
        ("<a class=x href='https://evil.com/x'>label</a>", "label"),
        ("<img src=https://evil.com/x.png>", ""),
        ("https&#58;//evil.com/x end", "(link removed) end"),
        ("HTTPS://EVIL.COM/X end", "(link removed) end"),
        ("https://example.org@evil.com/ end", "(link removed) end"),
        ("https://example.org.evil.com/a/b?x=1 end", "(link removed) end"),
        ("https://example.org/a/b?x=2 end", "(link removed) end"),
        ("doi:10.9999/invented.2 end", "(link removed) end"),
        ("arXiv:2399.00001 end", "(link removed) end"),
        ("`curl https://evil.com/x`", "`curl (link removed)`"),
        ("[`code`](https://evil.com)", "`code`"),
        ("[page][p]\n\n[p]: https://evil.com\n", "page\n\n"),
        ("https://evil.com/a,https://example.org/a/b?x=1", "(link removed),[1]"),
        ("[x](javascript:alert(1))", "x"),
    ],
)
def test_an_invented_url_is_removed_and_reported(text: str, cleaned: str) -> None:
    found, removed = clean(text, SOURCES)
    assert found == cleaned
    assert removed


@pytest.mark.parametrize(
    "text",
    [
        "Node.js/Express, Amazon.com, and/or, km/h, 3.5/4.0, U.S./China, e.g. this, i.e. that.",
        "A [link to a part](#part), an array `a[1]`, x[i], a footnote-like [a] and a [bracket].",
        "```python\nx = a[0] / b['c']  # https is not a url\n```\n\n    indented[1]\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n- item\n\n> quote\n\n$x^2_{10}$ and **bold** _it_ ~~no~~",
        "法国的人口（2024年）为6837万；GDP：3.7万亿美元。",
        "a < b and c > d; <b>bold</b> <br/> 5 <6",
        "10.5 and 10.1000 are numbers; me@example.org is mail",
    ],
)
def test_a_text_without_urls_is_left_unchanged(text: str) -> None:
    assert clean(text, SOURCES) == (text, ())


@given(
    st.text(alphabet="ab [](){}<>`*_~!#|\\/:.,;=&%?@\n\"'1法。（"),
    st.sampled_from(["[l]({})", "{}", "<{}>", "`{}`", "({})。", "**{}**"]),
)
def test_an_invented_url_is_removed_whatever_surrounds_it(noise: str, form: str) -> None:
    text = f"{noise} {form.format('https://evil.example/x')} {noise}"
    found, _ = clean(text, SOURCES)
    assert "evil.example" not in found


@given(st.text(max_size=300))
def test_cleaning_is_idempotent(text: str) -> None:
    once, _ = clean(text, SOURCES)
    assert clean(once, SOURCES)[0] == once


@pytest.mark.parametrize(
    "target", ["mailto:x@evil.example", "//evil.example/x", "javascript:alert(1)", "https://evil.example/x"]
)
@pytest.mark.parametrize("label", ["a", "[[[[a]]]]", "[a [b [c [d]]]]", "a " * 400])
def test_no_label_hides_a_link_that_was_not_seen(label: str, target: str) -> None:
    cleaned, removed = clean(f"See [{label}]({target}).", [])
    assert f"]({target}" not in cleaned
    assert removed


@pytest.mark.parametrize(
    "mark",
    [
        ":contentReference[oaicite:1]{index=1}",
        "citeturn0search0",
        "\ue200cite\ue202turn0search0\ue201",
        "[web:1]",
        "(1)",
    ],
)
def test_marks_of_other_programs_are_removed_and_reported(mark: str) -> None:
    assert clean(f"It grew {mark}.", SOURCES) == ("It grew.", (mark,))


def test_a_number_in_brackets_is_no_mark_where_others_are() -> None:
    assert clean("It grew [1], see (1).", SOURCES) == ("It grew [1], see (1).", ())


def test_a_mailbox_that_a_source_names_stays_a_link() -> None:
    text = "Write to [them](mailto:info@a.example)."
    assert clean(text, [Source(1, "https://a.example", "A", "Write to info@a.example.")])[0] == text
