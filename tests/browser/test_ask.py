"""The Ask page in a browser: a whole visit, a slow line, and a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.conftest import OUTPUT, WAIT_MS, App, ended, settle

pytestmark = pytest.mark.browser

MOON = {"name": "../moon.md", "mimeType": "text/markdown", "buffer": b"# The moon\n\nThe moon is made of basalt."}
FAKE = {"name": "fake.pdf", "mimeType": "application/pdf", "buffer": b"no pdf"}


@pytest.mark.slow
def test_asking_with_a_preset_and_a_document_then_running_again(page: Page, app: App) -> None:
    page.goto(app.url)
    box = page.get_by_role("textbox", name="Question", exact=True)
    page.get_by_role("radio", name="Quick look").click()
    expect(page.get_by_text("A few rounds on a tight budget")).to_be_visible()
    expect(page.get_by_text("at most 60k").first).to_be_visible()
    page.get_by_text("Customize", exact=True).click()

    # With the keyboard: the advice, then the cards; one strategy is refused.
    page.get_by_role("radio", name="High confidence").focus()
    page.keyboard.press("Space")
    framework = page.get_by_role("radiogroup", name="Framework")
    expect(framework.get_by_role("radio", name="Parallel sampling")).to_be_checked()
    expect(page.get_by_text("Parallel sampling with ")).to_be_visible()
    framework.get_by_role("radio", name="Parallel sampling").focus()
    for above in ("Reflexion", "ReWOO"):
        page.keyboard.press("ArrowUp")
        expect(framework.get_by_role("radio", name=above)).to_be_checked()
        expect(page.get_by_text(f"{above} with ")).to_be_visible()  # the server has the new value
    expect(page.get_by_text("Evolving report isn't available here")).to_be_visible()
    framework.get_by_text("Think, act, observe").click(force=True)  # the label lies over the words of its card
    expect(framework.get_by_role("radio", name="ReAct")).to_be_checked()
    expect(page.get_by_text("ReAct with ")).to_be_visible()
    page.screenshot(path=OUTPUT / "ask-options-1440-light.png", full_page=True)

    page.get_by_role("button", name="Add documents").click()
    page.locator("input[type=file]").first.set_input_files([MOON, FAKE])  # type: ignore[list-item]
    expect(page.get_by_text("and searchable")).to_be_visible()
    expect(page.get_by_text("is a damaged pdf")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Documents", exact=True)).to_be_visible()

    settle(page)
    box.fill("What is the moon made of?")
    box.press("Control+Enter")
    page.wait_for_url(re.compile(r"[?&]run="))
    expect(page.get_by_role("heading", name="What is the moon made of?")).to_be_visible()
    expect(page.locator(".st-key-report")).to_contain_text("made of basalt")
    expect(box).to_have_count(0)

    page.get_by_role("link", name="Run again").click()
    page.wait_for_url(re.compile(r"[?&]again="))
    expect(box).to_have_value("What is the moon made of?")
    expect(page.get_by_text("at most 60k").first).to_be_visible()
    page.reload()
    expect(box).to_have_value("What is the moon made of?")
    page.go_back()
    expect(page.get_by_role("button", name="New question")).to_be_visible()
    page.get_by_role("button", name="New question").click()
    expect(box).to_have_value("")


class SlowWire:
    """Logs the messages between browser and server, and can hold back the server's, as a slow line does."""

    def __init__(self, page: Page) -> None:
        self.log: list[tuple[str, bytes]] = []
        """Kind and content of each message since `hold`; the kind is `sent` for those of the browser."""
        self._page = page
        self._held: list[str | bytes] | None = None
        self._to_page: WebSocketRoute
        page.route_web_socket(re.compile("/_stcore/stream"), self._connect)

    def hold(self) -> None:
        self.log, self._held = [], []

    def release(self) -> None:
        held, self._held = self._held or [], None
        for message in held:
            self._to_page.send(message)

    def wait(self, *steps: tuple[str, str]) -> None:
        """Wait until the log has messages of these kinds with these texts, in this order."""
        for _ in range(WAIT_MS // 50):
            if self.has(*steps):
                return
            self._page.wait_for_timeout(50)
        raise AssertionError(f"{steps} are not among {[kind for kind, _ in self.log]}")

    def has(self, *steps: tuple[str, str]) -> bool:
        rest = iter(self.log)
        return all(any(kind == each and text.encode() in message for each, message in rest) for kind, text in steps)

    def _connect(self, to_page: WebSocketRoute) -> None:
        self._to_page, to_server = to_page, to_page.connect_to_server()

        def sent(message: str | bytes) -> None:
            assert isinstance(message, bytes)
            self.log.append(("sent", message))
            to_server.send(message)

        to_page.on_message(sent)
        to_server.on_message(self._received)

    def _received(self, message: str | bytes) -> None:
        assert isinstance(message, bytes)
        self.log.append((ForwardMsg.FromString(message).WhichOneof("type") or "", message))
        if self._held is None:
            self._to_page.send(message)
        else:
            self._held.append(message)


@pytest.mark.slow
@pytest.mark.parametrize("finished", [False, True])
def test_typing_before_a_preset_is_shown_keeps_the_preset(fresh: App, page: Page, finished: bool) -> None:
    """The event of the typed question carries the empty budget that the browser still shows."""
    question = "What is the population of France?"
    wire = SlowWire(page)
    page.goto(fresh.url)
    expect(page.get_by_text("usually a few seconds")).to_be_visible()
    settle(page)

    wire.hold()
    page.get_by_role("radio", name="Quick look").click()
    box = page.get_by_role("textbox", name="Question", exact=True)
    box.fill(question)
    run_of_click = [("delta", "A few rounds on a tight budget"), *([("script_finished", "")] if finished else [])]
    wire.wait(*run_of_click)
    box.press("Tab")
    wire.wait(*run_of_click, ("sent", question))
    wire.release()

    run_of_question = [("sent", question), ("new_session", "")]
    wire.wait(*run_of_question, ("script_finished", ""))
    assert wire.has(*run_of_question, ("delta", "at most 60k"))
    settle(page)
    expect(page.get_by_text("at most 60k").first).to_be_visible()
    expect(box).to_have_value(question)


@pytest.mark.examples(1)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_form_fits_a_phone_in_both_languages(page: Page, app: App, language: str) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    page.emulate_media(color_scheme="dark")
    page.goto(f"{app.url}/?lang={language}&preset=Academic&q=Who")
    expect(page.locator(".st-key-question textarea")).to_have_value("Who")
    expect(page.locator(".st-key-presets")).to_be_visible()
    settle(page)
    page.get_by_test_id("stExpander").locator("summary").first.click()
    expect(page.locator(".st-key-cards-framework").get_by_role("radio").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.screenshot(path=OUTPUT / f"ask-box-390-dark-{language}.png")
    page.get_by_test_id("stExpandSidebarButton").click()
    menu, switch = page.get_by_test_id("stSidebar"), page.locator("[class*=st-key-language-switch]")
    expect(menu.get_by_role("link").first).to_be_visible()
    above = "each => +getComputedStyle(each).zIndex"
    assert menu.evaluate(above) > switch.evaluate(above), "the open menu lies above the language switch"


@pytest.mark.slow
def test_the_box_has_the_cursor_and_an_empty_one_leaves_no_red_trace(fresh: App, page: Page) -> None:
    page.goto(fresh.url)
    box = page.get_by_role("textbox", name="Question", exact=True)
    expect(box).to_be_focused()
    settle(page)
    box.press("Control+Enter")
    expect(page.get_by_text("Type a question first.")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="a trend").click()
    expect(box).to_have_value("How did the GDP per capita of Vietnam change from 2022 to 2024?")


def test_an_enter_before_the_script_of_the_page_has_arrived_asks_once_it_has(app: App, page: Page) -> None:
    held: list[Route] = []
    page.route("**/static/workbench.js*", lambda route: held.append(route))
    with page.expect_request("**/static/workbench.js*"):
        page.goto(app.url)
    box = page.get_by_role("textbox", name="Question", exact=True)
    box.fill("What is the capital of Norway?")
    box.press("Enter")
    for route in held:
        route.continue_()
    page.wait_for_url(re.compile(r"[?&]run="))
    expect(page.get_by_role("heading", name="What is the capital of Norway?")).to_be_visible()


@pytest.mark.slow
def test_enter_asks_and_shift_enter_breaks_the_line(fresh: App, page: Page) -> None:
    page.goto(fresh.url)
    box = page.get_by_role("textbox", name="Question", exact=True)
    expect(box).to_be_focused()
    expect(page.get_by_text("Shift+Enter for a new line")).to_be_visible()
    settle(page)
    box.press("Enter")
    expect(page.get_by_text("Type a question first.")).to_be_visible()
    expect(box).to_be_focused()
    box.fill("What is the capital of France,")
    box.press("Shift+Enter")
    page.keyboard.type("and of Norway?")
    ends = "each => each.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, isComposing: true}))"
    box.evaluate(ends)  # the Enter that ends a composition, as of Chinese
    expect(box).to_have_value("What is the capital of France,\nand of Norway?")
    expect(page.locator(".st-key-composer[data-starting]")).to_have_count(0)
    box.press("Enter")
    page.wait_for_url(re.compile(r"[?&]run="))
    expect(ended(page)).to_be_visible()
    expect(page.get_by_role("heading", name="What is the capital of France, and of Norway?")).to_be_visible()
    first = page.url
    follow = page.get_by_role("textbox", name="Follow-up question")
    settle(page)
    follow.fill("And of Spain,")
    follow.press("Shift+Enter")
    page.keyboard.type("and of Italy?")
    expect(follow).to_have_value("And of Spain,\nand of Italy?")
    page.set_viewport_size({"width": 1280, "height": 420})
    follow.scroll_into_view_if_needed()
    follow.press("Enter")
    page.wait_for_url(lambda url: "run=" in url and url != first)
    expect(page.get_by_role("heading", name="And of Spain, and of Italy?")).to_be_in_viewport()  # it begins at its head


@pytest.mark.slow
def test_a_click_on_start_shows_at_once_that_it_arrived(fresh: App, page: Page) -> None:
    """The mark is set by the browser, while the line holds back what the server says."""
    wire = SlowWire(page)
    page.goto(fresh.url)
    box = page.get_by_role("textbox", name="Question", exact=True)
    expect(box).to_be_focused()  # by the script that sets the mark, so it is there
    settle(page)
    box.fill("What is the population of France?")
    wire.hold()
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".st-key-composer[data-starting]")).to_have_count(1)
    wire.release()
    page.wait_for_url(re.compile(r"[?&]run="))
