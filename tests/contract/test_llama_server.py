"""A real llama.cpp server, used over HTTP like any other server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest

import research
from research.config.settings import load
from research.errors import ProviderError
from research.events.events import RunFailed, RunFinished, Streamed
from research.models.openai import OpenAIModel
from research.protocols.protocol import ProtocolName
from research.types import Completion, Message, Outcome, Request
from research.workbench.workbench import Workbench
from tests.served import openai_model
from tests.smollm import model_file

KEY = "key-of-the-llama-server"


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {"smollm2"}
    params.n_ctx = 2048
    params.n_parallel = 1
    params.n_predict = 30
    params.cpuparams.n_threads = 1
    params.warmup = False
    params.verbosity = -1
    params.api_keys = [KEY]
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


def model(base_url: str, **options: Any) -> OpenAIModel:
    return openai_model("smollm2", base_url=base_url, **{"api_key": KEY, **options})


@pytest.mark.slow
@pytest.mark.parametrize("protocol", get_args(ProtocolName))
def test_react_ends_with_an_answer_or_a_named_outcome(base_url: str, bench: Workbench, protocol: ProtocolName) -> None:
    settings = load(home=bench.settings.home, openai_base_url=base_url, openai_api_key=KEY)
    events = list(
        research.stream(
            "How many people live in Japan?", workbench=Workbench(settings), model="openai:smollm2", framework="react",
            protocol=protocol, tools=("search",), options={"framework.rounds": 1}, temperature=0.0,
        )
    )  # fmt: skip
    end = events[-1]
    assert isinstance(end, RunFinished)
    assert end.outcome in get_args(Outcome)
    assert not [event for event in events if isinstance(event, RunFailed) and event.traceback]
    assert [event for event in events if isinstance(event, Streamed)]


def test_a_reply_is_streamed_and_reports_its_usage(base_url: str) -> None:
    *deltas, last = model(base_url).stream(Request((Message("user", "Say hello."),), temperature=0.0, max_tokens=8))
    assert isinstance(last, Completion)
    assert last.text
    assert len(deltas) > 1
    assert last.usage is not None
    assert last.usage.completion_tokens <= 8 < last.usage.prompt_tokens


def test_the_servers_models_are_listed(base_url: str) -> None:
    assert model(base_url).list_models() == ["smollm2"]


def test_a_prompt_that_is_too_long_is_a_context_overflow(base_url: str) -> None:
    with pytest.raises(ProviderError) as caught:
        list(model(base_url).stream(Request((Message("user", "hello " * 3000),))))
    assert caught.value.context_overflow


def test_a_wrong_key_is_an_error_that_does_not_contain_it(base_url: str) -> None:
    with pytest.raises(ProviderError, match="OPENAI_API_KEY") as caught:
        list(model(base_url, api_key="wrong-key-that-leaks").stream(Request((Message("user", "hello"),))))
    assert not caught.value.retryable
    assert "wrong-key-that-leaks" not in str(caught.value)
