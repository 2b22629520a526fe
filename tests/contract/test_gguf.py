"""A small but real language model in this process keeps to the protocol."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import research
from research.errors import ConfigError, ProviderError
from research.events.events import Asked, Concluding, Rejected, Replied, RunFinished, Streamed, ToolStarted
from research.events.view import fold
from research.models.gguf import GgufModel
from research.models.llama.loaded import load
from research.models.traits import Priced
from research.types import Completion, Delta, Message, Model, Request, ToolCall, ToolSpec
from research.workbench.workbench import Workbench
from tests.smollm import model_file
from tests.workers import LONG_S

SEARCH = ToolSpec(
    "search", "Search for documents.",
    {"type": "object", "properties": {"query": {"type": "string", "maxLength": 40}}, "required": ["query"]},
)  # fmt: skip
ASK = (Message("system", "You are a research assistant."), Message("user", "How many people live in Japan?"))
CALLED = (
    *ASK,
    Message("assistant", "", (ToolCall("c1", "search", {"query": "Japan"}),), reasoning="I have to look it up."),
    Message("tool", "[1] Japan: population 123,201,945", call_id="c1"),
)


@pytest.fixture(scope="module")
def model() -> GgufModel:
    return GgufModel(model_file(), context=2048)


def play(model: Model, *messages: Message, **request: Any) -> tuple[list[Delta], Completion]:
    *deltas, last = model.stream(Request(messages, temperature=0.0, **request))
    assert isinstance(last, Completion)
    assert all(isinstance(delta, Delta) for delta in deltas)
    return [delta for delta in deltas if isinstance(delta, Delta)], last


def said(deltas: list[Delta], kind: str) -> str:
    return "".join(delta.text for delta in deltas if delta.kind == kind)


class TestRun:
    @pytest.mark.slow
    def test_a_react_run_with_a_real_model_completes(self, bench: Workbench) -> None:
        events = list(
            research.stream(
                "How many people live in Japan?", workbench=bench, model=f"gguf:{model_file()}", framework="react",
                tools=("search",), options={"framework.rounds": 1}, temperature=0.0,
                ask=False,  # the test model repeats itself up to the length limit with the tool that asks
            )
        )  # fmt: skip
        end = events[-1]
        assert isinstance(end, RunFinished)
        assert end.status == "completed"
        assert [event.reason for event in events if isinstance(event, Concluding)] == ["rounds"]
        assert end.answer
        # No request was repeated, and each reply contains calls or an answer.
        assert not [event for event in events if isinstance(event, Rejected)]
        replies = [event for event in events if isinstance(event, Replied)]
        assert all(event.reply.calls or event.reply.answer for event in replies)
        assert [event for event in events if isinstance(event, ToolStarted)]
        # The reply was streamed, as text and not as JSON.
        streamed = [event for event in events if isinstance(event, Streamed)]
        assert len(streamed) > len(replies)
        assert not [event for event in streamed if '{"' in event.text]
        view = fold(events)
        assert (view.estimated, view.cost_usd) == (False, 0.0)
        assert view.prompt_tokens > 0
        assert len([event for event in events if isinstance(event, Asked)]) == view.model_calls


class TestReplies:
    def test_a_call_has_arguments_that_match_the_tools_schema(self, model: GgufModel) -> None:
        deltas, reply = play(model, *ASK, tools=(SEARCH,), must_call=True)
        (call,) = reply.calls
        assert call.name == "search"
        jsonschema.validate(call.arguments, SEARCH.parameters)
        assert (reply.finish_reason, reply.text) == ("tool_calls", "")
        assert [raw.id for raw in reply.raw_calls] == [call.id]
        assert said(deltas, "reasoning") == reply.reasoning
        assert said(deltas, "text") == ""

    @pytest.mark.slow
    def test_arguments_without_a_bound_in_their_schema_still_end(self, model: GgufModel) -> None:
        odd = {
            "n": {"type": "integer"},
            "x": {"type": "number"},
            "s": {"type": "string", "pattern": "^(?!a)b+$", "maxLength": 20},
        }
        tool = ToolSpec("odd", "Takes 3.", {"type": "object", "properties": odd, "required": list(odd)})
        threes = Message("user", "Call odd with as many threes as you can: 33333333333333333333333333333333333")
        _, reply = play(model, threes, tools=(tool,), must_call=True)
        assert set(reply.calls[0].arguments) == set(odd)

    @pytest.mark.slow
    def test_a_reply_without_tools_after_calls_is_an_answer(self, model: GgufModel) -> None:
        deltas, reply = play(model, *CALLED, Message("user", "Answer now."), max_tokens=120)
        assert not reply.raw_calls
        assert reply.text
        assert said(deltas, "text") == reply.text

    def test_a_plain_text_reply_reports_its_usage(self, model: GgufModel) -> None:
        deltas, reply = play(model, Message("user", "Say hello."), max_tokens=8)
        assert said(deltas, "text") == reply.text
        assert "{" not in reply.text
        assert reply.usage is not None
        assert reply.usage.completion_tokens <= 8 < reply.usage.prompt_tokens
        assert model.price(reply.usage) == 0.0
        assert isinstance(model, Priced)

    def test_a_reply_matches_the_requested_schema(self, model: GgufModel) -> None:
        schema = {
            "type": "object",
            "properties": {"n": {"type": "integer", "minimum": 5, "maximum": 7}},
            "required": ["n"],
        }
        _, reply = play(model, *ASK, schema=schema)
        jsonschema.validate(json.loads(reply.text), schema)

    def test_a_truncated_call_is_dropped_with_finish_reason_length(self, model: GgufModel) -> None:
        _, reply = play(model, *ASK, tools=(SEARCH,), must_call=True, max_tokens=12)
        assert reply.finish_reason == "length"
        assert not reply.calls

    @pytest.mark.slow
    def test_control_tokens_in_a_message_are_tokenized_as_text(self, model: GgufModel) -> None:
        turn = "<|im_end|>\n<|im_start|>"
        counts = [
            play(model, Message("user", text), max_tokens=1)[1].usage for text in ("hi " + turn, "hi " + turn * 9)
        ]
        assert counts[0] is not None and counts[1] is not None
        # A control token would be one token; as text it is several.
        assert counts[1].prompt_tokens - counts[0].prompt_tokens > 8 * 8


class TestLimits:
    @pytest.mark.slow
    def test_a_reply_that_fills_the_context_is_a_context_overflow(self) -> None:
        small = GgufModel(model_file(), context=256)
        with pytest.raises(ProviderError) as caught:
            play(small, Message("user", "Count from 1 to 1000: " + "1 2 3 4 5 " * 20), max_tokens=250)
        assert caught.value.context_overflow

    def test_closing_the_stream_ends_the_reply(self, model: GgufModel) -> None:
        stream = model.stream(Request((Message("user", "Count from 1 to 5000."),), temperature=0.0, max_tokens=1900))
        next(stream)
        (writing,) = [thread for thread in threading.enumerate() if thread.name == "gguf"]
        received = writing.pieces.qsize()  # type: ignore[attr-defined]
        stream.close()  # type: ignore[attr-defined]
        writing.join(LONG_S)
        assert not writing.is_alive()
        assert writing.pieces.qsize() <= received + 20  # type: ignore[attr-defined]

    def test_threads_share_one_loaded_model(self, model: GgufModel) -> None:
        with ThreadPoolExecutor(4) as pool:
            loaded = list(pool.map(lambda _: load(model_file(), 2048), range(4)))
            words = list(pool.map(lambda _: play(model, Message("user", "Say hello."), max_tokens=4)[1].text, range(4)))
        assert len({id(each) for each in loaded}) == 1
        assert len(set(words)) == 1

    @pytest.mark.slow
    def test_a_program_can_exit_in_the_middle_of_a_reply(self) -> None:
        code = (
            "from pathlib import Path; from research.models.gguf import GgufModel;"
            "from research.types import Message, Request; import sys;"
            "stream = GgufModel(Path(sys.argv[1]), context=512).stream("
            "Request((Message('user', 'Count from 1 to 1000.'),), temperature=0.0, max_tokens=400));"
            "next(stream); print('begun')"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(model_file())], capture_output=True, text=True, timeout=LONG_S, check=False
        )
        assert (done.returncode, done.stdout) == (0, "begun\n"), done.stderr


class TestFiles:
    def test_a_folder_or_a_missing_file_is_refused_with_its_name(self, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "none.gguf", Path("a\0b")):
            with pytest.raises(ConfigError, match="give a GGUF model file") as caught:
                GgufModel(path)
            assert str(path).split("\0")[0] in str(caught.value)

    @pytest.mark.parametrize("size", [0, 3, 24, 100_000, 5_000_000, -1])
    def test_a_truncated_file_is_refused_with_its_name(self, tmp_path: Path, size: int) -> None:
        path = tmp_path / "cut.gguf"
        path.write_bytes(model_file().read_bytes()[:size])
        with pytest.raises(ConfigError, match=r"cut\.gguf"):
            GgufModel(path)

    def test_a_file_of_another_format_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "page.gguf"
        path.write_text("<html>Please log in to download</html>")
        with pytest.raises(ConfigError, match="does not start with GGUF"):
            GgufModel(path)

    def test_the_context_is_at_most_what_the_model_was_trained_on(self, tmp_path: Path) -> None:
        data = model_file().read_bytes()
        key = b"llama.context_length\x04\x00\x00\x00"
        at = data.index(key) + len(key)
        path = tmp_path / "short.gguf"
        path.write_bytes(data[:at] + (300).to_bytes(4, "little") + data[at + 4 :])
        with pytest.raises(ProviderError) as caught:
            play(GgufModel(path), Message("user", "hello " * 400))
        assert caught.value.context_overflow
