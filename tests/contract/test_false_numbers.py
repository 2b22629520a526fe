"""Numbers that a server sends are input: whatever it writes, a run ends, its pages open, and no budget is given back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from research.agent.budget import Meter
from research.agent.context import RunContext
from research.agent.lifecycle import execute
from research.agent.run import Run
from research.agent.toolbox import Toolbox
from research.compare import numbers
from research.events import events as e
from research.events.recipe import Budget, Recipe
from research.events.view import fold
from research.exports.json import as_dict
from research.exports.markdown import markdown
from research.models import usage
from research.models.ollama import OllamaModel
from research.ops import metrics
from research.types import Model
from tests.contract.test_endless_replies import Dialect
from tests.fake_search import FakeSearch, Reply
from tests.served import anthropic_model, endpoint_of, openai_model

FALSE = ["-1", "-1000000000", "1e30", "1" + "0" * 30, "1" + "0" * 400, "9" * 5_000, "1e999", "NaN", "Infinity", "-Infinity",
         '"many"', '"-5"', "true", "[]", "{}", "0.5e13"]  # fmt: skip
MILD = ["null", "7.0", '"7"', "0"]
DIALECTS: tuple[Dialect, ...] = ("chat", "responses", "messages", "ollama")


def body(dialect: Dialect, number: str) -> str:
    """Return a whole reply with this number in every place that has one."""
    match dialect:
        case "chat":
            value: Any = {
                "created": "@",
                "choices": [{"index": "@", "message": {"content": "Fuji is 3,776 m high."}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": "@", "completion_tokens": "@", "total_tokens": "@", "cost": "@",
                          "prompt_tokens_details": {"cached_tokens": "@", "cache_write_tokens": "@"}},
            }  # fmt: skip
        case "responses":
            said = {"type": "message", "content": [{"type": "output_text", "text": "Fuji is 3,776 m high."}]}
            counts = {"input_tokens": "@", "output_tokens": "@", "input_tokens_details": {"cached_tokens": "@"}}
            value = {"status": "completed", "created_at": "@", "output": [said], "usage": counts}
        case "messages":
            counts = {"input_tokens": "@", "output_tokens": "@", "cache_read_input_tokens": "@",
                      "cache_creation_input_tokens": "@"}  # fmt: skip
            value = {"type": "message", "content": [{"type": "text", "text": "Fuji is 3,776 m high."}],
                     "stop_reason": "end_turn", "usage": counts}  # fmt: skip
        case _:
            value = {"message": {"content": "Fuji is 3,776 m high."}, "done": True, "prompt_eval_count": "@",
                     "eval_count": "@", "total_duration": "@", "load_duration": "@"}  # fmt: skip
    return json.dumps(value).replace('"@"', number)


def model_at(dialect: Dialect, url: str) -> Model:
    match dialect:
        case "messages":
            return anthropic_model(base_url=url)
        case "ollama":
            return OllamaModel("fake", endpoint_of("ollama", base_url=url))
        case _:
            return openai_model(base_url=f"{url}/v1", api=dialect)


def playing(dialect: Dialect, number: str) -> Callable[[Any], Reply]:
    facts = '{"model_info": {"x.context_length": @}, "parameters": "num_ctx @"}'.replace("@", number)
    running = '{"models": [{"name": "fake", "context_length": @}]}'.replace("@", number)
    others = {"/api/show": facts, "/api/ps": running}

    def reply(asked: Any) -> Reply:
        return Reply(body=others.get(asked.path, body(dialect, number)))

    return reply


def events_of(dialect: Dialect, number: str, **budget: Any) -> list[Any]:
    with FakeSearch(playing(dialect, number)) as server:
        model = model_at(dialect, server.url)
        recipe = Recipe(framework="react", context="full", judge="off", budget=Budget(**budget))
        context = RunContext(lambda name: model, Toolbox([]), meter=Meter(recipe.budget))
        events = list(execute(Run("How high is Mount Fuji?", recipe, context), "261122-120000-abcd"))
        assert 0 <= context.meter.tokens <= usage.LARGEST * 10
        return events


@pytest.mark.examples(20)
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("number", [*FALSE, *MILD], ids=lambda text: text[:12])
def test_no_number_of_a_server_breaks_a_run_or_what_is_made_of_it(dialect: Dialect, number: str) -> None:
    events = events_of(dialect, number)
    assert isinstance(events[-1], (e.RunFinished, e.Paused))
    failed = [event for event in events if isinstance(event, e.RunFailed)]
    assert not [each.error for each in failed if each.traceback]
    stored = [e.decode(e.encode(event)) for event in events]
    view = fold(stored)
    assert 0 <= view.prompt_tokens <= usage.LARGEST * 10
    assert view.cost_usd is None or math.isfinite(view.cost_usd)
    figures = metrics.figures(view)
    assert numbers.figures(view) and figures
    assert metrics.combined([figures]) and metrics.by_day([figures])
    assert json.dumps(as_dict(view, stored)) and markdown(view)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("number", ["-1000000000", "1" + "0" * 30, "NaN", '"many"'], ids=lambda text: text[:12])
def test_what_cannot_be_true_is_estimated_and_said(dialect: Dialect, number: str) -> None:
    events = events_of(dialect, number, tokens=1_000)
    if number == "NaN":  # is no JSON: the reply cannot be read
        return
    replied = [event for event in events if isinstance(event, e.Replied)]
    assert replied and all(event.usage.estimated and event.usage.completion_tokens > 0 for event in replied)
    assert any("cannot be true" in event.text for event in events if isinstance(event, e.Warned))
