"""Saved settings: readable only by their owner, overridden by every other source, and keys never sent elsewhere."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from research.config import saved_settings
from research.config.settings import SAVED_FILE, Settings, load
from research.errors import ConfigError
from research.ops import disk_usage
from research.workbench import diagnostics
from research.workbench.workbench import Workbench

KEY = "sk-canary-0123456789"


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start in a folder without a `.env` and with an empty `.streamlit`."""
    place = tmp_path / "started-in"
    (place / ".streamlit").mkdir(parents=True)
    monkeypatch.chdir(place)
    monkeypatch.setitem(Settings.model_config, "env_file", ".env")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(home=tmp_path / "home")


def key_of(settings: Settings) -> str | None:
    return settings.openai_api_key.get_secret_value() if settings.openai_api_key else None


# Saving and removing


def test_saved_values_are_loaded_afterwards(settings: Settings) -> None:
    now = saved_settings.save(
        settings, openai_api_key=f" {KEY}\n", model="openai:fake", search_cache_s=60, openai_send_reasoning=True
    )
    for each in (now, load(home=settings.home)):
        assert key_of(each) == KEY
        assert (each.model, each.search_cache_s, each.openai_send_reasoning) == ("openai:fake", 60, True)
        assert (each.origin("openai_api_key"), each.origin("reader")) == ("saved", "default")


def test_saving_makes_the_file_readable_only_by_its_owner(settings: Settings) -> None:
    saved_settings.save(settings, openai_api_key=KEY)
    path = settings.home / SAVED_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    assert any("chmod 600" in check.text for check in diagnostics.examine_settings(Workbench(load(home=settings.home))))
    saved_settings.save(load(home=settings.home), tavily_api_key=KEY)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_removed_key_is_deleted_from_the_disk(settings: Settings) -> None:
    now = saved_settings.forget(
        saved_settings.save(settings, openai_api_key=KEY, model="openai:fake"), "openai_api_key"
    )
    assert key_of(now) is None
    assert now.model == "openai:fake"
    assert not [path for path in settings.home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_hand_written_comments_and_values_are_preserved(settings: Settings) -> None:
    path = settings.home / SAVED_FILE
    path.write_text('# mine\nWORKBENCH_READER = "jina"  # slow pages\nOPENAI_API_KEY = "sk-by-hand"\n', "utf-8")
    by_hand = load(home=settings.home)
    assert (by_hand.reader, key_of(by_hand)) == ("jina", "sk-by-hand")
    saved_settings.save(by_hand, model="openai:x")
    assert "# mine\n" in path.read_text("utf-8")
    assert "# slow pages" in path.read_text("utf-8")


def test_concurrent_saves_are_all_kept(settings: Settings) -> None:
    fields = ["tavily_api_key", "brave_api_key", "serper_api_key", "jina_api_key", "openalex_api_key", "openai_api_key"]
    threads = [threading.Thread(target=saved_settings.save, args=(settings,), kwargs={field: KEY}) for field in fields]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {load(home=settings.home).origin(field) for field in fields} == {"saved"}


# Order of the sources


def test_the_saved_file_has_the_lowest_priority(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    saved_settings.save(settings, model="saved:m", reader="jina", python_tool="monty", gguf_context=1024)
    Path(".streamlit/secrets.toml").write_text('WORKBENCH_MODEL = "secret:m"\nWORKBENCH_READER = "direct"\n', "utf-8")
    Path(".env").write_text("WORKBENCH_MODEL=dotenv:m\nWORKBENCH_PYTHON=cpython\n", "utf-8")
    monkeypatch.setenv("WORKBENCH_MODEL", "environment:m")
    now = load(home=settings.home)
    found = {
        name: (getattr(now, name), now.origin(name)) for name in ("model", "reader", "python_tool", "gguf_context")
    }
    assert found == {
        "model": ("environment:m", "environment"),
        "reader": ("direct", "secrets.toml"),
        "python_tool": ("cpython", ".env"),
        "gguf_context": (1024, "saved"),
    }
    assert load(home=settings.home, model="argument:m").model == "argument:m"


@pytest.mark.parametrize("field", ["model", "openai_api_key"])
def test_a_setting_from_another_source_cannot_be_saved(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    monkeypatch.setenv({"model": "WORKBENCH_MODEL"}.get(field, "OPENAI_API_KEY"), "elsewhere")
    now = load(home=settings.home)
    assert "set by environment" in saved_settings.why_locked(now, field)
    with pytest.raises(ConfigError, match="set by environment"):
        saved_settings.save(now, **{field: "here"})
    assert not (settings.home / SAVED_FILE).exists()


def test_an_empty_environment_variable_counts_as_unset(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert key_of(saved_settings.save(load(home=settings.home), openai_api_key=KEY)) == KEY


@pytest.mark.parametrize("field", ["home", "allow_hosts", "lock_settings", "nonsense"])
def test_administrator_settings_cannot_be_saved(settings: Settings, field: str) -> None:
    with pytest.raises(ConfigError, match="cannot be saved"):
        saved_settings.save(settings, **{field: "/elsewhere"})
    (settings.home / SAVED_FILE).write_text(f'WORKBENCH_{field.upper()} = "x"\n', "utf-8")
    with pytest.raises(ConfigError, match=f"{SAVED_FILE} contains WORKBENCH_{field.upper()}"):
        load(home=settings.home)


def test_locked_settings_cannot_be_saved_or_removed(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    saved_settings.save(settings, tavily_api_key=KEY)
    monkeypatch.setenv("WORKBENCH_LOCK_SETTINGS", "1")
    locked = load(home=settings.home)
    before = (settings.home / SAVED_FILE).read_bytes()
    for change in (
        lambda: saved_settings.save(locked, model="x:y"),
        lambda: saved_settings.forget(locked, "tavily_api_key"),
    ):
        with pytest.raises(ConfigError, match="WORKBENCH_LOCK_SETTINGS"):
            change()
    assert (settings.home / SAVED_FILE).read_bytes() == before


# A key and its URL


def test_a_key_saved_for_the_default_url_is_withheld_from_another(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved_settings.save(settings, openai_api_key=KEY, tavily_api_key=KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://other.example/v1")
    monkeypatch.setenv("TAVILY_URL", "http://other.example")
    now = load(home=settings.home)
    assert (now.openai_api_key, now.tavily_api_key) == (None, None)
    assert now.withheld == {"openai_api_key", "tavily_api_key"}


def test_a_key_from_another_source_is_never_sent_to_a_saved_url(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved_settings.save(settings, openai_base_url="http://evil.example/v1", serper_url="http://evil.example")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    now = load(home=settings.home)
    assert (now.openai_base_url, now.withheld) == (None, {"openai_base_url"})
    with pytest.raises(ConfigError, match="a key is never sent to an address"):
        saved_settings.save(now, openai_base_url="http://evil.example/v2")
    with pytest.raises(ConfigError, match="a key is never sent"):
        saved_settings.save(load(home=settings.home, brave_api_key=KEY), brave_url="http://evil.example")
    assert saved_settings.forget(now, "openai_base_url").withheld == frozenset()


# Errors


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("openai_api_key", "sk-two words", "OPENAI_API_KEY contains white space"),
        ("openai_api_key", "sk-ключ", "OPENAI_API_KEY contains"),
        ("openai_api_key", "  ", "OPENAI_API_KEY is empty"),
        ("openai_base_url", "ftp://host", "OPENAI_BASE_URL 'ftp://host' cannot be used; accepted: http"),
        ("searxng_url", "http://user:secret@host", "SEARXNG_URL 'host' cannot be used"),
        ("reader", "browser", "WORKBENCH_READER: Input should be 'direct' or 'jina'"),
        ("gguf_context", 3, "WORKBENCH_GGUF_CONTEXT: Input should be greater than or equal to 512"),
        ("search_cache_s", -1, "WORKBENCH_SEARCH_CACHE_S: Input should be greater"),
    ],
)
def test_an_invalid_value_is_reported_and_changes_nothing(
    settings: Settings, field: str, value: str, said: str
) -> None:
    now = saved_settings.save(settings, model="openai:kept")
    before = (settings.home / SAVED_FILE).read_bytes()
    with pytest.raises(ConfigError) as error:
        saved_settings.save(now, **{"model": "openai:new", field: value})
    assert said in str(error.value)
    for secret in ("two words", "ключ", "secret"):
        assert secret not in str(error.value)
    assert error.value.__cause__ is None or str(value) not in str(error.value.__cause__)
    assert (settings.home / SAVED_FILE).read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        f'OPENAI_API_KEY = "{KEY}\n',
        "\x00\x01",
        f'OPENAI_API_KEY = "{KEY}"\nOPENAI_API_KEY = "{KEY}"\n',
        f'OPENAI_API_KY = "{KEY}"\n',
        f'[OPENAI_API_KEY]\nkey = ["{KEY}"]\n',
        f'WORKBENCH_MODEL = {{key = "{KEY}"}}\n',
    ],
)
def test_a_damaged_file_is_reported_left_unchanged_and_not_quoted(settings: Settings, damage: str) -> None:
    path = settings.home / SAVED_FILE
    path.write_text(damage, "utf-8")
    for attempt in (lambda: load(home=settings.home), lambda: saved_settings.save(settings, model="x:y")):
        with pytest.raises(ConfigError, match="repair it, or delete it") as error:
            attempt()
        assert str(path) in str(error.value)
        assert KEY not in f"{error.value} {error.value.__cause__}"
    assert path.read_text("utf-8") == damage


def test_an_invalid_value_in_the_file_is_located_but_not_quoted(settings: Settings) -> None:
    (settings.home / SAVED_FILE).write_text("OPENAI_API_KEY = 123456789\n", "utf-8")
    with pytest.raises(ConfigError, match=f"OPENAI_API_KEY in {SAVED_FILE}") as error:
        load(home=settings.home)
    assert "123456789" not in f"{error.value} {error.value.__cause__}"


def test_a_damaged_secrets_file_is_reported(settings: Settings) -> None:
    Path(".streamlit/secrets.toml").write_text("WORKBENCH_MODEL = ", "utf-8")
    with pytest.raises(ConfigError, match=r"secrets\.toml is damaged"):
        load(home=settings.home)


# Reloading the workbench


def test_a_failed_reload_changes_nothing(settings: Settings) -> None:
    bench = Workbench(settings)
    (settings.home / SAVED_FILE).write_text("?", "utf-8")
    with pytest.raises(ConfigError):
        bench.reload()
    assert bench.settings is settings


def test_arguments_survive_a_reload(settings: Settings) -> None:
    bench = Workbench(load(home=settings.home, model="openai:argument"))
    saved_settings.save(settings, model="openai:saved")
    bench.reload()
    assert (bench.settings.model, bench.settings.home) == ("openai:argument", settings.home)


# Doctor and disk usage


def test_doctor_lists_saved_settings_and_those_that_have_no_effect(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = list(diagnostics.examine_settings(Workbench(settings)))
    assert [check.state for check in checks] == ["off"]
    saved_settings.save(settings, tavily_api_key=KEY, model="openai:x", openai_base_url="http://localhost:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = [(check.state, check.text) for check in diagnostics.examine_settings(Workbench(load(home=settings.home)))]
    assert said[0] == ("ok", f"{settings.home / SAVED_FILE} sets WORKBENCH_MODEL, TAVILY_API_KEY")
    assert said[1][0] == "broken"
    assert said[1][1].startswith("OPENAI_BASE_URL in settings.toml is ignored")
    assert KEY not in str(said)


def test_disk_usage_is_listed_by_part_and_can_be_freed(settings: Settings) -> None:
    bench = Workbench(settings)
    assert bench.store.runs() == []
    (settings.home / "search-cache.sqlite").write_bytes(b"x" * 50_000)
    (settings.home / "uploads").mkdir()
    (settings.home / "uploads" / "paper.pdf").write_bytes(b"x" * 7_000)
    sizes = {part.name: part.bytes for part in disk_usage.parts(settings.home)}
    assert sizes["Kept search results"] == 50_000
    assert sizes["Uploads"] == 7_000
    assert disk_usage.clean(settings.home) >= 50_000
    assert {part.name for part in disk_usage.parts(settings.home)} >= {"Runs", "Uploads"}
    assert bench.store.runs() == []
    assert disk_usage.free(settings.home) > 0
