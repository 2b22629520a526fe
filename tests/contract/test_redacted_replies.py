"""A model server that writes the key it was given into a reply: no piece of the key reaches a run."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from research._util.redaction import StreamRedactor, mask_keys
from research.config.settings import load
from research.events.events import Streamed, encode
from research.types import Completion, Delta, Message, Request
from research.workbench import diagnostics
from research.workbench.workbench import Workbench
from tests.fake_openai import Body, FakeOpenAI, FakeReply
from tests.served import openai_model

KEY = "sk-proj-S3cret/+key=42-abcdefghijklmn"
FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "percent": lambda key: quote(key, safe=""),
    "base64": lambda key: base64.b64encode(b"xy" + key.encode()).decode(),
    "hex": lambda key: key.encode().hex(),
    "lines": lambda key: "\n".join(key),
    "json": lambda key: json.dumps(key).replace("/", "\\/"),
}


def streamed(text: str, size: int) -> tuple[str, list[str]]:
    """Return what a redactor shows of a text that arrives in pieces of this size, and the pieces shown."""
    redactor = StreamRedactor(KEY)
    shown = [redactor.add(text[at : at + size]) for at in range(0, len(text), size)] + [redactor.end()]
    return "".join(shown), shown


@pytest.mark.examples(10)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_key_in_pieces_of_any_size_is_redacted(form: str, size: int) -> None:
    echoed = FORMS[form](KEY)
    shown, _ = streamed(f"The key is {echoed} and sk-proj-S3other stays. {echoed}", size)
    assert echoed not in shown
    assert shown.startswith("The key is ") and " and sk-proj-S3other stays. " in shown
    assert shown.count("***") == 2


@pytest.mark.parametrize("size", [1, 5, 100])
def test_text_without_the_key_arrives_unchanged_and_at_once(size: int) -> None:
    text = "Sketches of 42 birds, 100 % of them & more: sk, sk-, sk-proj. Paths: C:\\new, a/b?c=%2F. " * 20
    shown, pieces = streamed(text, size)
    assert shown == text
    late, seen = 0, 0
    for number, piece in enumerate(pieces[:-1], 1):
        seen += len(piece)
        late = max(late, min(number * size, len(text)) - seen)
    assert late <= 16, "more is kept back than the start of a key or of an escape"


def test_no_event_of_a_run_contains_the_echoed_key(home: Path) -> None:
    deltas = [{"content": f"Your key is {KEY[:9]}"}, {"content": KEY[9:20]}, {"content": f"{KEY[20:]}. Is that so"}]
    thoughts = [{"reasoning_content": f"I saw {KEY[:5]}"}, {"reasoning_content": KEY[5:]}]
    with FakeOpenAI(lambda body: FakeReply(deltas=[*thoughts, *deltas])) as server:
        bench = Workbench(load(home=home, openai_api_key=KEY, openai_base_url=server.base_url, model="openai:fake"))
        events = list(bench.engine.start("What is my key?", bench.recipe(tools=()), here=True).events())
    said = "".join(event.text for event in events if isinstance(event, Streamed) and event.kind == "text")
    assert "Your key is ***. Is that so" in said
    for event in events:
        assert KEY not in encode(event).decode()
    everything = "".join(event.text for event in events if isinstance(event, Streamed))
    assert KEY not in everything and KEY[9:20] not in everything


def test_a_key_in_the_arguments_of_a_call_is_redacted() -> None:
    reply = FakeReply(calls=[("visit", {"url": f"http://a.test/?{KEY}", "goal": {KEY: [KEY]}})])
    with FakeOpenAI([reply]) as server:
        model = openai_model("fake", base_url=server.base_url, api_key=KEY)
        (completion,) = (
            each for each in model.stream(Request((Message("user", "hi"),))) if isinstance(each, Completion)
        )
    assert completion.calls[0].arguments == {"url": "http://a.test/?***", "goal": {"***": ["***"]}}
    assert KEY not in str(completion)


@pytest.mark.parametrize("key", ["ollama", "none", "EMPTY", "lm-studio", "not-needed", "sk-no-key-required", "x"])
def test_a_placeholder_that_local_servers_accept_is_an_ordinary_word(key: str) -> None:
    text = f"There is none like {key}."
    with FakeOpenAI([FakeReply(text)]) as server:
        model = openai_model("fake", base_url=server.base_url, api_key=key)
        *deltas, completion = model.stream(Request((Message("user", "hi"),)))
    assert isinstance(completion, Completion) and completion.text == text
    assert "".join(each.text for each in deltas if isinstance(each, Delta)) == text


def test_the_test_of_a_model_asks_as_a_run_does(home: Path) -> None:
    def reply(body: Body) -> FakeReply:
        if "tools" not in body:
            return FakeReply("Many.")
        if len(server.requests) > 1:
            return FakeReply(status=400, body={"error": {"message": "this model does not support tools"}})
        return FakeReply(calls=[("search", {"query": "Japan"})])

    with FakeOpenAI(reply) as server:
        bench = Workbench(load(home=home, openai_base_url=server.base_url))
        first, second = (diagnostics.connect(bench, "openai:fake", ask=True) for _ in range(2))
        assert all(body["stream"] for body in server.requests)
    assert "openai:fake answers with a tool call, after" in first.text
    assert "refuses tools: runs ask it in tagged text" in second.text


@pytest.mark.parametrize(
    "name",
    ["openai:sk-proj-aB3dE5fG7hJ9kL2mN4pQ6rS8", "sk-ant-api03-aB3dE5fG7hJ9kL2mN4pQ", "openai:tvly-dev-0123456789abcdef",
     "openai:0123456789abcdef0123456789abcdef", f"openai:{KEY}", f"anthropic:{KEY}"],
)  # fmt: skip
def test_doctor_masks_a_key_that_was_entered_as_a_model(name: str, home: Path) -> None:
    with FakeOpenAI([FakeReply(status=404, body={"error": {"message": f"no model {name}"}})] * 9) as server:
        given = load(
            home=home, openai_api_key=KEY, openai_base_url=server.base_url, model=name, verifier=f"model:{name}"
        )
        bench = Workbench(given)
        checks = [*diagnostics.judges(bench), diagnostics.connect(bench, name, ask=True)]
        found = [diagnostics.masked(bench.settings, check) for check in checks]
    secret = name.rpartition(":")[2]
    assert any(secret in f"{check}" for check in checks), "nothing to mask"
    assert not any(secret in f"{check}" or secret[8:] in f"{check}" for check in found)
    assert "***" in f"{found}"


@pytest.mark.parametrize(
    "name",
    ["openai:gpt-5-mini", "openai:ft:gpt-4o-2024-08-06:my-org:custom-suffix:AbC12dEf", "anthropic:claude-sonnet-5-5",
     "openai:Qwen/Qwen2.5-Coder-32B-Instruct-GPTQ-Int4", "gguf:/models/SmolLM2-135M-Instruct-Q8_0.gguf",
     "cross-encoder:MoritzLaurer/mDeBERTa-v3-base-xnli-multilingual-nli-2mil7", "/home/a/b-1/c_2: 12.3 GB free"],
)  # fmt: skip
def test_names_of_models_are_not_masked(name: str) -> None:
    assert mask_keys(name, ["ollama", "mini"]) == name
