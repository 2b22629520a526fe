"""The main job of a new user: ask, watch, read, check the sources, download and replay."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from research.workbench.example import EXAMPLE_QUESTION
from tests.browser.conftest import App, Held, ended, opened, pick_row, served, settle, watched

pytestmark = pytest.mark.browser
PLAY = re.compile(r"\bPlay\b")
NOTE_ROUNDS = """() => {
    window.noted = [];
    new MutationObserver(() => {
        const shown = document.body.textContent.match(/Round (\\d) of 3/)?.[1];
        if (shown && shown !== noted.at(-1)) noted.push(shown);
    }).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""
"""Notes each round that the page shows, as a replay shows one for a second only."""


def run_of(page: Page) -> str:
    """Return the run id in the URL."""
    page.wait_for_url(re.compile(r"[?&]run="))
    return parse_qs(urlsplit(page.url).query)["run"][0]


def ask(page: Page, app: App, question: str = EXAMPLE_QUESTION, model: str = "") -> str:
    page.goto(app.url)
    box = page.get_by_role("textbox", name="Question", exact=True)
    expect(box).to_have_value("")
    settle(page)
    if model:
        page.get_by_text("Customize", exact=True).click()
        page.get_by_role("combobox", name="Model").fill(model)
        page.get_by_role("combobox", name="Model").press("Enter")
        expect(page.get_by_text(f"{Path(model).name} · tools:")).to_be_visible()
        settle(page)
    box.fill(question)
    page.get_by_role("button", name="Start").click()
    return run_of(page)


def answered(page: Page) -> None:
    expect(ended(page)).to_be_visible()


@pytest.fixture(scope="module")
def finished(chromium: Browser, app: App) -> str:
    """The answered example, asked with the defaults of a new home."""
    with watched(chromium) as context:
        page = context.new_page()
        run = ask(page, app)
        answered(page)
    return run


@pytest.fixture
def read(page: Page, app: App, finished: str) -> Page:
    """The page of the answered example, fully loaded."""
    page.goto(f"{app.url}/?run={finished}")
    answered(page)
    return page


def test_rounds_appear_before_the_end_and_a_reload_changes_nothing(page: Page, app: App, held: Held) -> None:
    run = ask(page, app, model=held.model(app))
    rounds = page.locator(".st-key-rounds")
    held.let_go()
    expect(rounds.get_by_text("Search: France real GDP purchasing").first).to_be_visible()
    held.let_go()
    expect(rounds.get_by_text(re.compile("Calculate")).first).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(ended(page)).to_have_count(0)
    page.reload()
    expect(rounds.get_by_text(re.compile("Calculate")).first).to_be_visible()
    held.let_go()
    answered(page)
    assert run_of(page) == run
    expect(page.locator(".st-key-report")).to_contain_text("Real GDP was $3.732 trillion in 2024 [1].")
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)


@pytest.mark.slow
def test_stop_ends_the_run_with_a_report_of_its_findings(page: Page, app: App, held: Held) -> None:
    ask(page, app, model=held.model(app))
    held.let_go()
    expect(page.locator(".st-key-rounds").get_by_text("Search: France real GDP purchasing").first).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(ended(page, "Stopped")).to_be_visible()
    expect(page.locator(".st-key-report")).to_contain_text("France · Economy")


@pytest.mark.slow
def test_a_closed_tab_does_not_end_the_run(context: BrowserContext, page: Page, app: App, held: Held) -> None:
    run = ask(page, app, model=held.model(app))
    page.close()
    held.let_go(3)
    again = context.new_page()
    again.goto(f"{app.url}/?run={run}")
    answered(again)


def test_a_citation_shows_its_passage_and_opens_the_document(read: Page) -> None:
    page = read
    report = page.locator(".st-key-report")
    expect(report).to_contain_text("$3.732 trillion")
    expect(report).to_contain_text("1.2 %")
    sentence = report.get_by_text("to $3.732 trillion")
    before = sentence.bounding_box()
    report.get_by_role("button", name=re.compile("^Citation 1: ")).first.click()
    quote = report.get_by_role("dialog")
    expect(quote).to_contain_text("Real GDP (purchasing power parity) 2024: $3.732 trillion (2024 est.)")
    expect(quote).to_contain_text(re.compile("Supported|Calculated"))
    panel = quote.bounding_box()
    assert sentence.bounding_box() == before, "the report does not move"
    assert before and panel and panel["x"] >= before["x"] + before["width"], "the quote is beside the sentence"
    page.keyboard.press("Escape")
    expect(quote).to_have_count(0)
    mark = report.get_by_role("button", name=re.compile("^Citation 1: ")).first
    expect(mark).to_be_focused()
    page.keyboard.press("Enter")
    quote.get_by_role("link", name="Open in the library").click()
    expect(page.get_by_role("heading", name="France · Economy")).to_be_visible()
    marked = page.locator(".stMarkdownColoredBackground")
    expect(marked.first).to_contain_text("$3.732 trillion")


def test_each_statement_has_one_mark_and_each_source_a_card(read: Page) -> None:
    """The first statement cites its source twice."""
    report = read.locator(".st-key-report")
    expect(report.locator(".rw-report p").first.get_by_role("button")).to_have_count(1)
    card = report.locator(".st-key-source-card-1")
    expect(card.get_by_role("heading", name="1 France · Economy")).to_be_visible()
    for year in (2023, 2024):
        expect(card).to_contain_text(f"Real GDP (purchasing power parity) {year}")


def test_question_answer_sources_and_follow_up_begin_at_one_edge(read: Page) -> None:
    parts = (".st-key-run-question h1", ".rw-report > p", ".st-key-source-card-1", "[class*=st-key-follow-up-text-]")
    for width in (1440, 900, 390):
        read.set_viewport_size({"width": width, "height": 900})
        boxes = [read.locator(part).first.bounding_box() for part in parts]
        assert len({box and box["x"] for box in boxes}) == 1, (width, boxes)


def test_the_actions_have_their_own_line_and_the_follow_up_is_as_wide_as_a_source(read: Page) -> None:
    for width in (1440, 1900):
        read.set_viewport_size({"width": width, "height": 900})
        read.wait_for_function(
            """() => {
            const box = (at) => document.querySelector(at).getBoundingClientRect();
            const card = box(".st-key-source-card-1");
            const form = box("[data-testid=stForm]:has([class*=st-key-follow-up-text-])");
            return box(".st-key-run-actions").top >= box(".st-key-run-head p").bottom
                && card.left === form.left && card.right === form.right;
            }"""
        )


def test_the_head_stays_in_sight_and_a_mark_opens_on_a_phone(read: Page) -> None:
    read.set_viewport_size({"width": 1440, "height": 420})
    read.locator(".st-key-source-card-1").scroll_into_view_if_needed()
    expect(ended(read)).to_be_in_viewport()
    read.set_viewport_size({"width": 390, "height": 800})
    report = read.locator(".st-key-report")
    report.get_by_role("button", name=re.compile("^Citation 1: ")).first.click()
    expect(report.get_by_role("dialog")).to_be_in_viewport()
    assert read.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_report_downloads_as_markdown(read: Page, finished: str) -> None:
    with read.expect_download() as download:
        read.get_by_role("button", name="Export").click()
        read.get_by_role("button", name="Markdown").click()
    assert re.fullmatch(r"what-was-france-s-real-gdp-.*-\d{4}-\d\d-\d\d\.md", download.value.suggested_filename)
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.startswith("---\ntitle: ")
    for key in ("model: ", "recipe: ", "date: ", "prompt_tokens: ", f'run: "{finished}"'):
        assert f"\n{key}" in text
    references = text.partition("## References")[2]
    assert "France · Economy" in references
    assert "France · Economy (the CIA World Factbook)" in references


@pytest.mark.slow
def test_a_saved_run_is_found_opened_and_replayed(page: Page, app: App, finished: str) -> None:
    page.goto(app.url)
    page.get_by_role("link", name="Runs").click()
    box = page.get_by_placeholder("Search questions and answers")
    expect(box).to_be_visible()
    settle(page)
    box.fill("France")
    page.wait_for_url(re.compile("q=France"))
    page.get_by_test_id("stDataFrame").click(position={"x": 16, "y": 52})
    expect(page.get_by_text("1 run selected")).to_be_visible()
    assert "run=" not in page.url, "a tick opens nothing"
    page.get_by_role("button", name="Clear selection", exact=True).click()
    pick_row(page, r"[?&]run=")
    assert run_of(page) == finished
    rounds = page.locator(".st-key-rounds")
    expect(rounds.get_by_text(re.compile("Calculate"))).to_be_visible()

    expect(page.get_by_role("slider")).to_have_count(0)
    settle(page)
    page.evaluate(NOTE_ROUNDS)
    page.keyboard.press("k")
    page.wait_for_function("noted.join() === '1,2'")
    answered(page)
    page.get_by_role("slider").press("Home")
    expect(page.get_by_text("Round 1 of 3")).to_be_visible()
    expect(rounds.get_by_text(re.compile("Calculate"))).to_have_count(0)
    page.wait_for_url(re.compile("round=1"))

    page.get_by_role("button", name=PLAY).click()
    page.wait_for_function("noted.join() === '1,2,1,2'")
    answered(page)
    expect(page.get_by_role("button", name=PLAY)).to_be_visible()

    page.goto(f"{app.url}/?run={finished}&round=2")
    expect(page.get_by_text("Round 2 of 3")).to_be_visible()
    expect(rounds.get_by_text(re.compile("Calculate"))).to_be_visible()
    expect(rounds.get_by_text("write what the sources say")).to_have_count(0)
    page.goto(f"{app.url}/runs?run={finished}&round=1")
    expect(page.get_by_text("Round 1 of 3")).to_be_visible()


def test_an_opened_round_shows_the_full_prompt(read: Page) -> None:
    rounds = read.locator(".st-key-rounds")
    opened(rounds, re.compile("Calculate"), "Full prompt")
    opened(rounds, "Full prompt", "tool_response")


@pytest.mark.slow
def test_hostile_text_is_escaped_and_fetches_nothing(page: Page, app: App, tmp_path: Path) -> None:
    """The `page` fixture fails this test on a request to another host."""
    image = "![x](https://evil.example/p.png)"
    wild = f"{image} $a^2$ and $b$ :red[red] :material/check: :+1: ~~gone~~ <img src='https://evil.example/h.png'>"
    diagram = '```mermaid\nflowchart LR\n  a@{ img: "https://evil.example/m.png" }\n```'
    call = '<tool_call>{"name": "search", "arguments": {"query": "France economy"}}</tool_call>'
    lines = [f"<think>{wild}</think>\n{call}", f"<think>{wild}</think>\n<answer>{wild} [1] [99]\n\n{diagram}</answer>"]
    script = tmp_path / "wild.jsonl"
    script.write_text("\n".join(json.dumps({"text": line}) for line in lines), encoding="utf-8")
    run = ask(page, app, question=wild, model=f"scripted:{script}")
    expect(ended(page, "Partly answered")).to_be_visible()  # [99] is no source
    for path in (f"/?run={run}", f"/runs?run={run}"):
        page.goto(app.url + path)
        expect(ended(page, "Partly answered")).to_be_visible()
        drawn = page.locator(".st-key-run")
        opened(page.locator(".st-key-rounds"), "France economy", "search · input")
        for selector in ("img", "svg.flowchart", ".st-key-report .stMarkdownColoredBackground"):
            expect(drawn.locator(selector)).to_have_count(0)
        report = page.locator(".st-key-report")
        expect(report.get_by_role("math").first).to_be_visible()
        expect(report.locator("s").first).to_have_text("gone")
        expect(report).to_contain_text("red[red]")
        expect(report).to_contain_text(":material/check: :+1:")
        expect(report.get_by_role("link", name="[x]").first).to_be_visible()


@pytest.mark.slow
def test_the_first_visit_to_a_server_can_be_a_deep_link(page: Page, app: App, finished: str) -> None:
    """Streamlit runs a server's first page alone when there is a `pages` folder; the page then starts over."""
    with served(app.home) as fresh:
        page.goto(f"{fresh.url}/runs?run={finished}&round=2")
        expect(page.get_by_text("Round 2 of")).to_be_visible()
        expect(page.get_by_role("link", name="Library")).to_be_visible()
        # Leave the page before its server stops: a failed request then is not the page's error.
        settle(page)
        page.goto("about:blank")
