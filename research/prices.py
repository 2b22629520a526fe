"""What calls cost, from the table that `genai-prices` ships: nothing is fetched, and unknown stays unknown.

The table is matched by the server and the name of the model.  A model on a server that is not in it (a local one, a
gateway, a private address) has no known price, whatever it calls itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from research.types import Usage

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, Provider


def cost_usd(provider_or_url: str, model: str, usage: Usage) -> float | None:
    """US dollars of a call with that usage; None when the price is unknown, 0.0 only when it is known to be free.

    `provider_or_url` is the base url of the server (`https://api.openai.com/v1`) or the table's own name of it
    (`openai`), `model` the server's name of the model.  Cached parts of the prompt cost what the table says, and as much
    as the rest where it says nothing.  Usage that cannot be (more cached than sent) has no price.
    """
    found = _find(provider_or_url, model)
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    counts = (usage.prompt_tokens, usage.completion_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    if found is None or min(counts) < 0 or cached > usage.prompt_tokens:
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


def window(provider_or_url: str, model: str) -> int:
    """Tokens of prompt and reply together that the model takes, by the same table; 0: unknown."""
    found = _listed(provider_or_url, model)
    return (found[1].context_window or 0) if found else 0


def _listed(provider_or_url: str, model: str) -> tuple[Provider, ModelInfo] | None:
    """The model as the table knows it."""
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
    """The model with its price today (None: free); None when it cannot be priced by tokens."""
    from datetime import UTC, datetime

    listed = _listed(provider_or_url, model)
    if listed is None:
        return None
    provider, info = listed
    price = info.get_prices(datetime.now(tz=UTC))
    known = {name for name, value in vars(price).items() if value is not None}
    if not known and model.endswith(":free"):
        return provider, info, None  # OpenRouter's way of naming what it gives away
    # Without both, the missing one would count as free: a model of images or speech, or a gap in the table.
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
        # The table's patterns have no end, and some run on into the path: `https://api.openai.com.example.org` must not
        # pass, nor `https://example.org/.googleapis.com`.  One that ends in a dot leaves the country open.
        found = re.match(each.api_pattern, place + url.path.replace(".", ""))
        if found and _covers(found.group(), place):
            return each
    return None


def _covers(matched: str, place: str) -> bool:
    rest = place[len(matched) :]
    return matched.startswith(place) or (matched.endswith(".") and "." not in rest)
