"""Exports mark sources that came only from memory; a user's note is listed without a link."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from research.events.view import RunView
from research.exports import bibtex, csl_json
from research.exports.json import as_dict
from research.types import Citation, Source
from tests.unit.test_exports_bibliography import run_of, source
from tests.unit.test_exports_documents import READERS

SEEN = source(1, "A page that was seen")
RECALLED = replace(source(2, "A page of an earlier run"), memory="e2")
NOTE = Source(3, "memory://e3", "Your note of 2026-11-20", "Cite the annual accounts.", memory="e3")
BOTH = replace(SEEN, memory="e1")


def view() -> RunView:
    return run_of(BOTH, SEEN, RECALLED, NOTE, report="Fact [1]. Fact [2]. Fact [3].",
                  citations=(Citation(2, "Fact", "supported"),))  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_every_format_marks_sources_that_came_only_from_memory(name: str) -> None:
    told = READERS[name](view())
    times = told.count("Your note of")  # some formats contain each text more than once
    assert times and told.count("from memory") == 2 * times, "a recalled source that the run also saw is not marked"
    assert "memory://" not in told
    assert "Cite the annual accounts." in told
    assert "from memory · ✓ 1 supported" in " ".join(told.split())
    chinese = view()
    chinese.question = "法国的年度账目是什么？"
    assert READERS[name](chinese).count("来自记忆") == 2 * times


def test_the_json_names_the_entry_only_for_sources_from_memory() -> None:
    sources = as_dict(view())["sources"]
    assert [each.get("memory") for each in sources] == [None, "e2", "e3"]
    assert set(sources[0]) == {"n", "url", "title", "quote"}
    assert not as_dict(view()).keys() & {"recalled", "remembered"}


def test_a_bibliography_has_no_url_for_a_note() -> None:
    seen, recalled, note = json.loads(csl_json.render(view()))
    assert (seen["URL"], recalled["URL"]) == ("https://example.org/1", "https://example.org/2")
    assert (note["title"], "URL" in note) == ("Your note of 2026-11-20", False)
    assert "memory://" not in bibtex.render(view()) and "Your note of 2026-11-20" in bibtex.render(view())
