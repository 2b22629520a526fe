"""The library through its public API: indexing, search, updates and recovery."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from research.config.settings import load
from research.defaults import FACTBOOK
from research.errors import ConfigError, ToolError
from research.search.embedders import cached
from research.search.library import factbook, storage
from research.search.library.documents import Library
from research.search.library.quota import Quota
from research.text import segment
from research.web import readers
from research.workbench.workbench import Workbench
from tests.workers import LONG_S


class Letters:
    """A fast encoder that counts letters: texts with the same letters have similar vectors."""

    def __init__(self, name: str = "letters", dimension: int = 512) -> None:
        self.id, self.dimension, self.encoded = name, dimension, 0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.encoded += len(texts)
        rows = np.full((len(texts), self.dimension), 1e-3, np.float32)
        for row, text in zip(rows, texts, strict=True):
            np.add.at(row, [ord(char) % self.dimension for char in text.lower()], 1)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


class Asked(Letters):
    """An encoder that a question uses all the time."""

    looked = 0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        time.sleep(0.01)
        return super().encode(texts)

    def others_use(self) -> bool:
        self.looked += 1
        return True


class Broken(Letters):
    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise ConfigError("the weights are missing: install them")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Library:
    library = Library(tmp_path_factory.mktemp("home"))
    library.index_factbook()
    return library


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "My notes"
    (folder / "2024").mkdir(parents=True)
    (folder / "whale.md").write_text("# The blue whale\n\nThe blue whale is the largest animal.\nIt eats krill.\n")
    (folder / "2024" / "trip plan.txt").write_text("We fly to Oslo in June.\nThe hotel is near the harbour.\n")
    (folder / "地理.txt").write_text("长江是中国最长的河流。\n黄河是中国第二长的河流。\n", encoding="utf-8")
    return folder


# The Factbook


@pytest.fixture(scope="module")
def documents() -> dict[str, factbook.Document]:
    return {document.url: document for document in factbook.documents()}


@pytest.mark.slow
def test_every_factbook_entity_has_one_clear_name(documents: dict[str, factbook.Document]) -> None:
    names = {document.title.partition(" · ")[0] for document in documents.values()} - {"Country comparison"}
    assert len(names) == 256
    assert names > {
        "South Korea", "The Bahamas", "Burma", "Democratic Republic of the Congo", "Republic of the Congo", "World",
        "European Union", "United States", "Dominican Republic", "US Virgin Islands", "British Virgin Islands",
        "Holy See (Vatican City)", "Côte d'Ivoire", "Svalbard", "Gaza Strip", "Federated States of Micronesia",
    }  # fmt: skip
    assert not any(re.search(r"none|,$|\(.*[,;]", name) for name in names)


def test_factbook_urls_are_stable_and_plain(documents: dict[str, factbook.Document]) -> None:
    assert (
        documents["library://factbook/cote-d-ivoire/people-and-society"].title == "Côte d'Ivoire · People and Society"
    )
    assert all(
        re.fullmatch(r"library://factbook/[a-z0-9-]+/[a-z0-9-]+(?:/[a-z0-9-]+(?:/[2-9])?)?", url) for url in documents
    )


def test_every_factbook_line_is_a_fact_that_can_be_quoted_alone(documents: dict[str, factbook.Document]) -> None:
    lines = [line for document in documents.values() for line in document.text.split("\n")]
    assert all(re.match(r"[^a-z\s][^:]*: \S", line) for line in lines)
    assert not any(re.search(r"</?\w+>|&[a-z]+;|[\x00-\x1f\xa0]", line) for line in lines)


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("france/economy", "Real GDP (purchasing power parity) 2024: $3.732 trillion (2024 est.)"),
        ("france/economy", "Real GDP (purchasing power parity), note: data in 2021 dollars"),
        ("france/geography", "Land use, agricultural land, arable land: 31.4% (2023 est.)"),
        ("france/geography", "Location, French Guiana: Northern South America, bordering the North Atlantic Ocean, "
         "between Brazil and Suriname"),
        ("france/government", "Executive branch, head of government: Sébastien LECORNU (since 10 September 2025)"),
        ("france/people-and-society", "Drinking water source, improved, urban: 100% of population (2022 est.)"),
        ("france/people-and-society", "Languages, note: overseas departments - French, Creole patois, Mahorian "
         "(a Swahili dialect)"),
        ("brazil/geography", "Mean elevation: 320 m"),
        ("canada/government", "Political parties: Bloc Québécois; Conservative Party of Canada or CPC; Green Party of "
         "Canada; Liberal Party of Canada; New Democratic Party"),
    ],
)  # fmt: skip
def test_nested_factbook_data_becomes_plain_lines(documents: dict[str, factbook.Document], url: str, line: str) -> None:
    assert line in documents[f"library://factbook/{url}"].text.split("\n")


def test_the_factbook_is_indexed_once(world: Library, documents: dict[str, factbook.Document]) -> None:
    (info,) = world.collections()
    assert (info.name, info.documents, info.vectors) == (FACTBOOK, len(documents), 0)
    assert world.index_factbook() == 0


# Search by words


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("France real GDP purchasing power parity 2024", "France · Economy"),
        ("Germany border countries", "Germany · Geography"),
        ("USA population", "United States · People and Society"),
        ("US inflation rate 2024", "United States · Economy"),
        ("Who is the prime minister of the UK?", "United Kingdom · Government"),
        ("Myanmar economy", "Burma · Economy"),
        ("capital of the Ivory Coast", "Côte d'Ivoire · Government"),
        ("cote d'ivoire cocoa exports", "Côte d'Ivoire · Economy"),
        ("highest point in Japan", "Japan · Geography"),
        ("芬兰 real GDP per capita", "Finland · Economy"),
        ("挪威 发电 来源", "Norway · Energy"),
        ("越南 宗教 信仰", "Vietnam · People and Society"),
        ("土耳其 地震 灾害", "Turkey · Geography"),
    ],
)
def test_the_section_with_the_answer_ranks_first(world: Library, query: str, title: str) -> None:
    assert world.search(query)[0].title == title


def test_the_quote_is_the_line_with_the_answer(world: Library) -> None:
    found = world.search("France real GDP purchasing power parity 2024", limit=3)
    assert found[0].quote.startswith("Real GDP (purchasing power parity) 2024: $3.732 trillion (2024 est.)")
    assert "Military Expenditures 2024: 1.5% of GDP" in world.search("Chinese military expenditures")[0].quote


def test_quotes_are_short_and_verbatim(world: Library) -> None:
    for query in ("volcano eruption history", "international organisations of Brazil", "election results first round"):
        found = world.search(query, limit=20)
        assert found
        for rank, passage in enumerate(found):
            assert len(passage.quote) <= (200 if rank else 500)
            assert passage.quote.strip("…") in world.open(passage.url).text


def test_a_quote_has_all_lines_that_fit_as_well_and_only_whole_ones(world: Library) -> None:
    found = world.search("Norway electricity generation sources")[0]
    assert "hydroelectricity: 89.1% of total installed capacity" in found.quote
    assert set(found.quote.split("\n")) <= set(world.open(found.url).text.split("\n"))


def test_a_comparison_is_quoted_with_the_line_of_the_country_asked_about(world: Library) -> None:
    found = {passage.title: passage.quote for passage in world.search("Norway rank electricity generation sources")}
    ranking = found["Country comparison · Electricity generation sources, hydroelectricity"]
    assert "Norway (rank 10): 89.1% of total installed capacity (2023 est.)" in ranking.split("\n")


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("Guinea infant mortality rate", "Guinea · People and Society"),
        ("Papua New Guinea infant mortality rate", "Papua New Guinea · People and Society"),
        ("Canada crude oil reserves", "Canada · Energy"),
    ],
)
def test_what_the_query_names_ranks_before_what_contains_its_words(world: Library, query: str, title: str) -> None:
    assert world.search(query)[0].title == title


def test_documents_that_do_not_mention_what_the_query_names_are_left_out(world: Library) -> None:
    found = world.search("Norway electricity generation sources")
    assert found and all("Norway" in f"{each.title} {each.quote}" for each in found)


def test_a_ranking_is_a_result_beside_the_figure_that_it_repeats_only_if_the_query_is_about_ranks(
    world: Library,
) -> None:
    ranking = "Country comparison · Life expectancy at birth, total population"
    figure, place = (
        [each.title for each in world.search(f"{what}life expectancy at birth Japan total population")]
        for what in ("", "rank by ")
    )
    assert "Japan · People and Society" in {*figure} & {*place}
    assert ranking in place and ranking not in figure


def test_no_document_of_another_collection_is_left_out(tmp_path: Path) -> None:
    countries, other = tmp_path / "countries", tmp_path / "other"
    for folder in (countries, other):
        folder.mkdir()
    for n in range(40):
        (countries / f"{n}.md").write_text(f"# Norway · Part {n}\n\nEnergy of Norway, part {n}.", encoding="utf-8")
    (other / "brief.md").write_text("# In brief\n\nEnergy subsidies are rare.", encoding="utf-8")
    library = Library(tmp_path / "home")
    library.add_folder(countries)
    library.add_folder(other)
    assert "In brief" in {each.title for each in library.search("Norway energy", limit=50)}


def test_a_query_that_names_nothing_known_gets_all_that_fits(world: Library) -> None:
    assert len(world.search("electricity generation sources")) == 10


def test_a_long_document_is_quoted_across_the_end_of_a_passage(tmp_path: Path) -> None:
    folder = tmp_path / "plants"
    folder.mkdir()
    others = "\n".join(f"Remark {n}: nothing was measured in this week of the survey." for n in range(600))
    plants = "\n".join(
        f"Output of plant {name}: {n}00 MWh in the survey's last year" for n, name in enumerate("abcdefgh", 1)
    )
    (folder / "survey.txt").write_text(f"{others}\n{plants}\n{others}")
    library = Library(tmp_path / "home")
    library.add_folder(folder)
    (found,) = library.search("output of each plant")
    assert len(found.quote.split("\n")) == 8
    assert found.quote in library.open(found.url).text


def test_each_document_appears_once_in_the_results(world: Library) -> None:
    urls = [passage.url for passage in world.search("Germany", limit=30)]
    assert len(urls) == len(set(urls)) >= 10


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("title:France*", "France"), ("\ud800 Oslo", "Norway"), ("France AND AND", "France"), ("NEAR(Oslo", "Norway"),
        ('the "whale', ""), ("a OR", ""), ("^x", ""), ("col-1 {", ""), ("x\0y", ""),
    ],
)  # fmt: skip
def test_any_text_can_be_searched_for(world: Library, query: str, first: str) -> None:
    """Operators of the query language are only words."""
    assert first in world.search(query)[0].title


def test_a_query_without_words_raises_a_tool_error(world: Library) -> None:
    with pytest.raises(ToolError, match="no words"):
        world.search("?! …")


def test_chinese_words_are_found(tmp_path: Path, notes: Path) -> None:
    library = Library(tmp_path / "home")
    library.add_folder(notes)
    (found,) = library.search("中国最长的河流是哪条？", collections=[str(notes)])
    assert found.title == "地理"
    assert "长江" in found.quote


def test_segment_splits_only_chinese_text() -> None:
    assert segment("Côte d'Ivoire: $3.732 trillion") == "Côte d'Ivoire: $3.732 trillion"
    assert {"中国", "gdp", "2024"} <= set(segment("2024年中国gdp增长").split())
    assert "共和国" in segment("中华人民共和国").split()


# Opening and browsing


def test_an_unknown_url_gives_an_error_with_the_closest_one(world: Library) -> None:
    with pytest.raises(ToolError, match=r"closest: .*library://factbook/france/economy"):
        world.open("library://factbook/france/econom")
    with pytest.raises(ToolError, match="no document"):
        world.open("")


def test_documents_are_listed_by_title(world: Library) -> None:
    page = world.documents(FACTBOOK, "CÔTE D'", limit=3, offset=1)
    assert [entry.title for entry in page] == [f"Côte d'Ivoire · {s}" for s in ("Economy", "Energy", "Environment")]
    assert page[0].characters == len(world.open(page[0].url).text)


def test_an_unknown_collection_gives_an_error_with_the_known_ones(world: Library) -> None:
    for call in (lambda: world.search("x", collections=["web"]), lambda: world.documents("web")):
        with pytest.raises(ConfigError, match="'web'; known: factbook"):
            call()


# Folders


def test_adding_a_folder_again_indexes_only_its_changes(tmp_path: Path, notes: Path) -> None:
    library = Library(tmp_path / "home")
    (notes / ".hidden.md").write_text("secret")
    (notes / "photo.jpg").write_bytes(b"\xff\xd8")
    (notes / "bad.pdf").write_bytes(b"not a pdf at all")
    seen: list[tuple[int, int, str]] = []
    first = library.add_folder(notes, lambda *step: seen.append(step))
    assert (first.indexed, first.unchanged, first.removed) == (3, 0, 0)
    assert [(path.name, bool(reason)) for path, reason in first.unreadable] == [("photo.jpg", True), ("bad.pdf", True)]
    assert seen[-1][:2] == (4, 4)

    (notes / "bad.pdf").unlink()
    (notes / "地理.txt").unlink()
    (notes / "whale.md").write_text("# The grey whale\n\nGrey whales migrate along the coast of Mexico.\n")
    os.utime(notes / "2024" / "trip plan.txt", ns=(1, 1))  # touched, not changed
    second = library.add_folder(notes)
    assert (second.indexed, second.unchanged, second.removed) == (1, 1, 1)
    assert [path.name for path, _ in second.unreadable] == ["photo.jpg"]
    assert [passage.title for passage in library.search("whale krill Mexico 长江")] == ["The grey whale"]
    third = library.add_folder(notes)
    assert (third.indexed, third.unchanged, third.removed) == (0, 2, 0)


def test_a_file_can_be_opened_by_its_url(tmp_path: Path, notes: Path) -> None:
    library = Library(tmp_path / "home")
    library.add_folder(notes)
    (trip,) = library.search("hotel in Oslo")
    assert re.fullmatch(r"library://my-notes-[0-9a-f]{8}/2024/trip%20plan\.txt", trip.url)
    assert library.open(trip.url).text.splitlines() == ["We fly to Oslo in June.", "The hotel is near the harbour."]
    assert library.search("trip plan 2024")[0].url == trip.url  # found by the names of the file and its folder


def test_collections_are_searched_separately_and_together(tmp_path: Path, notes: Path) -> None:
    library = Library(tmp_path / "home")
    other = tmp_path / "other"
    other.mkdir()
    (other / "harbour.md").write_text("A harbour is full of ships.")
    library.add_folder(notes)
    library.add_folder(other)
    assert {p.title for p in library.search("harbour")} == {"harbour", "trip plan"}
    assert {p.title for p in library.search("harbour", collections=[f"{other}/../other"])} == {"harbour"}
    assert library.search("harbour", collections=[]) == []
    library.remove(str(other))
    assert [info.name for info in library.collections()] == [str(notes)]
    assert {p.title for p in library.search("harbour")} == {"trip plan"}


def test_folders_that_cannot_be_indexed_are_reported(tmp_path: Path) -> None:
    library = Library(tmp_path / "home")
    (tmp_path / "file.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans" / "a.pdf").write_bytes(b"nothing")
    for name, problem in (
        ("nowhere", "nowhere does not exist"),
        ("file.txt", "file.txt is a file"),
        ("empty", r"no readable file in .*empty .*\.docx, .*\.md"),
        ("scans", r"no readable file in .*scans; a\.pdf: "),
    ):
        with pytest.raises(ConfigError, match=problem):
            library.add_folder(tmp_path / name)
    assert library.collections() == []


def test_a_long_title_and_a_long_path_do_not_swell_the_index(tmp_path: Path) -> None:
    deep = Path(tmp_path, "notes", *(f"{number}{'y' * 200}" for number in range(10)))
    deep.mkdir(parents=True)
    (tmp_path / "notes" / "title.md").write_text(f"# {'word ' * 20_000}")
    (deep / "path.md").write_text("A line of text.\n" * 5_000)
    library = Library(tmp_path / "home")
    library.add_folder(tmp_path / "notes")
    assert sum(file.stat().st_size for file in (tmp_path / "home").iterdir()) < 20 * 200_000
    documents = library.documents(str(tmp_path / "notes"))
    assert max(len(each.title) for each in documents) <= 300
    assert library.search("path")[0].title == "path"
    assert all(library.open(each.url).text for each in documents)


def test_what_is_no_file_of_the_folder_is_listed_and_not_read(tmp_path: Path, notes: Path) -> None:
    (tmp_path / "secret.md").write_text("The password is swordfish.")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "secret.md").write_text("The password is swordfish.")
    (notes / "link.md").symlink_to(tmp_path / "secret.md")
    (notes / "zero.md").symlink_to("/dev/zero")
    (notes / "links").symlink_to(tmp_path / "more")
    (notes / "inside.md").symlink_to(notes / "whale.md")
    os.mkfifo(notes / "pipe.md")
    (notes / "circle.md").symlink_to(notes / "circle.md")
    library = Library(tmp_path / "home")
    report = library.add_folder(notes)
    left_out = {file.name: reason for file, reason in report.unreadable}
    assert left_out.keys() == {"link.md", "zero.md", "links", "pipe.md", "circle.md"}
    assert "is a link that leads out of the folder" in left_out["link.md"]
    assert left_out["pipe.md"] == "is not a regular file"
    assert "leads nowhere" in left_out["circle.md"]
    assert not library.search("swordfish")
    assert any(each.url.endswith("/inside.md") for each in library.documents(str(notes)))


@pytest.mark.parametrize("folder", ["~nobody-of-this-name/x", "a\0b", "x" * 5_000, "\ud800", "circle"])
def test_what_can_be_no_path_is_refused_in_words(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    monkeypatch.chdir(tmp_path)
    bench = Workbench(load(home=tmp_path / "home", user="0" * 16))
    with pytest.raises(ConfigError):
        bench.library.add_folder(Path(folder))
    assert not bench.settings.may_read(Path(folder)) or len(folder) == 5_000
    for kind in ("sentence-transformers", "cross-encoder"):
        assert "users may not load this model" in bench.settings.why_not_loaded(f"{kind}:{folder}")


def test_documents_are_parsed_outside_of_this_process(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(*_: object) -> None:
        raise AssertionError("parsed in the process of the library")

    monkeypatch.setattr(readers, "read_bytes", parse)
    assert Library(tmp_path / "home").add_folder(notes).indexed == 3


def test_a_full_collection_lists_what_does_not_fit(tmp_path: Path, notes: Path) -> None:
    (notes / "long.txt").write_text("A line of text.\n" * 5_000)
    library = Library(tmp_path / "home", quota=Quota(collection=300_000))
    report = library.add_folder(notes)
    ((file, reason),) = report.unreadable
    assert file.name == "long.txt"
    assert reason.startswith("does not fit: it needs 0.6 MB, and the collection takes ")
    assert reason.endswith(
        "of at most 0.3 MB; remove documents, or ask the administrator to raise WORKBENCH_COLLECTION_GB"
    )
    assert report.indexed == 3
    (notes / "whale.md").write_text("# The blue whale\n\nIt has grown.")
    assert library.add_folder(notes).indexed == 1
    assert Library(tmp_path / "home").add_folder(notes).indexed == 1


def test_a_file_name_that_is_not_utf8_is_indexed(tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.txt")).write_text("Espresso is strong coffee.")
    library = Library(tmp_path / "home")
    library.add_folder(folder)
    (found,) = library.search("espresso")
    assert found.url.endswith("/caf%E9.txt")


def test_a_long_line_is_cut_at_sentences_and_still_found(tmp_path: Path) -> None:
    folder = tmp_path / "long"
    folder.mkdir()
    text = " ".join(f"Sentence number {n} speaks about topic{n} at some length." for n in range(200))
    (folder / "long.txt").write_text(text)
    (folder / "wall.txt").write_text("x" * 5000)
    library = Library(tmp_path / "home")
    library.add_folder(folder)
    (found,) = library.search("topic150")
    assert "Sentence number 150 speaks about topic150 at some length." in found.quote
    assert found.quote.strip("…") in text


# Search by meaning


def test_search_uses_vectors_once_they_are_made(tmp_path: Path, notes: Path) -> None:
    encoder = Letters()
    library = Library(tmp_path / "home", encoder)
    library.add_folder(notes)
    assert [passage.title for passage in library.search("whales")] == ["The blue whale"]
    assert encoder.encoded == 0  # without vectors, the encoder is not loaded
    seen: list[tuple[int, int, str]] = []
    assert library.embed_missing(lambda *step: seen.append(step)) == 3
    assert seen[-1][:2] == (3, 3)
    (info,) = library.collections()
    assert (info.name, info.documents, info.passages, info.vectors) == (str(notes), 3, 3, 3)
    assert [passage.title for passage in library.search("whales")][0] == "The blue whale"
    assert len(library.search("whales")) == 3  # meaning ranks every passage
    assert library.embed_missing() == 0


def test_what_is_near_by_meaning_is_found_beside_what_has_more_of_the_words(tmp_path: Path) -> None:
    written = {
        "rules": "At Quayside, trainees in charge of a shop till sign the book.",
        "staff": "Bernard Oduya heads the training of our apprentices, free of charge.",
    }
    library = Library(tmp_path / "home", cached("universal"))
    for name, text in written.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.txt").write_text(text, "utf-8")
        library.add_folder(tmp_path / name)
    library.embed_missing()
    assert {each.title for each in library.search("Who is in charge of trainees in the Quayside shop?")} == {
        "rules",
        "staff",
    }


def test_search_by_meaning_follows_new_and_removed_documents(tmp_path: Path, notes: Path) -> None:
    library = Library(tmp_path / "home", Letters())
    library.add_folder(notes)
    library.embed_missing()
    assert len(library.search("zzz")) == 3
    (notes / "whale.md").unlink()
    (notes / "new.txt").write_text("zzz zzz")
    library.add_folder(notes)
    library.embed_missing()
    found = [passage.title for passage in library.search("zzz")]
    assert found[0] == "new"
    assert set(found) == {"new", "trip plan", "地理"}
    library.remove(str(notes))
    assert library.search("zzz") == []


def test_vectors_of_different_encoders_are_not_mixed(tmp_path: Path, notes: Path) -> None:
    Library(tmp_path / "home", Letters("one", 300)).add_folder(notes)
    Library(tmp_path / "home", Letters("one", 300)).embed_missing()
    other = Library(tmp_path / "home", Letters("two", 200))
    assert other.collections()[0].vectors == 0
    assert other.embed_missing() == 3
    assert len(other.search("anything")) == 3


def test_embedding_can_be_stopped_and_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(100):
        (folder / f"{n}.txt").write_text(f"note number {n}")
    library = Library(tmp_path / "home", Letters())
    library.add_folder(folder)
    stop = threading.Event()
    made = library.embed_missing(lambda *_: stop.set(), stop)
    assert 0 < made < 100
    assert library.collections()[0].vectors == made
    assert library.embed_missing() == 100 - made


def test_vectors_wait_while_a_question_uses_the_encoder_but_not_for_ever(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(100):
        (folder / f"{n}.txt").write_text(f"note number {n}")
    encoder = Asked()
    library = Library(tmp_path / "home", encoder)
    library.add_folder(folder)
    assert library.embed_missing() == 100
    assert encoder.looked > 3, "it did not look whether others use the encoder"


def test_the_users_own_documents_get_their_vectors_first_and_the_smallest_of_them(tmp_path: Path) -> None:
    library = Library(tmp_path / "home", Letters())
    with library._file.writing() as connection:
        scope = storage.ensure_collection(connection, FACTBOOK)
        for n in range(60):
            document = factbook.Document(f"library://factbook/{n}", f"Land {n}", f"The land {n}.")
            storage.store(connection, scope, document, 0, "")
    added = {"many": 50, "few": 3, "late": 2, "home/corpora/almanac-0123456789ab": 1}

    def add(name: str) -> str:
        (tmp_path / name).mkdir(parents=True)
        for n in range(added[name]):
            (tmp_path / name / f"{n}.md").write_text(f"# {name} {n}\n\nThe {name} {n}.", "utf-8")
        library.add_folder(tmp_path / name)
        return str(tmp_path / name)

    names = [FACTBOOK, *map(add, ("home/corpora/almanac-0123456789ab", "many", "few"))]
    turns: list[str] = []

    def progress(done: int, total: int, title: str) -> None:
        vectors = {each.name: each.vectors for each in library.collections()}
        turns.extend(each.name for each in library.collections() if each.name not in turns and not each.missing)
        if "late" not in names[-1] and done > 3:
            assert 0 < vectors[names[2]] < 50, "passages are counted as they are done"
            names.append(add("late"))

    assert library.embed_missing(progress) == 60 + sum(added.values())
    assert turns == [names[3], names[4], names[2], FACTBOOK, names[1]]


def test_vectors_are_made_in_the_background(tmp_path: Path, notes: Path) -> None:
    library = Library(tmp_path / "home", Letters())
    library.start_embedding()  # there is nothing to embed yet
    library.add_folder(notes)
    library.start_embedding()
    library.start_embedding().join(LONG_S)
    assert library.collections()[0].vectors == 3
    library.close()


def test_concurrent_embedding_encodes_each_passage_once(tmp_path: Path, notes: Path) -> None:
    first, second = (Library(tmp_path / "home", Letters()) for _ in range(2))
    first.add_folder(notes)
    with ThreadPoolExecutor() as pool:
        made = list(pool.map(Library.embed_missing, [first, second]))
    assert sorted(made) == [0, 3]


def test_a_failing_encoder_is_reported_and_search_by_words_still_works(tmp_path: Path, notes: Path) -> None:
    library = Library(tmp_path / "home", Broken())
    library.add_folder(notes)
    library.start_embedding().join(LONG_S)
    assert "weights are missing" in library.embedding_error
    assert library.search("whale")[0].title == "The blue whale"
    with pytest.raises(ConfigError, match="vectors need an encoder"):
        Library(tmp_path / "home").embed_missing()


def test_a_real_encoder_finds_documents_without_shared_words(tmp_path: Path, notes: Path) -> None:
    from research.search.embedders import create

    library = Library(tmp_path / "home", create("universal"))
    library.add_folder(notes)
    library.embed_missing()
    assert library.search("huge sea mammal")[0].title == "The blue whale"
    assert library.search("longest rivers")[0].title == "地理"


# Faults

_INDEX = """
import os, sys
from pathlib import Path
from research.search.library.documents import Library

def progress(done, total, what):
    if done >= int(sys.argv[2]):
        os.kill(os.getpid(), 9)

print(Library(Path(sys.argv[1])).index_factbook(progress))
"""


def _index(home: Path, die_at: int = 10**9) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _INDEX, str(home), str(die_at)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_process_killed_while_indexing_leaves_no_partial_factbook(
    tmp_path: Path, documents: dict[str, factbook.Document]
) -> None:
    assert _index(tmp_path, die_at=1000).wait() == -signal.SIGKILL
    library = Library(tmp_path)
    assert library.collections() == []
    assert library.index_factbook() == len(documents)


@pytest.mark.slow
def test_two_processes_index_the_factbook_once(tmp_path: Path, documents: dict[str, factbook.Document]) -> None:
    rivals = [_index(tmp_path), _index(tmp_path)]
    written = [int(rival.communicate()[0]) for rival in rivals]
    assert sorted(written) == [0, len(documents)]
    assert Library(tmp_path).collections()[0].documents == len(documents)


def test_threads_search_while_others_write(tmp_path: Path, notes: Path) -> None:
    library = Library(tmp_path / "home", Letters())
    library.add_folder(notes)

    def run(work: int) -> None:
        for n in range(15):
            if work == 0:
                (notes / f"extra {n}.txt").write_text(f"krill report {n}")
                library.add_folder(notes)
            elif work == 1:
                library.embed_missing()
            else:
                assert library.search("krill")

    with ThreadPoolExecutor() as pool:
        list(pool.map(run, range(5)))
    assert len(library.search("krill", limit=20)) >= 16


def test_a_damaged_library_file_is_set_aside_and_replaced(tmp_path: Path, notes: Path) -> None:
    (tmp_path / "library.sqlite").write_bytes(b"this was a database once" * 500)
    library = Library(tmp_path)
    assert library.kept_aside is not None
    assert library.kept_aside.read_bytes().startswith(b"this was a database once")
    assert library.add_folder(notes).indexed == 3
    assert Library(tmp_path).kept_aside is None
