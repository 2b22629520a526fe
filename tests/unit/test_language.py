"""Every text of the pages exists in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po
from msgspec.structs import replace

from pages.locale.update import FILE, messages
from pages.parts.shared import cite, language
from pages.parts.shared.language import LOCALE
from research import defaults, plugins
from research._util.said import catalogue, translated
from research.citations import check
from research.citations.verification import fused
from research.config.named_endpoints import Entry
from research.config.settings import load
from research.errors import ConfigError
from research.events.recipe import model_title
from research.types import Citation, Judgement, Reason, Source
from research.workbench import endpoint_registry
from research.workbench.workbench import Workbench

WORDS = sorted({text for text, _ in messages() if text})


@pytest.fixture(scope="module")
def chinese() -> dict[str, str]:
    with FILE.open("rb") as file:
        return {str(each.id): str(each.string) for each in read_po(file, locale="zh") if each.id}


def test_a_page_and_an_exported_file_call_a_framework_the_same(chinese: dict[str, str]) -> None:
    titles = [each.title for each in (*plugins.framework.all(), *plugins.context.all())]
    titles.append(model_title(defaults.OFFLINE))
    assert [each for each in titles if chinese[each] != translated(each, "zh")] == []


def test_the_catalogue_contains_exactly_the_texts_of_the_pages(chinese: dict[str, str]) -> None:
    """`make words` updates it."""
    assert sorted(chinese) == WORDS


def test_every_text_is_translated(chinese: dict[str, str]) -> None:
    assert [text for text in WORDS if not chinese.get(text, "").strip()] == []


def test_a_translation_has_the_placeholders_of_its_original(chinese: dict[str, str]) -> None:
    def places(text: str) -> list[str]:
        return sorted(re.findall(r"(?<!\{)\{(\w*)[^{}]*\}", text))

    assert {text: there for text, there in chinese.items() if places(text) != places(there)} == {}


def test_a_translation_has_the_markup_of_its_original(chinese: dict[str, str]) -> None:
    def markup(text: str) -> list[str]:
        return sorted(re.findall(r"`[^`]+`|:material/\w+:|\*\*", text))

    assert {text: there for text, there in chinese.items() if markup(text) != markup(there)} == {}


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        ("openai:gpt-4o", "openai:gpt-4o 没有密钥：请在“设置”中填写密钥"),
        ("openai:", "openai：请在冒号后写明模型，例如 openai:gpt-5-mini"),
        ("gguf:/nowhere.gguf", "；请给出 GGUF 模型文件"),
    ],
)
def test_an_error_is_in_the_language_of_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: str, shown: str
) -> None:
    with pytest.raises(ConfigError) as error:
        Workbench(load(home=tmp_path)).model(model)
    monkeypatch.setattr(language, "current", lambda: "en")
    assert language.spoken(error.value) == " ".join(str(error.value).split())
    monkeypatch.setattr(language, "current", lambda: "zh")
    assert shown in language.spoken(error.value)


def test_what_a_service_said_stays_as_it_is_within_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "current", lambda: "zh")
    said = (
        "h.example refused the key (401): set A_KEY, or A_URL if the key belongs to another server.  It said: Bad {key}"
    )
    assert language.spoken(said).endswith("服务器的回复：Bad {key}")
    assert language.spoken("a plug-in's own {words}") == "A plug-in's own {words}"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("x.pdf is a damaged pdf (EOF); save it again", "x.pdf 是损坏的 PDF（EOF）；请重新保存"),
        (
            "cannot reach http://a.example (Connection refused): check that the server runs and that the address of "
            "endpoint 'a' is correct (trying again in 1 s)",
            "无法连接 http://a.example（连接被拒绝）：请检查服务器是否在运行，以及端点“a”的地址是否正确（1 秒后重试）",
        ),
        (
            "https://a.example cannot be read (a.example does not resolve); check the address or try another source",
            "无法读取 https://a.example（域名 a.example 无法解析）；请检查网址或换一个来源",
        ),
    ],
)
def test_what_an_error_inserts_is_in_the_language_of_the_page_too(
    monkeypatch: pytest.MonkeyPatch, said: str, shown: str
) -> None:
    monkeypatch.setattr(language, "current", lambda: "zh")
    assert language.spoken(said) == shown


def test_a_reason_of_the_citation_check_is_in_the_language_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = check("The population of Japan is 99 million [1].", [Source(1, "", "Japan", "Population: 123,201,945")])
    assert found.reason == "the source gives 123,201,945"
    monkeypatch.setattr(language, "current", lambda: "zh")
    assert "123,201,945" in cite.reason_text(found) and "labelled" not in cite.reason_text(found)
    foreign = Reason("{0.__class__} {}", (("a", "b"),))
    assert cite.reason_text(replace(found, reasons=(foreign,))) == "", "an imported run"


@pytest.mark.parametrize(
    ("tongue", "shown"),
    [
        ("en", "models are named PROVIDER:MODEL, for example openai:gpt-5-mini or anthropic:claude-sonnet-5-5; known"),
        ("zh", "没有名为“gpt-9”的模型提供商或端点；模型的写法是“提供商:模型名”，例如 openai:gpt-5-mini 或 anthropic:"),
    ],
)
def test_an_unknown_model_is_told_how_models_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tongue: str, shown: str
) -> None:
    monkeypatch.setattr(language, "current", lambda: tongue)
    with pytest.raises(ConfigError) as error:
        Workbench(load(home=tmp_path)).model("gpt-9")
    assert shown in language.spoken(error.value)
    own = endpoint_registry.add(load(home=tmp_path), "work", Entry(url="http://127.0.0.1:9/v1", model="qwen3"))
    with pytest.raises(ConfigError, match="for example work:qwen3 or openai:gpt-5-mini"):
        Workbench(own).model("gpt-9")


def test_what_is_not_set_up_is_said_in_chinese(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(language, "current", lambda: "zh")
    with pytest.raises(ConfigError) as error:
        Workbench(load(home=tmp_path)).model("groq:llama")
    assert language.spoken(error.value) == "端点“groq”（Groq）尚未设置：请在“设置”页面添加，或设置 GROQ_API_KEY"


def test_a_token_has_one_chinese_word(chinese: dict[str, str]) -> None:
    said = [*chinese.values(), *catalogue().values()]
    assert [text for text in said if re.search(r"(?i)令牌|token", re.sub(r"\{\w*\}|`[^`]*`", "", text))] == []


@pytest.mark.parametrize("name", ["groq:llama", "nonsense:x"])
def test_a_page_names_no_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    monkeypatch.setattr(language, "current", lambda: "en")
    with pytest.raises(ConfigError, match=r"`python -m research endpoints add") as error:
        Workbench(load(home=tmp_path)).model(name)
    said = language.spoken(error.value)
    assert "python" not in said and "on the Settings page" in said
    assert language.spoken("unknown run 'x'; `python -m research runs` lists the saved ones") == "Unknown run 'x'"


OLD = Citation(3, "It is so.", "unverified", reason="the source does not state 5 km", by="rules")


@pytest.mark.parametrize(
    ("saved", "shown"),
    [
        (OLD, "规则无法判定，也未经模型核查"),
        (replace(OLD, status="dead", reason="no source has the number 3", by=""), "没有这个编号的来源"),
        (replace(OLD, reasons=(Reason("the source says {other}", (("other", "x"),)),)), "规则无法判定，也未经模型核查"),
        (replace(OLD, status="contradicted"), ""),
        (replace(OLD, status="calculated", reason="3 + 4 = 7"), "3 + 4 = 7"),
        (
            replace(OLD, status="supported", reason="", judgements=(Judgement("model:openai:m", "supported", quote="So."),)),
            "由 openai:m 判断：是；依据：“So.”",
        ),
    ],
)  # fmt: skip
def test_a_reason_that_an_older_version_saved_is_in_the_language_of_the_page(
    monkeypatch: pytest.MonkeyPatch, saved: Citation, shown: str
) -> None:
    assert cite.reason_text(saved) in (saved.reason, "judged by openai:m: yes; because “So.”")
    monkeypatch.setattr(language, "current", lambda: "zh")
    assert cite.reason_text(saved) == shown


def test_what_a_query_took_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = replace(OLD, status="calculated", reason="140: SELECT SUM(y_2025) FROM r")
    quote = "Result of SELECT SUM(y_2025) FROM r\n2025: 140\nRows used: r.csv › C2:C5 (4 rows)"
    monkeypatch.setattr(language, "current", lambda: "en")
    assert cite.reason_text(asked) == "a query over these rows gives 140"
    assert cite.lines(quote) == ["2025: 140", "From 4 rows of r.csv › C2:C5"]
    monkeypatch.setattr(language, "current", lambda: "zh")
    assert cite.reason_text(asked) == "查询这些行得出 140"
    assert cite.lines(quote) == ["2025: 140", "取自 r.csv › C2:C5 的 4 行"]


def test_what_a_judge_said_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "current", lambda: "en")
    open_, said = Citation(1, "A", "unverified", by="rules"), Judgement("model:m", "supported", quote="So it is.")
    found = fused(open_, said)
    assert cite.reason_text(found) == "judged by m: yes; because “So it is.”"
    assert cite.opinions(found) == ["the rules: not verified"]
    kept = fused(replace(open_, status="supported", reason="word for word"), said)
    assert cite.reason_text(kept) == "word for word"
    assert cite.sentence(kept.status, cite.reason_text(kept)) == "Supported: word for word."
    assert cite.sentence("supported", "") == "Supported: the quote states this."
    assert cite.opinions(kept) == ["the rules: supported", "judged by m: yes; because “So it is.”"]


def test_the_pages_read_the_catalogue_that_make_words_updates() -> None:
    assert LOCALE / "zh.po" == FILE
