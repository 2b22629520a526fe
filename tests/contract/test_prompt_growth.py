"""The size of the prompts that a server receives over 40 rounds with observations of 4,000 characters."""

from __future__ import annotations

import pytest

from bench.prompt_growth import OBSERVATION, Chronicle, measure, rewoo_calls
from research.protocols.protocol import ProtocolName

ROUNDS = 40
BOTH = pytest.mark.parametrize("protocol", ["tagged", "native"])


def test_an_observation_has_the_promised_length() -> None:
    assert abs(len(Chronicle()(chapter="7").text) - OBSERVATION) <= 1


@pytest.mark.examples(1)
@BOTH
def test_full_history_grows_by_the_same_amount_every_round(protocol: ProtocolName) -> None:
    prompts = measure("react", "full", ROUNDS, protocol).prompts
    grown = [after - before for before, after in zip(prompts, prompts[1:], strict=False)]
    rounds = grown[: ROUNDS - 1]
    assert min(rounds) > OBSERVATION / 4
    assert max(rounds) <= 1.05 * min(rounds)


@pytest.mark.examples(1)
@BOTH
def test_prompts_with_a_window_stop_growing_once_it_is_full(protocol: ProtocolName) -> None:
    prompts = measure("react", "window", ROUNDS, protocol, k=5).prompts
    assert max(prompts[5:ROUNDS]) <= 1.02 * prompts[5]
    assert max(prompts) <= 1.1 * prompts[5]


@pytest.mark.examples(2)
@BOTH
@pytest.mark.parametrize("max_tokens", [6_000, 8_000, 8_700])
def test_resum_never_exceeds_its_limit(protocol: ProtocolName, max_tokens: int) -> None:
    growth = measure("react", "resum", ROUNDS, protocol, max_tokens=max_tokens)
    assert max(growth.prompts) <= max_tokens
    assert len(growth.others) >= ROUNDS // 8, "it did not summarize often enough"
    assert growth.largest <= max_tokens, "the summarizer's own prompt exceeded the limit"


@pytest.mark.examples(1)
@BOTH
def test_iter_research_prompts_do_not_grow_with_the_rounds(protocol: ProtocolName) -> None:
    prompts = measure("iter_research", "evolving", ROUNDS, protocol).prompts
    assert len(prompts) == ROUNDS + 1
    assert max(prompts) <= 1.1 * prompts[4]
    assert prompts[-1] <= 1.1 * prompts[4]


def test_prompts_with_an_evolving_report_are_bounded_in_react_too() -> None:
    growth = measure("react", "evolving", ROUNDS)
    assert max(growth.prompts[4:ROUNDS]) <= 1.1 * growth.prompts[4]
    assert len(growth.others) >= ROUNDS - 1, "the report was not updated in every round"


@pytest.mark.parametrize("steps", [5, 20, 50])
def test_rewoo_makes_two_model_calls_whatever_the_number_of_steps(steps: int) -> None:
    assert rewoo_calls(steps) == 2
