"""What became of a source: the state of its link, and whether the page is the work that is cited."""

from __future__ import annotations

import random
from typing import Any

import pytest

from research.auditing import links
from research.auditing.links import best_matches
from research.auditing.references import Reference, parsed
from research.types import Observation, Source

TITLES = (
    "Effects of early schooling on adult earnings|Coral reef recovery after bleaching events|A survey of graph neural "
    "networks|Measuring inflation with scanner data|Sleep duration and cognitive decline in older adults|Urban heat islands "
    "and tree cover in Phoenix|Remote work and productivity: evidence from call centres|Antibiotic resistance in freshwater "
    "fish farms|Minimum wages and employment in fast-food restaurants|Groundwater depletion in northern India|Vaccine "
    "hesitancy among parents in France|World Economic Outlook, April 2024|Global Energy Review 2023|Employment outlook 2023"
).split("|")
NAMES = "Abbott Becker Castillo Dubois Eriksen Fontaine Garcia Hughes Ivanova Jensen Keller Lindqvist".split()
WORDS = "study data results model years sample growth effect policy the of we show found rates evidence towns".split()
URL = "https://x.example/a"


def seen(title: str, text: str, csl: dict[str, Any] | None = None) -> Observation:
    return Observation("1", "visit", "", True, (Source(1, URL, title, text, csl or {}),))


def record(title: str, authors: list[str], year: int) -> dict[str, Any]:
    people = [{"family": each.split(",")[0]} for each in authors]
    return {"type": "article-journal", "title": title, "author": people, "issued": {"date-parts": [[year]]}}


def entries(title: str, authors: list[str], year: int) -> list[str]:
    names = " & ".join(authors)
    return [
        f"{names} ({year}). {title}. Journal of Things, 12(3), 4-9. {URL}",
        f'{names} "{title}," Journal of Things, vol. 3, {year}. {URL}',
        f"{title}. {URL}",
        f"[{title}]({URL})",
        f"{title} - Things Online, accessed June 2, 2025, {URL}",
        f"{names} *{title}*. {year}. {URL}",
        f"{title} | Things ({year}) {URL}",
    ]


def test_invented_references_are_found_and_real_ones_are_left_alone() -> None:
    accused, missed, real, invented = [], [], 0, 0
    for seed in range(30):
        chance = random.Random(seed)
        title, other = chance.sample(TITLES, 2)
        authors, year = [f"{name}, A." for name in chance.sample(NAMES, 2)], chance.randint(1995, 2023)
        text = " ".join(chance.choices(WORDS, k=60))
        right = [
            seen(f"{title} | Things", text),
            seen(title.upper(), text, record(title, authors, year)),
            seen("Journal of Things", f"{title}. {text}"),
        ]
        wrong = [
            seen(other, f"{other}. {text}"),
            seen(other, f"{other}. {text}", record(other, ["Moreau, B."], year - 7)),
            seen("Things Online: news and more", f"Welcome. {text}"),
        ]
        for entry in entries(title, authors, year):
            reference = parsed(entry, "1")
            real, invented = real + len(right), invented + len(wrong)
            accused += [
                (entry, page.sources[0]) for page in right if links.state_of(reference, page).state != "reachable"
            ]
            missed += [
                (entry, page.sources[0]) for page in wrong if links.state_of(reference, page).state != "other_work"
            ]
    assert accused == []
    assert len(missed) <= 0.05 * invented, missed


def test_the_right_title_by_other_people_or_of_another_year_is_another_work() -> None:
    title, text = "Groundwater depletion in northern India", "Wells fell dry."
    reference = parsed(f"Keller, A. (2009). {title}. Nature. {URL}")
    other = seen(title, text, record(title, ["Moreau, B."], 2009))
    assert links.state_of(reference, other).reason == "it was written by Moreau, not by Keller, A"
    later = seen(title, text, record(title, ["Keller, A."], 2021))
    assert links.state_of(reference, later).reason == "it was published in 2021, not in 2009"
    cited = parsed(f"Keller, A. (2009). {title}. https://doi.org/10.1234/wells.1")
    registered = seen(title, text, {"DOI": "10.1234/soup.9", **record(title, ["Keller, A."], 2009)})
    assert links.state_of(cited, registered).reason == "its DOI is 10.1234/soup.9, not 10.1234/wells.1"


def test_a_year_in_the_title_is_not_the_year_of_publication() -> None:
    reference = parsed(f"Keller, A. (2019). Employment outlook 2023. {URL}")
    assert (reference.title, reference.year) == ("Employment outlook 2023", "2019")


@pytest.mark.parametrize(
    ("code", "state"),
    [
        ("status 404", "gone"), ("status 410", "gone"), ("status 402", "paywalled"), ("status 403", "blocked"),
        ("status 401", "blocked"), ("status 429", "blocked"), ("status 503", "unreachable"), ("timeout", "unreachable"),
        ("network", "unreachable"), ("refused", "refused"), ("unreadable", "unreadable"), ("", "unreadable"),
    ],
)  # fmt: skip
def test_a_failure_says_what_became_of_the_link(code: str, state: str) -> None:
    failed = Observation("1", "visit", "it failed; try another source", False, code=code)
    found = links.state_of(Reference(url=URL), failed)
    assert found.state == state
    assert found.reason


@pytest.mark.parametrize(
    ("title", "text", "state"),
    [
        ("Page not found", "Sorry. Go to the start page.", "gone"),
        ("The Times", "Subscribe to continue reading this article.", "paywalled"),
        ("Just a moment", "Verify you are human by completing the action below.", "blocked"),
        ("Dams", "Dams hold water. " * 200 + "Subscribe to continue reading our letters.", "reachable"),
        ("Errors of the web", "HTTP 404 means that a page was not found. " * 60, "reachable"),
    ],
)
def test_a_page_that_only_says_why_it_is_not_shown_was_not_read(title: str, text: str, state: str) -> None:
    assert links.state_of(Reference(url=URL), seen(title, text)).state == state


def test_a_page_at_another_address_was_redirected() -> None:
    assert links.state_of(Reference(url="http://www.x.example/a/"), seen("A", "Text.")).state == "reachable"
    assert links.state_of(Reference(url="https://old.example/a"), seen("A", "Text.")).state == "redirected"


def titled(*titles: str) -> list[Source]:
    return [Source(n, f"library://factbook/{n}", title, "A quote.") for n, title in enumerate(titles, 1)]


def test_a_document_is_found_when_a_guessed_title_has_more_around_its_own() -> None:
    entry = parsed("Spain, Economy, CIA World Factbook", "1")
    found = best_matches(entry, titled("Spain · Energy", "Spain · Economy", "Economy"))
    assert [each.title for each in found] == ["Spain · Economy"]


def test_the_title_whose_words_stand_in_the_order_of_a_reference_is_meant() -> None:
    entry = parsed("Norway, Energy, CIA World Factbook", "1")
    found = best_matches(entry, titled("World · Energy", "Norway · Energy"))
    assert [each.title for each in found] == ["Norway · Energy"]


def test_documents_that_fit_a_reference_equally_are_all_returned() -> None:
    entry = parsed("Spain, Economy, Energy, CIA World Factbook", "1")
    found = best_matches(entry, titled("Spain · Energy", "Spain · Economy", "France · Economy"))
    assert [each.title for each in found] == ["Spain · Energy", "Spain · Economy"]
    assert not best_matches(entry, titled("France · Economy"))


def test_a_document_is_about_what_its_title_names() -> None:
    budget = Source(1, "library://docs/review.docx", "Project Heron: review", "The budget is 412 million euros.")
    assert links.concerns("Heron in short; The budget is 512 million euros.", budget)
    assert not links.concerns("Osprey in short; The budget is 512 million euros.", budget)
