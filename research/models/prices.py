"""Prices of calls, from the table that is part of the package `genai-prices`; nothing is downloaded.

A price is looked up by server and model name.  The price of a model on any other server (a local one, a gateway, a
private address) is unknown, even if the table contains a model of that name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from research.types import Usage

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, Provider

    from research.models.endpoint import Prices


def cost_usd(provider_or_url: str, model: str, usage: Usage) -> float | None:
    """Return the price of a call in US dollars; None if it is unknown, 0.0 only if the model is known to be free.

    `provider_or_url` is the base url of the server (`https://api.openai.com/v1`) or the provider's id in the table
    (`openai`); `model` is the server's name of the model.  Cached tokens without a price of their own cost as much as
    others.  Returns None for impossible usage, such as more tokens cached than sent.
    """
    found = _find(provider_or_url, model)
    if found is None or _impossible(usage):
        return None
    provider, info, price = found
    if price is None:
        return 0.0
    from genai_prices import Usage as Counted

    counted = Counted(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    return float(info.calc_price(counted, provider).total_price)


def stated_cost(prices: Prices, usage: Usage) -> float | None:
    """Return the price of a call in US dollars at an endpoint's own prices; None for impossible usage."""
    if _impossible(usage):
        return None
    read = prices.input if prices.cache_read is None else prices.cache_read
    write = prices.input if prices.cache_write is None else prices.cache_write
    uncached = usage.prompt_tokens - usage.cache_read_tokens - usage.cache_write_tokens
    million = uncached * prices.input + usage.completion_tokens * prices.output
    return (million + usage.cache_read_tokens * read + usage.cache_write_tokens * write) / 1e6


def _impossible(usage: Usage) -> bool:
    counts = (usage.prompt_tokens, usage.completion_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return min(counts) < 0 or usage.cache_read_tokens + usage.cache_write_tokens > usage.prompt_tokens


def window(provider_or_url: str, model: str) -> int:
    """Return the size of the model's context window in tokens, from the same table; 0 if unknown."""
    found = _listed(provider_or_url, model)
    return (found[1].context_window or 0) if found else 0


def _listed(provider_or_url: str, model: str) -> tuple[Provider, ModelInfo] | None:
    """Return the model's entry in the table; None if there is none."""
    from genai_prices.data_snapshot import get_snapshot

    table = get_snapshot()
    provider = _provider(table, provider_or_url)
    if provider is None or not model:
        return None
    try:
        _, info = table.find_provider_model(model, provider, None, None)
    except LookupError:
        return None
    return provider, info


def _find(provider_or_url: str, model: str) -> tuple[Provider, ModelInfo, ModelPrice | None] | None:
    """Return the model with its price today (None if free); None if it has no price per token."""
    from datetime import UTC, datetime

    listed = _listed(provider_or_url, model)
    if listed is None:
        return None
    provider, info = listed
    price = info.get_prices(datetime.now(tz=UTC))
    known = {name for name, value in vars(price).items() if value is not None}
    if not known and model.endswith(":free"):
        return provider, info, None  # OpenRouter's suffix for free models
    # Require both prices: genai-prices counts a missing one as free, e.g. for image or speech models.
    return (provider, info, price) if {"input_mtok", "output_mtok"} <= known else None


def _provider(table: DataSnapshot, provider_or_url: str) -> Provider | None:
    if "://" not in provider_or_url:
        return next((each for each in table.providers if each.id == provider_or_url), None)
    try:
        url = urlsplit(provider_or_url)
        port = url.port
    except ValueError:
        return None
    host = url.hostname or ""
    if port not in (None, 443):
        return None
    place = f"{url.scheme}://{host}"
    for each in table.providers:
        # The table's patterns have no anchor at the end, and some match into the path.  Neither
        # `https://api.openai.com.example.org` nor `https://example.org/.googleapis.com` may match.  A pattern that ends
        # in a dot allows any country domain.
        found = re.match(each.api_pattern, place + url.path.replace(".", ""))
        if found and _covers(found.group(), place):
            return each
    return None


def _covers(matched: str, place: str) -> bool:
    rest = place[len(matched) :]
    return matched.startswith(place) or (matched.endswith(".") and "." not in rest)
