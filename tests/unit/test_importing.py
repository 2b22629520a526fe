"""Export and import of runs as files, including hostile files."""

from __future__ import annotations

import io
import struct
import time
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as some

from research.config.settings import load
from research.errors import ConfigError
from research.events.events import (
    Asked,
    Event,
    Replied,
    ReportUpdated,
    RunFinished,
    RunStarted,
    Streamed,
    ToolFinished,
    ToolStarted,
    WaitingForUser,
    Warned,
    encode,
)
from research.events.recipe import Recipe
from research.events.view import fold
from research.exports import bibtex, csl_json
from research.exports.markdown import markdown
from research.store import RunRow, Store
from research.store.sqlite import SqliteStore
from research.types import Citation, Message, Observation, Reply, Source, ToolCall, Usage
from research.workbench import run_import
from research.workbench.workbench import Workbench
from tests.fuzz import up_to

RUN = "261121-120000-abcd"
LATER = 1_795_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "workbench.sqlite")
    yield store
    store.close()


def life(recipe: Recipe = Recipe(), run: str = RUN, ended: bool = True) -> list[Event]:  # noqa: B008 - frozen
    """Return the events of a one-round run with one finding."""
    source = Source(1, "https://example.org/a", "A", "It is 5.")
    bare: list[Event] = [
        RunStarted(question="How many?", recipe=recipe),
        Asked(ask=1, round=1, purpose="act", model="m", messages=(Message("user", "How many?"),)),
        Streamed(ask=1, text="Look"),
        Replied(ask=1, purpose="act", reply=Reply("Look"), usage=Usage(5, 1), seconds=0.5),
        ToolStarted(call=ToolCall("c1", "search", {"query": "x"})),
        ToolFinished(observation=Observation("c1", "search", "It is 5.", sources=(source,))),
    ]
    if ended:
        bare.append(
            RunFinished(
                status="completed", outcome="answered", answer="5 [1]", report="5 [1]",
                citations=(Citation(1, "5", "supported", "It is 5."),), seconds=1.5,
            )
        )  # fmt: skip
    return stamped(bare, run)


def stamped(events: Sequence[Event], run: str = RUN) -> list[Event]:
    return [msgspec.structs.replace(e, run=run, seq=n, time=LATER + n) for n, e in enumerate(events)]


def file(events: Sequence[Event]) -> bytes:
    return run_import.to_jsonl(events)


def test_an_imported_run_has_the_exported_events(store: Store) -> None:
    events = life()
    kept = run_import.import_run(store, run_import.read_run(file(events)))
    assert (kept.id, kept.state, kept.withheld) == (RUN, "new", ())
    assert store.events(RUN) == events
    row = store.run(RUN)
    assert (row.question, row.status, row.outcome, row.answer, row.created) == (
        "How many?", "completed", "answered", "5 [1]", LATER,
    )  # fmt: skip


def test_importing_the_same_run_twice_keeps_one(store: Store) -> None:
    saved = run_import.read_run(file(life()))
    run_import.import_run(store, saved)
    assert run_import.import_run(store, saved).state == "there"
    assert len(store.runs()) == 1


def test_an_existing_run_with_folders_is_recognised(store: Store) -> None:
    recipe = Recipe(folders=("/home/me/papers",))
    store.create(RunRow(RUN, "How many?", recipe))
    store.append(life(recipe))
    assert run_import.import_run(store, run_import.read_run(file(life(recipe)))).state == "there"


def test_another_run_with_the_same_id_gets_a_new_id(store: Store) -> None:
    run_import.import_run(store, run_import.read_run(file(life())))
    other = [msgspec.structs.replace(life()[0], question="Another?"), *life()[1:]]
    kept = run_import.import_run(store, run_import.read_run(file(other)))
    assert kept.state == "renamed" and kept.id != RUN
    assert store.run(kept.id).question == "Another?"
    assert {event.run for event in store.events(kept.id)} == {kept.id}
    assert store.run(RUN).question == "How many?"


def test_a_deleted_run_is_imported_under_a_new_id(store: Store) -> None:
    saved = run_import.read_run(file(life()))
    run_import.import_run(store, saved)
    store.delete([RUN])
    kept = run_import.import_run(store, saved)
    assert kept.state == "renamed"
    store.restore([RUN])
    assert len(store.runs()) == 2


def test_an_id_that_is_a_prefix_of_another_is_a_new_run(store: Store) -> None:
    run_import.import_run(store, run_import.read_run(file(life())))
    assert run_import.import_run(store, run_import.read_run(file(life(run=RUN[:8])))).state == "new"


def test_an_unfinished_run_is_imported_as_paused(store: Store) -> None:
    run_import.import_run(store, run_import.read_run(file(life(ended=False))))
    row = store.run(RUN)
    assert (row.status, row.outcome) == ("paused", None)
    assert store.events(RUN)[:-1] == life(ended=False)


def test_a_waiting_run_is_imported_as_waiting(store: Store) -> None:
    events = stamped([*life(ended=False), WaitingForUser(prompt="Which?")])
    run_import.import_run(store, run_import.read_run(file(events)))
    assert (store.run(RUN).status, store.run(RUN).answer) == ("waiting_input", "Which?")


def test_a_date_in_the_future_is_set_to_now(store: Store) -> None:
    events = [msgspec.structs.replace(event, time=9e10) for event in life()]
    run_import.import_run(store, run_import.read_run(file(events)))
    assert store.run(RUN).created <= time.time()


def test_folders_and_mcp_servers_of_an_imported_recipe_are_withheld(store: Store) -> None:
    """A file may contain forged calls; resuming it must not give access to this computer."""
    recipe = Recipe(folders=("/home/victim",), mcp=("shell",), model="openai:x", budget=life()[0].recipe.budget)  # type: ignore[union-attr]
    kept = run_import.import_run(store, run_import.read_run(file(life(recipe, ended=False))))
    assert kept.withheld == ("/home/victim", "MCP server shell")
    taken = store.run(RUN).recipe
    assert (taken.folders, taken.mcp, taken.model) == ((), (), "openai:x")
    first = store.events(RUN)[0]
    assert isinstance(first, RunStarted) and first.recipe == taken


def test_a_failed_write_leaves_no_run(store: Store) -> None:
    good = run_import.read_run(file(life()))
    twice = msgspec.structs.replace(good, events=(*good.events, good.events[-1]))
    with pytest.raises(ConfigError):
        run_import.import_run(store, twice)
    assert store.runs() == []


def changed(place: int, **fields: Any) -> list[Event]:
    events = life()
    events[place] = msgspec.structs.replace(events[place], **fields)
    return events


DEEP = b'{"type":"ToolStarted","run":"%s","seq":1,"call":{"id":"x","name":"y","arguments":{"a":%s}}}'

HOSTILE: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "empty"),
    "only lines": (b"\n\n  \n", "empty"),
    "no JSON": (b"<html>", "line 1"),
    "a list": (b"[1, 2]", "line 1"),
    "binary": (b"\x00\xff\xfe" * 100, "line 1"),
    "half a line": (file(life())[:-20], "line 7"),
    "an unknown event": (file(life()[:1]) + b'{"type":"Shell","run":"x","seq":1}', "line 2"),
    "a surrogate": (file(life()[:1]) + b'{"type":"Warned","kind":"loop","text":"\\ud800"}', "line 2"),
    "deep arguments": (file(life()[:1]) + DEEP % (RUN.encode(), b"[" * 50_000 + b"]" * 50_000), "nested too deeply"),
    "rather deep arguments": (file(life()[:1]) + DEEP % (RUN.encode(), b"[" * 300 + b"]" * 300), "nested too deeply"),
    "no beginning": (file(stamped(life()[1:])), "exactly one RunStarted"),
    "two beginnings": (file(stamped([*life()[:1], *life()])), "RunStarted"),
    "a gap": (file([*life()[:2], *life()[3:]]), "event number 3; expected 2"),
    "not from 0": (file([msgspec.structs.replace(e, seq=e.seq + 1) for e in life()]), "expected 0"),
    "backwards": (file(list(reversed(life()))), "line 1"),
    "two runs": (file([*life()[:3], *life(run="261121-120000-ffff")[3:]]), "one run"),
    "no id": (file(life(run="")), "id"),
    "a path as id": (file(life(run="../../etc/passwd")), "id"),
    "a long id": (file(life(run="a" * 65)), "id"),
    "markup as id": (file(life(run="<script>")), "id"),
    "an id of dots": (file(life(run="..")), "id"),
    "a line end in the id": (file(life(run="a\n")), "id"),
    "a strange agent": (file(changed(1, agent="main/../x y")), "agent"),
    "another root": (file(changed(1, agent="root")), "agent"),
    "no date": (file(changed(0, time=1e300)), "not a date"),
    "before the epoch": (file(changed(2, time=-5.0)), "not a date"),
    "an empty question": (file(changed(0, question="  ")), "question"),
    "a padded question": (file(changed(0, question=" Why?\n")), "question"),
    "a book as question": (file(changed(0, question="x" * 20_001)), "20,001"),
    "a reply to nothing": (file(changed(3, ask=7)), "never made"),
    "words of nothing": (file(changed(2, ask=2)), "never made"),
    "words of nobody": (file(changed(2, agent="main/other")), "never made"),
    "endless rounds": (file(changed(1, round=10**9)), "rounds"),
    "numbers beyond reason": (file(changed(1, prompt_tokens=10**30)), "number"),
    "negative tokens": (file(changed(3, usage=Usage(-5, 1))), "number"),
    "a price beyond reason": (file(changed(3, usage=Usage(cost_usd=1e300))), "number"),
    "a long time": (file(changed(6, seconds=1e300)), "number"),
    "life after the end": (file(stamped([*life(), Warned(kind="loop", text="x")])), "follows RunFinished"),
    "two ends": (file(stamped([*life(), life()[-1]])), "follows RunFinished"),
    "an end that is none": (file(changed(6, status="running")), "status 'running'"),
    "an end that waits": (file(changed(6, status="waiting_input")), "status 'waiting_input'"),
    "an unknown outcome": (file(life()).replace(b'"outcome":"answered"', b'"outcome":"won"'), "line 7"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "said"), HOSTILE.values(), ids=HOSTILE.keys())
def test_impossible_content_is_rejected_with_the_reason(data: bytes, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        run_import.read_runs(data)


def test_a_file_beyond_the_limit_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_import, "MAX_BYTES", 1_000)
    with pytest.raises(ConfigError, match="larger"):
        run_import.read_run(file(life()) * 10)


def png(side: int) -> bytes:
    """Return a grey square as PNG."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * (side + 1) * side))
        + chunk(b"IEND", b"")
    )  # fmt: skip


def test_invalid_images_are_left_out() -> None:
    bomb = png(4)[:16] + struct.pack(">II", 60_000, 60_000) + png(4)[24:]
    images = (png(4), b"<svg onload='x'>", bomb, b"GIF89a")
    seen = Observation("c1", "python", "", images=images)
    saved = run_import.read_run(file(changed(5, observation=seen)))
    assert fold(saved.events).images == [png(4)]


# Several runs


def test_several_runs_are_packed_into_one_file(store: Store) -> None:
    other = "261121-120001-abce"
    data = run_import.to_zip({RUN: life(), other: life(run=other)})
    kept = [run_import.import_run(store, saved) for saved in run_import.read_runs(data)]
    assert [each.id for each in kept] == [RUN, other]
    assert store.events(other) == life(run=other)


def zipped(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return target.getvalue()


def test_file_names_within_a_zip_are_ignored(store: Store) -> None:
    (saved,) = run_import.read_runs(zipped({"../../../evil": file(life())}))
    assert saved.id == RUN


def test_a_zip_bomb_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_import, "MAX_BYTES", 100_000)
    bomb = zipped({"a": b"\n" * 60_000 + file(life()), "b": b"\n" * 10_000_000})
    assert len(bomb) < 50_000
    with pytest.raises(ConfigError, match="larger"):
        run_import.read_runs(bomb)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (zipped({}), "0 files"),
        (zipped({f"{n}": b"x" for n in range(201)}), "201 files"),
        (b"PK\x03\x04 broken", "cannot be read"),
        (zipped({"a": file(life())})[:-30], "cannot be read"),
        (zipped({"a": file(life()), "b": b"nonsense"}), "line 1"),
    ],
)
def test_an_invalid_zip_is_rejected(data: bytes, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        run_import.read_runs(data)


@up_to(200)
@given(some.data())
def test_a_damaged_zip_is_read_or_rejected(data: some.DataObject) -> None:
    body = bytearray(zipped({"a": file(life())}))
    for _ in range(data.draw(some.integers(1, 4))):
        body[data.draw(some.integers(2, len(body) - 1))] = data.draw(some.integers(0, 255))
    try:
        found = run_import.read_runs(bytes(body))
    except ConfigError:
        return
    assert [list(each.events) for each in found] == [life()], "damage must not change a run unnoticed"


# Every run that can be written can be read, and every run that is read can be exported

# Without U+0000, which no store keeps.
texts = some.text(some.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=40)
values = some.recursive(
    some.none() | some.booleans() | some.integers(-(2**60), 2**60) | texts,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
sources = some.builds(Source, some.integers(1, 9), texts, texts, texts, some.dictionaries(texts, values, max_size=3))
seconds = some.floats(0, 1e6)
middle = some.one_of(
    some.builds(Asked, ask=some.just(1), round=some.integers(0, 50), purpose=texts, model=texts,
                keep=some.integers(0, 5), messages=some.tuples(some.builds(Message, some.just("user"), texts))),
    some.builds(Streamed, ask=some.just(1), text=texts),
    some.builds(Replied, ask=some.just(1), purpose=texts, seconds=seconds,
                reply=some.builds(Reply, text=texts, answer=texts), usage=some.builds(Usage, some.integers(0, 10**9))),
    some.builds(ToolStarted, call=some.builds(ToolCall, texts, texts, some.dictionaries(texts, values, max_size=3))),
    some.builds(ToolFinished, observation=some.builds(Observation, texts, texts, texts, some.booleans(),
                                                      some.tuples(sources), seconds)),
    some.builds(Warned, kind=some.just("loop"), text=texts),
    some.builds(ReportUpdated, report=texts),
    some.builds(WaitingForUser, prompt=texts),
)  # fmt: skip
finished = some.builds(
    RunFinished,
    status=some.just("completed"),
    outcome=some.just("answered"),
    answer=texts,
    report=texts,
    seconds=seconds,
)


@up_to(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some.lists(middle, max_size=12), finished)
def test_any_run_survives_an_export_and_import(events: list[Event], end: RunFinished) -> None:
    first = Asked(ask=1, round=1, purpose="act", model="m")
    whole = stamped([RunStarted(question="Why?", recipe=Recipe()), first, *events, end])
    saved = run_import.read_run(file(whole))
    assert list(saved.events) == whole
    view = fold(saved.events)
    assert markdown(view) and csl_json.render(view) and bibtex.render(view) is not None


@up_to(200)
@given(some.binary(max_size=300) | some.lists(some.sampled_from(file(life()).split(b"\n")), max_size=9).map(b"\n".join))
def test_any_bytes_are_read_or_rejected(data: bytes) -> None:
    try:
        (saved,) = run_import.read_runs(data)
    except ConfigError:
        return
    assert fold(saved.events).question


def test_reading_inverts_writing() -> None:
    assert b"".join(encode(event) + b"\n" for event in run_import.read_run(file(life())).events) == file(life())


@pytest.mark.parametrize("given", [{"recall": 5}, {"remember": "everything"}, {"tools": ("search", "recall")}])
def test_an_imported_run_neither_reads_nor_fills_the_memory(store: Store, given: dict[str, Any]) -> None:
    kept = run_import.import_run(store, run_import.read_run(file(life(Recipe(**given), ended=False))))
    taken = store.run(kept.id).recipe
    assert kept.withheld == ("the memory",)
    assert (taken.recall, taken.remember, "recall" in taken.tools) == (0, "off", False)


@pytest.mark.usefixtures("parrot")
@pytest.mark.parametrize(
    "model", ["gguf:/etc/passwd", "scripted:/dev/zero", "recorded:261122-000000-abcd", "parrot:/etc/passwd"]
)
def test_a_model_file_of_an_imported_run_is_kept_by_name_and_cannot_be_used(
    store: Store, tmp_path: Path, model: str
) -> None:
    recipe = Recipe(model=model, roles={"writer": "openai:x", "judge": model})
    kept = run_import.import_run(store, run_import.read_run(file(life(recipe, ended=False))))
    taken = store.run(kept.id).recipe
    assert kept.withheld == (f"model {model}",)
    assert (taken.model, taken.roles) == (f"elsewhere:{model}", {"writer": "openai:x", "judge": f"elsewhere:{model}"})
    with pytest.raises(ConfigError, match="elsewhere"):
        Workbench(load(home=tmp_path)).model(taken.model)
