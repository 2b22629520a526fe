"""`eval publish`: one HTML file with everything that is needed to check and to repeat an evaluation."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from research.config.settings import load
from research.evaluation import load as dataset
from research.evaluation.plans import version_of
from research.evaluation.rescoring import saved
from research.workbench.workbench import Workbench
from tests.command import Cli

pytestmark = pytest.mark.usefixtures("own_library")

HOSTILE = '</pre></details><script>alert(1)</script><img src="https://evil.example/x.png" onerror=alert(2)>'
KEY = "sk-abcdef0123456789abcdef01"
VOID = ("meta", "link", "br", "img", "hr", "line", "circle")


class Page(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.text = "\n".join(self.words)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def write(path: Path, *records: Any) -> str:
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return str(path)


@pytest.fixture
def asked(tmp_path: Path) -> tuple[str, ...]:
    """A dataset, a corpus and two recipes, with hostile text in each place that others write."""
    question = {"id": "q1", "question": f"Who built the Brass Tower? {HOSTILE}", "answer": f"Odo Fenn {HOSTILE}"}
    text = f"The Brass Tower was built by Odo Fenn. {HOSTILE} {KEY}"
    corpus = write(tmp_path / "c.jsonl", {"id": "t", "title": f"Brass Tower {HOSTILE}", "text": text})
    call = '<tool_call>{"name": "search", "arguments": {"query": "Brass Tower"}}</tool_call>'
    script = write(
        tmp_path / "s.jsonl",
        {"text": f"<think>{HOSTILE}</think>{call}"},
        {"text": f"<answer>Odo Fenn {HOSTILE} [1]. {KEY}</answer>"},
    )
    model = f"scripted:{script}"
    recipes = ("--recipe", f"react:rounds=5/full/{model}", "--recipe", f"react/window:k=2/{model}")
    data = write(tmp_path / "towers.jsonl", question, {"id": "q2", "question": "Why?", "value": 4.5, "tolerance": 0.5})
    return (data, "--corpus", corpus, *recipes, "--budget-tokens", "9000", "--trials", "2", "--temperature", "0.5")


def published(cli: Cli, path: Path, *words: str) -> tuple[str, Page]:
    done = cli("eval", "publish", "towers", "-o", str(path), *words)
    assert done.status == 0, done.err
    text = path.read_text("utf-8")
    return text, Page(text)


def test_the_page_has_everything_and_nothing_active(
    cli: Cli, home: Path, asked: tuple[str, ...], tmp_path: Path
) -> None:
    assert cli("eval", *asked).status == 0
    text, page = published(cli, tmp_path / "findings.html")
    assert not page.open, "an element is not closed"
    names = {name for name, _ in page.tags}
    assert not names & {"script", "img", "iframe", "object", "link", "a", "form", "foreignobject", "style "}
    assert all(not name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert not any({"src", "href"} & set(attributes) for _, attributes in page.tags)
    assert "default-src 'none'" in text and "prefers-color-scheme: dark" in text
    assert page.text.count("<script>alert(1)</script>") > 8, "hostile text was dropped instead of shown"
    assert KEY not in text and "***" in text
    for heading in ("Verdict", "Recipes", "Plots", "Question set", "Method", "Runs", "Repeat it"):
        assert f"<h2>{heading}</h2>" in text
    assert names >= {"svg", "details", "table"}
    plan, _, rows = saved(Workbench(load(home=home)), "towers")
    assert all(f"Run</dt><dd>{row.run}</dd>" in text for row in rows.values()) and len(rows) == 8
    assert version_of(plan.questions) in text and all(each.key in text for each in plan.candidates)


def test_the_command_on_the_page_repeats_the_evaluation(
    cli: Cli, home: Path, asked: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("eval", *asked)
    _, page = published(cli, tmp_path / "findings.html")
    lines = next(each for each in page.words if each.startswith('{"id":"q1"'))
    monkeypatch.chdir(tmp_path)
    Path("questions.jsonl").write_text(lines, encoding="utf-8")
    assert hashlib.sha256(lines.encode()).hexdigest() in page.text
    plan, _, _ = saved(Workbench(load(home=home)), "towers")
    assert version_of(dataset("questions.jsonl").questions) == version_of(plan.questions)
    words = shlex.split(next(each for each in page.words if each.startswith("research-workbench eval ")))
    again = [asked[2] if word == "DOCUMENTS" else word for word in words[2:]]
    done = cli("eval", *again, "--json")
    assert done.status == 0, done.err
    assert done.json["known"] == 8, "the command asks something else than the evaluation did"


def test_a_set_with_a_canary_is_not_spread(cli: Cli, tmp_path: Path) -> None:
    data = write(tmp_path / "towers.jsonl", {"question": "Who built it?", "answer": "Odo", "canary": "towers 77-aa-99"})
    script = write(tmp_path / "s.jsonl", {"text": "<answer>Odo Fenn.</answer>"})
    cli("eval", data, "--recipe", f"react/full/scripted:{script}")
    done = cli("eval", "publish", "towers", "-o", str(tmp_path / "f.html"))
    assert "carry a canary" in done.err
    text = (tmp_path / "f.html").read_text("utf-8")
    assert "Who built it?" not in text and "Odo" not in text and "towers 77-aa-99" in text
    text, _ = published(cli, tmp_path / "g.html", "--with-questions")
    assert "Who built it?" in text and "Odo Fenn." in text


def test_a_page_of_an_unknown_evaluation_or_in_a_missing_folder_is_refused(cli: Cli, tmp_path: Path) -> None:
    done = cli("eval", "publish", "towers", "-o", str(tmp_path / "f.html"))
    assert done.status == 2 and "unknown evaluation 'towers'" in done.err and not (tmp_path / "f.html").exists()
    assert re.search("cannot be written", cli("eval", "publish", "towers", "-o", str(tmp_path / "no" / "f.html")).err)
