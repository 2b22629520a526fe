"""A misconfigured login keeps everyone out, and signed-out users see only the login button."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit import config
from streamlit.testing.v1 import AppTest

from pages.parts.shared import account
from pages.parts.shared import home as open_home
from research.errors import ConfigError
from research.store.sqlite import SqliteStore
from tests.workers import LONG_S

ROOT = Path(__file__).parents[2]
PAGES = ["ask", "compare", "runs", "memory", "library", "settings"]
GOOD = {
    "redirect_uri": "http://localhost:8501/oauth2callback", "cookie_secret": "0123456789abcdef" * 2, "client_id": "x",
    "client_secret": "y", "server_metadata_url": "http://localhost:1/.well-known/openid-configuration",
}  # fmt: skip

Told = Callable[[str], AppTest]


def toml(section: dict[str, str]) -> str:
    return "[auth]\n" + "".join(f'{name} = "{value}"\n' for name, value in section.items())


def without(name: str) -> str:
    return toml({each: value for each, value in GOOD.items() if each != name})


@pytest.fixture
def told(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    """Open the app, or one page alone, with the given secrets."""
    monkeypatch.setenv("WORKBENCH_HOME", str(home))
    path, before = tmp_path / "secrets.toml", config.get_option("secrets.files")
    st.cache_resource.clear()
    config._set_option("secrets.files", [str(path)], "a test")

    def start(secrets: str, script: str = "app.py") -> AppTest:
        path.write_text(secrets)
        st.secrets._reset()  # type: ignore[attr-defined]
        return AppTest.from_file(ROOT / script, default_timeout=LONG_S).run()

    yield start
    config._set_option("secrets.files", before, "a test")
    st.secrets._reset()  # type: ignore[attr-defined]
    st.cache_resource.clear()


def nothing_but(app: AppTest, *buttons: str) -> None:
    """Check that the page shows these buttons and nothing else."""
    assert not app.exception
    assert [each.label for each in app.button] == list(buttons)
    assert not app.text_area and not app.text_input and not app.selectbox and not app.expander


@pytest.mark.parametrize(
    ("secrets", "reason"),
    [
        *((without(each), each) for each in GOOD),
        (
            toml({**GOOD, "cookie_secret": "0123456789abcdef" * 2}).replace("0123456789abcdef" * 2, "short"),
            "cookie_secret",
        ),
        (toml({**GOOD, "redirect_uri": "http://localhost:8501/"}), "redirect_uri"),
        ("[auth]\n", "empty"),
        ("auth = true\n", "empty"),
        ("auth = ''\n", "empty"),
        ("[auth\n", "cannot be read"),
        (toml(GOOD) + "[auth.my_own]\nclient_id = 'x'\n", "underscore"),
        (toml(GOOD) + "[auth.other]\nclient_id = 'x'\n", "client_secret"),
    ],
)
def test_a_misconfigured_login_keeps_everyone_out(told: Told, home: Path, secrets: str, reason: str) -> None:
    app = told(secrets)
    nothing_but(app)
    assert reason in app.error[0].value.replace("\\", "")
    assert GOOD["cookie_secret"] not in app.error[0].value
    assert not (home / "workbench.sqlite").exists()


def test_a_login_without_its_library_keeps_everyone_out(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "authlib", None)
    app = told(toml(GOOD))
    nothing_but(app)
    assert "needs the extra [login]" in app.error[0].value.replace("\\", "")


@pytest.mark.parametrize("page", PAGES)
def test_signed_out_users_see_only_the_login_button_on_every_page(told: Told, home: Path, page: str) -> None:
    app = told(toml(GOOD))
    nothing_but(app, "Log in")
    app.query_params["run"] = "x"
    app.switch_page(f"pages/{page}.py").run()
    nothing_but(app, "Log in")
    assert not (home / "workbench.sqlite").exists() and not (home / "users").exists()


def test_query_parameters_cannot_sign_a_user_in(told: Told) -> None:
    app = told(toml(GOOD))
    for name in ("is_logged_in", "user", "email", "sub", "iss", "WORKBENCH_USER"):
        app.query_params[name] = "true"
    nothing_but(app.run(), "Log in")


def test_each_login_provider_has_its_button(told: Told) -> None:
    keys = {each: GOOD[each] for each in ("client_id", "client_secret", "server_metadata_url")}
    shared = {each: GOOD[each] for each in ("redirect_uri", "cookie_secret")}
    named = "".join(toml(keys).replace("[auth]", f"[auth.{name}]") for name in ("one", "two"))
    nothing_but(told(toml(shared) + named), "Log in with one", "Log in with two")


def test_without_login_the_app_is_open(told: Told) -> None:
    app = told('TAVILY_API_KEY = ""\n')
    assert app.text_area(key="question") and not [each for each in app.button if each.key == "log-out"]


def test_login_stays_on_while_its_file_is_edited(told: Told) -> None:
    told(toml(GOOD))
    nothing_but(told(""), "Log in")


def test_a_run_that_is_no_longer_shared_cannot_be_exported(home: Path) -> None:
    store = SqliteStore(home / "workbench.sqlite")
    with pytest.raises(ConfigError, match="not shared any more"):
        open_home._shared_events("t" * 32, "261121-120000-abcd", store, store)
    store.close()


ALLOWED = "alice@example.org, @team.example.org"


@pytest.mark.parametrize(
    ("email", "verified", "expected"),
    [
        ("alice@example.org", True, True),
        ("Alice@Example.ORG", True, True),
        ("bob@team.example.org", True, True),
        ("alice@example.org", False, False),
        ("bob@example.org", True, False),
        ("bob@notteam.example.org", True, False),
        ("bob@sub.team.example.org", True, False),
        ("x@evil.org@team.example.org", True, False),
        ("@team.example.org", True, False),
        ("team.example.org", True, False),
        ("", True, False),
    ],
)
def test_only_verified_addresses_on_the_list_are_let_in(email: str, verified: bool, expected: bool) -> None:
    assert account.welcome(ALLOWED, email, verified) is expected


def test_an_allow_list_without_addresses_lets_no_one_in() -> None:
    assert account.welcome("", "a@b.org", False)
    assert not account.welcome(" , ", "a@b.org", True)
