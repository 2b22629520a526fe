"""Cross-encoders as verifiers, with small models of random weights that the tests make."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import research
from research.citations.verification import Pair, Thresholds
from research.config.settings import load
from research.errors import ConfigError
from research.models import cross_encoder
from research.workbench import diagnostics, verifier_registry
from research.workbench.workbench import Workbench

WORDS = ("the", "bridge", "was", "built", "in", "france", "people", "of", "population", "1887", ".")
THREE_WAY = {0: "contradiction", 1: "entailment", 2: "neutral"}
PAIRS = [
    Pair("The bridge was built.", ("Bridge\nThe bridge was built in 1887.",)),
    Pair("France.", ("\nPeople of France.",)),
]

pytestmark = [
    pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="needs the extra `local`"),
    pytest.mark.slow,  # importing transformers takes half a minute
]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Save a classifier of random weights with these labels, and return its folder."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    def save(labels: dict[int, str]) -> Path:
        folder = tmp_path_factory.mktemp("classifier")
        special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
        vocabulary = {word: number for number, word in enumerate((*special, *WORDS))}
        tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        named = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **named).save_pretrained(folder)
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
            max_position_embeddings=64, id2label=labels, label2id={name: index for index, name in labels.items()},
        )  # fmt: skip
        BertForSequenceClassification(config).save_pretrained(folder)
        return folder

    return save


def test_a_three_way_classifier_gives_probabilities_and_a_quote(make: Callable[..., Path]) -> None:
    verifier = cross_encoder.open_verifier(str(make(THREE_WAY)))
    found = verifier.verify(PAIRS)
    assert all(each.probability is not None and 0 < each.probability < 1 for each in found)
    assert all(each.contradicted is not None for each in found)
    assert found[0].quote == "Bridge\nThe bridge was built in 1887."
    assert verifier.verify(PAIRS) == found


def test_a_binary_fact_checker_needs_no_names_for_its_outputs(make: Callable[..., Path]) -> None:
    found = cross_encoder.open_verifier(str(make({0: "LABEL_0", 1: "LABEL_1"}))).verify(PAIRS)
    assert all(each.probability and each.contradicted == 0 for each in found)


def test_a_long_source_is_scored_window_by_window(make: Callable[..., Path]) -> None:
    long = Pair("The bridge was built.", ("Bridge\n" + "The population of France. " * 400,))
    assert cross_encoder.open_verifier(str(make(THREE_WAY))).verify([long])[0].probability is not None


def test_a_reranker_is_refused(make: Callable[..., Path]) -> None:
    with pytest.raises(ConfigError, match="as rerankers do"):
        cross_encoder.open_verifier(str(make({0: "LABEL_0"}))).verify(PAIRS)


def test_pickled_weights_are_refused(make: Callable[..., Path]) -> None:
    import torch

    folder = make(THREE_WAY)
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="pickled weights can execute code"):
        cross_encoder.open_verifier(str(folder)).verify(PAIRS)


def test_a_model_with_code_of_its_own_is_refused_and_the_code_does_not_run(make: Callable[..., Path]) -> None:
    folder = make(THREE_WAY)
    (folder / "mine.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\nclass Mine: ...\nclass MineConfig: ...\n")
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "mine"
    config["auto_map"] = {
        "AutoConfig": "mine.MineConfig", "AutoModelForSequenceClassification": "mine.Mine", "AutoModel": "mine.Mine",
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="cannot be loaded"):
        cross_encoder.open_verifier(str(folder)).verify(PAIRS)
    assert not (folder / "ran").exists()


def test_a_run_is_judged_by_the_configured_cross_encoder(
    home: Path, script: Callable[..., str], make: Callable[..., Path]
) -> None:
    folder = make(THREE_WAY)
    bench = Workbench(load(home=home, judge="auto", verifier=f"cross-encoder:{folder}"))
    search = {"name": "search", "arguments": {"query": "France population total"}}
    lines: list[Any] = [
        {"text": f"<tool_call>{json.dumps(search)}</tool_call>"},
        "<answer>The people sing [1].</answer>",
    ]
    view = research.run("How many people live in France?", workbench=bench, model=script(*lines))
    (citation,) = view.citations
    assert view.recipe.judge == f"uncertain:cross-encoder:{folder}"
    assert view.recipe.judged_by == f"cross-encoder:{folder}"
    assert [each.by for each in citation.judgements] == ["rules", f"cross-encoder:{folder}"]
    assert citation.status not in ("supported", "contradicted"), "a model of random weights is never certain"
    (rules, own) = diagnostics.judges(bench)
    assert (rules.state, own.state, own.name) == ("ok", "ok", f"judge cross-encoder:{folder}")


def test_a_verifier_that_cannot_be_loaded_leaves_the_rules_verdicts_and_doctor_says_so(
    home: Path, script: Callable[..., str], tmp_path: Path
) -> None:
    bench = Workbench(load(home=home, judge="auto", verifier=f"cross-encoder:{tmp_path}"))
    search = {"name": "search", "arguments": {"query": "France population total"}}
    lines: list[Any] = [
        {"text": f"<tool_call>{json.dumps(search)}</tool_call>"},
        "<answer>The people sing [1].</answer>",
    ]
    view = research.run("How many people live in France?", workbench=bench, model=script(*lines))
    assert view.status == "completed"
    assert view.citations[0].judgements == ()
    assert any("did not judge 1 of 1" in note for current in view.rounds for note in current.notes)
    assert [check.state for check in diagnostics.judges(bench)] == ["ok", "broken"]


def test_a_random_model_is_never_certain_once_it_was_calibrated(
    home: Path, tmp_path: Path, make: Callable[..., Path]
) -> None:
    name = f"cross-encoder:{make(THREE_WAY)}"
    rows = [
        {"claim": f"{word} in {n}.", "text": "The bridge of France.", "true": n % 2 == 0}
        for n in range(30)
        for word in WORDS
    ]
    file = tmp_path / "claims.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    bench = Workbench(load(home=home))
    found = verifier_registry.measure(bench, name, [file])
    assert found.thresholds == Thresholds(None, None)
    assert bench.judges.thresholds(name) == found.thresholds
    assert found.coverage == 0.0
