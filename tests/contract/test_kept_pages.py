"""Pages that runs read stay in the library: by their web address, bounded, and gone with the runs that read them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import research
from research import plugins
from research.config.settings import load
from research.defaults import PAGES
from research.errors import ToolError
from research.events.recipe import Recipe
from research.search.library import kept
from research.search.library.documents import Library
from research.types import Observation, Source
from research.web import archive
from research.web.fetch import FetchedPage, FetchPolicy
from research.web.url_guard import is_private
from research.workbench import deleting, leaving
from research.workbench.workbench import Workbench
from tests.word_encoder import WordEncoder

URL = "https://dams.example/zelkova"
TODAY = time.strftime("%Y-%m-%d", time.gmtime())


def page(url: str = URL, text: str = "The Zelkova dam is 93 metres high.", *, private: bool = False) -> FetchedPage:
    return FetchedPage(
        url,
        "Zelkova dam",
        text,
        "text/html",
        private=private,
        csl={"type": "webpage", "author": [{"literal": "A. Lee"}]},
    )


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(load(home=tmp_path / "home", openai_api_key="sk-test"))


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> dict[str, FetchedPage]:
    """The public pages that can be read; every other one is gone."""
    pages: dict[str, FetchedPage] = {}

    def read(url: str, *, policy: FetchPolicy) -> FetchedPage:
        if url not in pages:
            raise ToolError(f"{url} answered with status 404", "status 404")
        return pages[url]

    monkeypatch.setattr(archive, "fetch", read)
    return pages


def run(bench: Workbench, script: Callable[..., str], url: str = URL) -> str:
    """Let a run read a page, and return its id."""
    model = script({"calls": [{"name": "visit", "arguments": {"url": url, "goal": "height"}}]}, "93 metres [1].")
    return research.run(f"How high is it? {url}", workbench=bench, model=model, tools=["visit"], search=[]).run


def test_a_page_that_a_run_reads_is_found_by_later_runs_under_its_web_address(
    bench: Workbench, script: Callable[..., str], web: dict[str, FetchedPage]
) -> None:
    web[URL] = page()
    run(bench, script)
    web.clear()
    recipe = bench.recipe(search=["folders"])
    assert recipe.folders == (PAGES,)
    search, visit = (plugins.tool.get(name).function(bench, recipe, threading.Event()) for name in ("search", "visit"))
    found = search(query="height of the Zelkova dam")
    assert [(each.url, each.notes, each.csl["author"]) for each in found.passages] == [
        (URL, (f"from a copy kept on {TODAY}",), [{"literal": "A. Lee"}])
    ]
    assert not found.private
    read = visit(url=URL, goal="height")
    assert "93 metres" in read.passages[0].quote
    assert read.passages[0].notes == (f"read from a copy kept on {TODAY}, because: {URL} answered with status 404",)
    assert not is_private(Observation("1", "visit", "", sources=(Source(1, URL, "t", "q"),)))
    assert leaving.private_sources(recipe) == []
    assert bench.recipe(model="openai:gpt-5", search=["folders"]).egress == ""


def test_private_pages_are_not_kept_nor_any_if_that_is_off(
    tmp_path: Path, script: Callable[..., str], web: dict[str, FetchedPage]
) -> None:
    for folder, value, read in (("a", "on", page(private=True)), ("b", "off", page())):
        web[URL] = read
        bench = Workbench(load(home=tmp_path / folder, keep_pages=value))
        run(bench, script)
        assert PAGES not in bench.library.names()


def test_a_page_goes_with_the_last_run_that_read_it_and_comes_back_with_it(
    bench: Workbench, script: Callable[..., str], web: dict[str, FetchedPage]
) -> None:
    web[URL] = page()
    first, second = run(bench, script), run(bench, script)
    pages = bench.library.pages
    assert [pages.of(each) for each in ([first], [first, second])] == [0, 1]
    deleting.delete(bench.store, bench.library, [first])
    assert bench.library.search("Zelkova")
    deleting.delete(bench.store, bench.library, [second])
    assert bench.library.search("Zelkova") == []
    deleting.restore(bench.store, bench.library, [second])
    assert bench.library.search("Zelkova")
    deleting.delete(bench.store, bench.library, [second])
    bench.purge(time.time() + 1)
    deleting.restore(bench.store, bench.library, [first, second])
    assert bench.library.search("Zelkova") == []


def test_the_oldest_pages_go_first(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 3)
    for number in range(5):
        library.pages.keep(page(f"https://a.example/{number}"))
    library.pages.keep(page("https://a.example/3"))
    assert {each.url[-1] for each in library.documents(PAGES)} == {"2", "3", "4"}
    monkeypatch.setattr(kept, "BYTES", 820)
    library.pages.keep(page("https://a.example/5", "A long text. " * 60))
    assert {each.url[-1] for each in library.documents(PAGES)} == {"3", "5"}
    monkeypatch.setattr(kept, "LARGEST", 10)
    library.pages.keep(page("https://a.example/6"))
    assert library.collection_of("https://a.example/6") == ""


def test_a_new_copy_takes_the_place_of_the_old_one(library: Library) -> None:
    library.pages.keep(page(text="The dam is 90 metres high."))
    library.pages.read_by("a", [URL])
    library.pages.keep(page())
    assert [each.quote for each in library.search("dam")] == ["The Zelkova dam is 93 metres high."]
    assert library.pages.of(["a"]) == 1


def test_removed_pages_stay_removed_when_another_is_kept(library: Library) -> None:
    library.pages.keep(page())
    library.forget(PAGES)
    assert library.search("Zelkova") == []
    library.pages.keep(page("https://a.example/"))
    assert [each.url for each in library.documents(PAGES)] == ["https://a.example/"]


def test_kept_pages_need_no_vectors_so_the_rest_is_still_searched_by_meaning(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "a.md").write_text("The ferry has ninety seats.", "utf-8")
    library = Library(tmp_path / "home", WordEncoder())
    library.add_folder(tmp_path / "own")
    assert library.embed_missing() == 1
    library.pages.keep(page())
    assert library.embed_missing() == 0
    assert [hit.cosine is None for hit in library.scored("ferry seats")] == [False]
    assert {info.name: info.missing for info in library.collections()}[PAGES] == 0


def test_pages_of_other_days_are_not_searched_as_of_a_day(bench: Workbench) -> None:
    bench.library.pages.keep(page())
    assert bench.recipe().folders == (PAGES,)
    dated = Workbench(load(home=bench.settings.home, archive_url="https://archive.org"))
    assert dated.recipe(as_of="2024").folders == ()
    assert Recipe().folders == ()
