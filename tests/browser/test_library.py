"""Use the library as a reader does: browse, find and read a document, add a folder, remove and restore it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OUTPUT, App, pick_row, settle

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_the_library_is_browsed_and_a_folder_is_added_removed_and_restored(
    fresh: App, page: Page, tmp_path: Path
) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "moon.md").write_text("# The moon\n\nThe moon is made of basalt.", "utf-8")
    page.goto(f"{fresh.url}/library?collection=factbook&title=France · Eco")
    expect(page.get_by_text("Select a row to read the document.")).to_be_visible()
    pick_row(page, r"[?&]doc=")
    expect(page.get_by_role("heading", name="France · Economy")).to_be_visible()
    page.get_by_role("button", name="Back to the library").click()
    page.wait_for_url(re.compile(r"collection=factbook"))

    page.goto(f"{fresh.url}/library")
    settle(page)
    page.get_by_role("tab", name="Use a folder").click()
    page.get_by_role("textbox", name="Folder on this computer").fill(str(papers))
    page.get_by_role("button", name="Add folder").click()
    expect(page.get_by_text("papers: 1 file read")).to_be_visible()
    row = page.locator('[class*="st-key-collection-"]').filter(has=page.get_by_text("papers", exact=True))
    row.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("is no longer searched")).to_be_visible()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row).to_be_visible()

    settle(page)
    box = page.get_by_role("searchbox", name="Search the library")
    box.fill("moon basalt")
    box.press("Enter")
    expect(page.get_by_text("The moon is made of basalt.")).to_be_visible()
    page.wait_for_url(re.compile("q=moon"))
    OUTPUT.mkdir(exist_ok=True)
    for width, scheme in ((1440, "light"), (390, "dark")):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.set_viewport_size({"width": width, "height": 900})
        for name, path in {"list": "/library?collection=factbook", "search": "/library?q=moon+basalt"}.items():
            page.goto(fresh.url + path)
            expect(page.get_by_text("basalt." if name == "search" else "Select a row").first).to_be_visible()
            settle(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.screenshot(path=OUTPUT / f"library-{name}-{width}-{scheme}.png")


def test_on_a_phone_the_title_is_near_the_head_and_every_kind_of_file_is_named(page: Page, app: App) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{app.url}/library")
    title = page.get_by_role("heading", name="Library", exact=True)
    expect(title).to_be_visible()
    settle(page)
    head, first = page.get_by_test_id("stHeader").bounding_box(), title.bounding_box()
    assert head and first and first["y"] - head["y"] - head["height"] < 24
    kinds = page.get_by_test_id("stFileUploaderDropzoneInstructions").locator("span").last
    assert kinds.evaluate(
        "each => each.scrollWidth <= each.clientWidth || getComputedStyle(each).whiteSpace === 'normal'"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_address_of_a_quote_opens_at_the_quote(fresh: App, page: Page, tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    lines = [f"Line {n} of the survey says that the tower number {n} stands.\n" for n in range(200)]
    (papers / "survey.md").write_text("\n".join(["# Survey\n", *lines]), "utf-8")
    bench = fresh.bench
    bench.library.add_folder(papers)
    (found,) = bench.library.documents(str(papers))
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{fresh.url}/library?doc={found.url}&quote=the+tower+number+150+stands")
        quoted = page.locator(".st-key-document").get_by_text("the tower number 150 stands")
        expect(quoted).to_be_in_viewport()
        settle(page)
        expect(quoted).to_be_in_viewport()
        page.screenshot(path=OUTPUT / f"library-quote-{width}.png")
    page.get_by_test_id("stMain").evaluate("each => each.scrollTo(0, 0)")
    page.get_by_role("button", name="Search").first.click()  # what is drawn again afterwards stays where the reader is
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    settle(page)
    expect(quoted).not_to_be_in_viewport()
