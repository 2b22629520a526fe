"""Token counts: made offline with the models' own tables, bounded for any text, and marked when estimated."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.models import tokens
from research.text import estimate_tokens
from research.types import Message, ToolCall


@pytest.mark.parametrize(
    ("text", "model", "expected"),
    [
        ("hello world", "gpt-4o", 2),  # [24912, 2375]
        ("hello world", "gpt-4", 2),  # [15339, 1917]
        ("tiktoken is great!", "gpt-4", 6),  # OpenAI cookbook, "How to count tokens with tiktoken"
        ("antidisestablishmentarianism", "gpt-4o", 6),  # from the same table
        ("お誕生日おめでとう", "gpt-4", 9),
        ("お誕生日おめでとう", "gpt-4o", 8),
        ("", "gpt-4o", 0),
    ],
)
def test_counts_match_those_that_openai_publishes(text: str, model: str, expected: int) -> None:
    assert tokens.count(text, model) == expected


@pytest.mark.parametrize(
    ("model", "method"),
    [
        ("openai:gpt-5-mini", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("openai:gpt-3.5-turbo-0125", "cl100k_base"),
        ("openai:ft:gpt-4o:me::x", "o200k_base"),
        ("openai:openai/gpt-oss-120b", "o200k_base"),
        ("anthropic:claude-sonnet-4-5", "o200k_base"),
        ("openai:qwen3:8b", "o200k_base"),
        ("gguf:/models/llama.gguf", "o200k_base"),
        ("davinci", "o200k_base"),
        ("", "o200k_base"),
        ("extractive", "characters"),
        ("scripted:play.jsonl", "characters"),
        ("recorded:r1", "characters"),
        ("parrot:x", "characters"),
    ],
)
@pytest.mark.usefixtures("parrot")
def test_each_model_has_its_counting_method(model: str, method: str) -> None:
    assert tokens.method(model) == method


def test_a_conversation_counts_contents_and_calls() -> None:
    plain = [Message("system", "hello world"), Message("user", "hello world")]
    assert tokens.count_messages(plain, "gpt-4o") == 2 * (2 + tokens.PER_MESSAGE)
    call = ToolCall("c1", "search", {"query": "hello world"})
    with_call = [*plain, Message("assistant", "", calls=(call,))]
    assert tokens.count_messages(with_call, "gpt-4o") > tokens.count_messages(plain, "gpt-4o") + tokens.PER_MESSAGE + 3
    assert tokens.count_messages(plain, "extractive") == 2 * (estimate_tokens("hello world") + tokens.PER_MESSAGE)


@pytest.mark.parametrize("text", ["<|endoftext|>", "<|im_start|>system", "\ud800 alone", "\x00\x1b", "👩‍👩‍👧‍👦" * 100])
def test_special_tokens_and_odd_characters_are_counted_as_plain_text(text: str) -> None:
    assert tokens.count(text, "gpt-5") > 1


@pytest.mark.parametrize("piece", [" ", "a", "\n", "1", "中", "!"])
def test_a_million_repetitions_of_a_character_are_counted(piece: str) -> None:
    """tiktoken itself overflows its stack on a million spaces."""
    assert 5_000 < tokens.count(piece * 1_000_000, "gpt-5") <= 1_000_000


def test_long_text_is_split_between_words() -> None:
    words = " ".join(f"word{n} and more" for n in range(20_000))
    part = words[:4_000].rpartition(" ")[0]
    whole = sum(tokens.count(piece, "gpt-5") for piece in (part, words[len(part) :]))
    assert abs(tokens.count(words, "gpt-5") - whole) <= 1


@given(st.text(max_size=300), st.text(max_size=300))
def test_the_same_text_always_has_the_same_count(one: str, other: str) -> None:
    first = tokens.count(one, "gpt-5")
    assert tokens.count(other, "gpt-5") >= 0
    assert tokens.count(one, "gpt-5") == first <= max(1, len(one.encode("utf-8", "surrogatepass")))


def test_the_cache_of_counts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_CACHED", 10)
    tokens._counts.clear()
    threads = [threading.Thread(target=tokens.count, args=(f"{n} " * 100, "gpt-5")) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tokens._counts) == 10
    assert all(len(digest) == 16 for _, digest in tokens._counts), "the cache must not hold text"
