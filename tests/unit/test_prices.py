"""Prices are known for the servers and models of the table, unknown for all others, and never fetched."""

from __future__ import annotations

import pytest

from research.models.prices import cost_usd
from research.types import Usage

OPENAI = "https://api.openai.com/v1"
USAGE = Usage(1_000_000, 1_000_000)


def test_a_call_costs_what_the_price_table_says() -> None:
    read, written = cost_usd(OPENAI, "gpt-4o", Usage(1_000, 0)), cost_usd(OPENAI, "gpt-4o", Usage(0, 1_000))
    assert read
    assert written
    assert 0 < read < written
    assert cost_usd(OPENAI, "gpt-4o", Usage(1_000, 1_000)) == pytest.approx(read + written)
    assert cost_usd(OPENAI, "gpt-4o", Usage()) == 0.0
    assert cost_usd(OPENAI, "gpt-4o-2024-08-06", Usage(1_000, 0)) == read, "a dated name must cost the same"


def test_cached_prompt_tokens_have_their_own_prices() -> None:
    """Anthropic's ratios: a read costs a tenth of the prompt price, a write a quarter more."""
    server, model = "https://api.anthropic.com", "claude-haiku-4-5"
    plain = cost_usd(server, model, Usage(1_000, 0))
    assert plain
    assert cost_usd(server, model, Usage(1_000, 0, cache_read_tokens=1_000)) == pytest.approx(0.1 * plain)
    assert cost_usd(server, model, Usage(1_000, 0, cache_write_tokens=1_000)) == pytest.approx(1.25 * plain)
    mixed = cost_usd(server, model, Usage(1_000, 0, cache_read_tokens=600, cache_write_tokens=200))
    assert mixed == pytest.approx((0.2 + 0.6 * 0.1 + 0.2 * 1.25) * plain)


@pytest.mark.parametrize(
    ("server", "model"),
    [
        ("https://api.openai.com", "gpt-4o"),
        ("https://API.OpenAI.com:443/v1/", "gpt-4o"),
        ("openai", "gpt-4o"),
        ("https://api.anthropic.com", "claude-haiku-4-5"),
        ("https://api.deepseek.com", "deepseek-chat"),
        ("https://openrouter.ai/api/v1", "openai/gpt-4o"),
        ("https://api.mistral.ai/v1", "mistral-large-latest"),
        ("https://api.groq.com/openai/v1", "llama-3.3-70b-versatile"),
        ("https://api.moonshot.cn/v1", "kimi-k2"),
        ("https://mine.openai.azure.com/openai/v1", "gpt-4o"),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "gemini-2.5-flash"),
    ],
)
def test_known_servers_are_recognised_by_their_url(server: str, model: str) -> None:
    assert (cost_usd(server, model, USAGE) or 0) > 0


@pytest.mark.parametrize(
    ("server", "model"),
    [
        ("http://127.0.0.1:8000/v1", "gpt-4o"),
        ("http://localhost:11434/v1", "gpt-4o"),
        ("https://10.0.0.7/v1", "gpt-4o"),
        ("https://[::1]/v1", "gpt-4o"),
        ("http://api.openai.com/v1", "gpt-4o"),
        ("https://api.openai.com:8443/v1", "gpt-4o"),
        ("https://api.openai.com.example.org/v1", "gpt-4o"),
        ("https://example.org/api.openai.com", "gpt-4o"),
        ("https://example.org/.googleapis.com", "gemini-2.5-flash"),
        ("https://example.org?x=.googleapis.com", "gemini-2.5-flash"),
        ("https://api.openai.com@example.org/v1", "gpt-4o"),
        ("https://api.moonshot.example.org/v1", "kimi-k2"),
        ("https://[", "gpt-4o"),
        ("https://api.openai.com:port/", "gpt-4o"),
        ("not-openai", "gpt-4o"),
        ("", "gpt-4o"),
        (OPENAI, "my-own-model"),
        (OPENAI, ""),
        (OPENAI, "claude-haiku-4-5"),
        (OPENAI, "text-embedding-3-small"),
    ],
)
def test_an_unknown_server_or_model_has_no_price(server: str, model: str) -> None:
    assert cost_usd(server, model, USAGE) is None
    assert cost_usd(server, model, Usage()) is None


def test_a_model_is_free_only_where_the_table_says_so() -> None:
    router, given_away = "https://openrouter.ai/api/v1", "meta-llama/llama-3.3-70b-instruct:free"
    assert cost_usd(router, given_away, USAGE) == 0.0
    # The table lists it without a price: it is part of a subscription.
    assert cost_usd("https://api.githubcopilot.com", "gpt-4o", USAGE) is None


@pytest.mark.parametrize("usage", [Usage(10, 0, 8, 8), Usage(-1, 5), Usage(10, 5, -1), Usage(10, -5)])
def test_impossible_usage_has_no_price(usage: Usage) -> None:
    assert cost_usd(OPENAI, "gpt-4o", usage) is None
