"""A hostile or huge report fetches nothing, runs nothing, and leaves the page usable."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from research.types import Citation
from tests.browser.conftest import OUTPUT, App, ended, opened
from tests.constructs import FORMULAS, REPORT
from tests.long_run import LongRun

pytestmark = pytest.mark.browser

PIXEL = "https://evil.example/p.png"
WILD = f"""# Report <img src="{PIXEL}" onerror="window.hit = 1"> ![x]({PIXEL}) ![y][ref]

[ref]: {PIXEL}

[click](javascript:window.hit=1) <a href="javascript:window.hit=1">a</a> <javascript:window.hit=1>
[data](data:text/html,<script>window.hit=1</script>) <script>window.hit = 1</script> <iframe src="{PIXEL}"></iframe>

<svg onload="window.hit=1"><image href="{PIXEL}"/></svg> <style>@import url({PIXEL}); body {{ display: none }}</style>

```mermaid
flowchart LR
  a@{{ img: "{PIXEL}" }} --> b[<img src={PIXEL}>]
  click a "javascript:window.hit=1"
```

$\\href{{javascript:window.hit=1}}{{x}}$ :material/check: :red-background[red] [^1] [1]

[^1]: ![z]({PIXEL})
"""
BIG = {
    "table": "| a | b |\n|---|---|\n" + "| one | two [1] |\n" * 65_000,
    "list": "\n".join(f"- item {n} [1]" for n in range(10_000)),
    "citations": "".join(f"Statement {n} says so [{n}]. " for n in range(1, 5_001)),
    "quotes": ">" * 20_000 + " deep",
    "nested": "\n".join(f"{'  ' * n}- level {n}" for n in range(1_000)),
    "brackets": "[" * 20_000,
    "stars": "**a " * 20_000,
    "links": "[a](b " * 10_000,
    "code": "`" * 20_001,
    "line": "x" * 1_000_000,
}


@pytest.mark.parametrize("name", ["wild", *(pytest.param(each, marks=pytest.mark.slow) for each in BIG)])
def test_a_hostile_report_fetches_and_runs_nothing(page: Page, app: App, name: str) -> None:
    """The `page` fixture fails this test on a request to another host or a console error."""
    text = WILD if name == "wild" else BIG[name]
    run = LongRun(app.bench.store, f"261121-130000-{name}", question=f"{name} {PIXEL} ![q]({PIXEL})")
    run.rounds(2)
    citations = tuple(Citation(n, f"Statement {n} says so.", "dead") for n in range(1, 5_001))
    run.finish(report=f"{text}\n\nThe end of {name} [1].", citations=citations if name == "citations" else ())
    page.goto(f"{app.url}/?run={run.run_id}")
    expect(ended(page)).to_be_visible()
    report = page.locator(".st-key-report")
    # Short reports are drawn in full; long ones say where the rest is.
    expect(report).to_contain_text(
        f"The end of {name}" if name == "wild" else re.compile("The end of|[Tt]he download has all")
    )
    for selector in ("img", "iframe", "script", "svg.flowchart", "object", "embed", "a[href^='javascript']"):
        expect(report.locator(selector)).to_have_count(0)
    assert page.evaluate("document.querySelectorAll('.st-key-report *').length") < 30_000
    assert page.evaluate("window.hit") is None
    # The page still responds: a round opens.
    opened(page.locator(".st-key-rounds"), "chronicle chapter 2", "search · input")


def test_every_construct_is_drawn_and_a_wide_table_scrolls_in_itself(page: Page, app: App) -> None:
    run = LongRun(app.bench.store, "261121-130000-constructs")
    run.rounds(2)
    row = "|" + " a wide cell | 1,234,567.89 |" * 6
    wide = f"{row}\n{'|:--|--:' * 6}|\n{row}\n{row}"
    run.finish(report=f"{REPORT}\n{wide}\n\n$$\n{' + '.join(f'x_{{{n}}}' for n in range(60))}\n$$\n\nThe end [1].")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{app.url}/?run={run.run_id}")
    expect(ended(page)).to_be_visible()
    report = page.locator(".st-key-report .rw-report")
    expect(report).to_contain_text("The end")
    expect(report.locator("math")).to_have_count(len(FORMULAS) + 1)
    for selector in (
        "s",
        "ol[start='3']",
        "blockquote blockquote",
        "pre code",
        "hr",
        "td.rw-center",
        "td.rw-right",
        "msqrt",
    ):
        expect(report.locator(selector).first).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    inner = report.locator(".rw-wide")
    sizes = inner.evaluate_all("all => all.map(each => [each.scrollWidth, each.clientWidth])")
    assert [full > shown for full, shown in sizes] == [False, False, False, True, True]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for width in (390, 1440):
            page.set_viewport_size({"width": width, "height": 844})
            report.screenshot(path=OUTPUT / f"constructs-{width}-{scheme}.png")
