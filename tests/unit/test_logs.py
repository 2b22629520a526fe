"""Log lines: their format and fields, and redaction of secrets and page text."""

from __future__ import annotations

import base64
import json
import logging
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from research.config.settings import load
from research.events.events import Paused, RunFailed, RunFinished
from research.ops import logs
from tests.unit.test_importing import RUN, life
from tests.workers import LONG_S

KEY = "sk-Ab/9+x=Zq7 secret"


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Restore the logging configuration of the process after each test."""
    root, own = logging.getLogger(), logging.getLogger("research")
    handlers, level = list(root.handlers), own.level
    yield
    root.handlers[:] = handlers
    own.setLevel(level)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_each_json_line_is_one_object_with_its_context_fields(capsys: pytest.CaptureFixture[str]) -> None:
    logs.start("json", "info")
    with logs.fields(run="r1", user="", agent="main/a"):
        logging.getLogger("research.x").info("two\nlines of %s", "text")
    (line,) = lines(capsys)
    assert line["message"] == "two\nlines of text"
    assert (line["level"], line["logger"], line["run"], line["agent"]) == ("info", "research.x", "r1", "main/a")
    assert "user" not in line


def test_plain_messages_are_written_as_single_lines(capsys: pytest.CaptureFixture[str]) -> None:
    logs.start()
    with logs.fields(run="r1"):
        logging.getLogger("research.x").warning("one\nforged: line")
        logging.getLogger("research.x").info("not at this level")
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "warning: one forged: line  (run=r1)" in said


def test_other_libraries_are_logged_from_warning_level_up(capsys: pytest.CaptureFixture[str]) -> None:
    logs.start("json", "debug")
    other = logging.getLogger("some.library")
    other.setLevel(logging.DEBUG)
    other.debug("a prompt")
    other.warning("it is slow")
    assert [line["message"] for line in lines(capsys)] == ["it is slow"]


def test_a_second_start_changes_the_format_without_duplicating_lines(capsys: pytest.CaptureFixture[str]) -> None:
    logs.start("lines", "info")
    logs.start("json", "info")
    logging.getLogger("research.x").info("once")
    assert [line["message"] for line in lines(capsys)] == ["once"]


@pytest.mark.parametrize("form", ["json", "lines"])
@pytest.mark.parametrize(
    "disguise",
    [
        str, urllib.parse.quote, urllib.parse.quote_plus, lambda key: urllib.parse.quote(urllib.parse.quote(key, "")),
        lambda key: base64.b64encode(key.encode()).decode(), lambda key: base64.b64encode(f"user:{key}".encode()).decode(),
        lambda key: base64.urlsafe_b64encode(f"x{key}y".encode()).decode(), lambda key: key.encode().hex(), json.dumps,
    ],
)  # fmt: skip
def test_keys_are_redacted_in_every_encoding_and_field(
    form: logs.Form, disguise: Callable[[str], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.start(form, "info")
    logs.redact_keys(load(home=tmp_path, openai_api_key=KEY))
    secret, log = disguise(KEY), logging.getLogger("research.x")
    with logs.fields(agent=f"a {secret}"):
        log.info("echoed: %s!", secret, extra={"said": {"model": f"m {secret}"}})
        try:
            raise ValueError(f"the server said {secret}")
        except ValueError:
            log.exception("failed")
    said = capsys.readouterr().err
    assert said.count(logs.MASK) >= 4
    assert "Zq7" not in said
    assert secret.strip('"') not in said
    assert json.dumps(secret)[1:-1] not in said


def test_the_database_password_is_redacted_outside_its_url_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.start()
    logs.redact_keys(load(home=tmp_path, database_url="postgresql://me:p%40ssword@db.example/runs"))
    told = "p%40ssword, p@ssword, postgresql://me:p%40ssword@db.example/runs"
    logging.getLogger("research.x").warning("refused: %s", told)
    assert "ssword" not in capsys.readouterr().err


def test_a_run_is_logged_from_start_to_end_without_its_content(capsys: pytest.CaptureFixture[str]) -> None:
    logs.start("json", "debug")
    for event in life():
        logs.log_event(event)
    said = lines(capsys)
    assert [said[0]["message"], said[-1]["message"]] == ["run started", "run finished"]
    assert said[-1]["outcome"] == "answered"
    assert {line["run"] for line in said} == {RUN}
    assert {"tool finished", "model replied"} <= {line["message"] for line in said}
    everything = json.dumps(said)
    for words in ("How many", "Look", "It is 5", "5 [1]", "example.org"):
        assert words not in everything


def test_an_error_is_logged_by_type_and_location_without_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    logs.start("json", "info")
    trace = 'Traceback\n  File "/home/me/research/agent/run.py", line 12, in ask\nKeyError: "words of a page"\n'
    logs.log_event(RunFailed(run="r", error="KeyError: 'words of a page'", traceback=trace))
    logs.log_event(Paused(run="r", reason="the server said: words of a page"))
    logs.log_event(RunFinished(run="r", status="failed", outcome="failed", answer="words of a page", report=""))
    failed, rests, ends = lines(capsys)
    assert (failed["level"], failed["error"], failed["at"]) == ("error", "KeyError", "run.py:12 ask")
    assert (rests["level"], ends["level"]) == ("warning", "info")
    assert "words of a page" not in json.dumps([failed, rests, ends])


def test_context_fields_of_an_iterator_apply_only_inside_it(capsys: pytest.CaptureFixture[str]) -> None:
    logs.start("json", "info")
    log = logging.getLogger("research.x")

    def steps(name: str) -> Iterator[int]:
        for n in range(2):
            log.info("made by %s", name)
            yield n

    for _ in zip(logs.with_fields(steps("a"), run="a"), logs.with_fields(steps("b"), run="b"), strict=True):
        log.info("between")
    said = lines(capsys)
    assert all(line["run"] == str(line["message"])[-1] for line in said if line["message"] != "between")
    assert all("run" not in line for line in said if line["message"] == "between")


def test_context_fields_are_separate_in_each_thread(capsys: pytest.CaptureFixture[str]) -> None:
    logs.start("json", "info")
    inside, over = threading.Event(), threading.Event()

    def hold() -> None:
        with logs.fields(run="other"):
            inside.set()
            over.wait(LONG_S)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(LONG_S)
    logging.getLogger("research.x").info("mine")
    over.set()
    thread.join()
    assert "run" not in lines(capsys)[0]
