"""Who is looking: log in, log out, and the page for whoever is outside.

Login is there when `.streamlit/secrets.toml` has an [auth] section, and is Streamlit's own: it checks the identity with the
provider and keeps it in a signed cookie.  Nothing here believes anything else, least of all the address.  Whatever is
wrong keeps everybody out.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import streamlit as st
from msgspec import Struct
from streamlit.auth_util import (
    get_redirect_uri,
    get_secrets_auth_section,
    is_authlib_installed,
    validate_auth_credentials,
)
from streamlit.errors import StreamlitAuthError, StreamlitSecretNotFoundError
from streamlit.navigation.page import StreamlitPage
from streamlit.web.server.starlette.starlette_app_utils import decode_xsrf_token_string

from pages.parts.language import t
from pages.parts.safe import plain
from research import users
from research.errors import REFUSED, ConfigError
from research.settings import Settings, load
from research.text import clip

BROWSER: Final = "_streamlit_xsrf"
"""Streamlit's cookie that tells browsers apart, also before anybody has logged in."""
SECRET = 32
"""Characters of a cookie secret that nobody finds by trying: who has it can be anyone."""
CALLBACK = "/oauth2callback"
KEPT: Final = 10_000
"""Ended logins that are remembered, and links that wait for one."""
WANTED_S, WANTED = 900.0, 2_000
"""How long a link waits for a login, and how many characters it may have."""


class Person(Struct, frozen=True):
    """Who has logged in."""

    key: str
    """See `research.users`."""
    name: str
    email: str


def person() -> Person | None:
    """Who is looking; None where there is no login.  Ends the page for whoever is outside."""
    standing = _standing()
    if callable(standing):
        standing()
        st.stop()
    return standing


def inside() -> bool:
    """Whether the pages are to be shown at all."""
    return not callable(_standing())


def configured() -> bool:
    """Whether there is a login.  Raises `ConfigError` where it is not whole."""
    return bool(_providers())


def gate(pages: Sequence[StreamlitPage], opened: StreamlitPage) -> None:
    """Keep out who is outside, and lead who comes in to where he wanted to go: a provider sends everybody to the start."""
    browser, _ = decode_xsrf_token_string(st.context.cookies.get(BROWSER, ""))
    query = {name: st.query_params.get_all(name) for name in st.query_params}
    if not inside():
        if browser and (query or opened.url_path) and len(repr(query)) <= WANTED:
            _forgetful(_wanted())[browser] = opened.url_path, query, time.time()
        person()
    elif person() and "arrived" not in st.session_state:
        st.session_state["arrived"] = True
        path, query_then, then = _wanted().pop(browser, ("", {}, 0.0)) if browser else ("", {}, 0.0)
        if time.time() - then < WANTED_S and not opened.url_path and not query.keys() - {"lang"}:
            st.switch_page(next(each for each in pages if each.url_path == path), query_params=query_then)


def draw() -> None:
    """In the head of every page: the user's name, with the way out."""
    who = person()
    if who is None:
        return
    place = st.container(key="account")
    with place, st.popover(plain(clip(who.name, 40)), icon=":material/account_circle:", type="tertiary"):
        st.caption(t("Logged in as {who}", who=plain(clip(who.email or who.name, 200))))
        st.button(t("Log out"), key="log-out", icon=":material/logout:", on_click=_log_out)


@st.cache_resource(show_spinner=False)
def settings() -> Settings:
    """Those of the workbench as a whole.  Raises `ConfigError`."""
    return load()


def address() -> str:
    """Where the app is, as its administrator wrote it down for the provider; ends with a slash."""
    return str(get_redirect_uri(get_secrets_auth_section())).removesuffix(CALLBACK) + "/"


def _standing() -> Person | Callable[[], None] | None:
    """Who is looking; None where there is no login; what to draw for whoever is outside."""
    try:
        providers = _providers()
        allowed = settings().allow_users if providers else ""
    except REFUSED as error:
        reason = str(error)
        return lambda: _broken(reason)
    if not providers:
        return None
    claims = st.user.to_dict()
    if claims.get("is_logged_in") is not True or _login(claims) in _ended():
        return lambda: _welcome(providers)
    try:
        key = users.key_of(str(claims.get("iss") or ""), str(claims.get("sub") or ""))
    except REFUSED as error:
        reason = str(error)
        return lambda: _broken(reason)
    email = str(claims.get("email") or "")
    if not welcome(allowed, email, claims.get("email_verified") is True):
        return lambda: _refused(email)
    name = next((str(claims[each]) for each in ("name", "preferred_username", "email") if claims.get(each)), key)
    return Person(key, name, email)


def welcome(allowed: str, email: str, verified: bool) -> bool:
    """Whether `WORKBENCH_ALLOW_USERS` lets somebody in: by his address, or by all of `@a.domain`."""
    wanted = [each.strip().casefold() for each in allowed.split(",") if each.strip()]
    if not wanted:
        return not allowed.strip()
    name, at, domain = email.casefold().partition("@")
    return (
        verified and bool(name and domain) and "@" not in domain and bool({name + at + domain, at + domain} & {*wanted})
    )


@st.cache_resource(show_spinner=False)
def _providers() -> tuple[str, ...]:
    """The providers that can be logged in with; none where there is no login.

    Asked once: a file that is being edited opens nothing.  Raises `ConfigError` where login is wanted and cannot work.
    """
    try:
        section: dict[str, Any] | None = st.secrets.to_dict().get("auth")
    except StreamlitSecretNotFoundError as error:
        if error.error_id == "no-secrets-found":
            return ()
        raise ConfigError(f"secrets.toml cannot be read, so that nobody can log in: {error}") from error
    if section is None:
        return ()
    if not isinstance(section, dict) or not section:
        raise ConfigError("secrets.toml: [auth] is empty; docs/login.md says what it needs")
    _check(section)
    named = [name for name, value in section.items() if isinstance(value, dict) and "client_id" in value]
    providers = [*(["default"] if "client_id" in section or not named else []), *named]
    for name in providers:
        try:
            validate_auth_credentials(name)
        except StreamlitAuthError as error:
            raise ConfigError(f"secrets.toml: {' '.join(str(error).split())}") from error
    return tuple(providers)


def _check(section: dict[str, Any]) -> None:
    if not is_authlib_installed():
        raise ConfigError("secrets.toml has an [auth] section, but Authlib is not installed; requirements.txt names it")
    if len(str(section.get("cookie_secret", ""))) < SECRET:
        raise ConfigError(
            f"secrets.toml: cookie_secret in [auth] needs at least {SECRET} random characters; who can guess it can be "
            "anyone here"
        )
    if not str(section.get("redirect_uri", "")).endswith(CALLBACK):
        raise ConfigError(f"secrets.toml: redirect_uri in [auth] is the address of the app followed by {CALLBACK}")


# -- who is outside ---------------------------------------------------------------------------------------------------


def _welcome(providers: tuple[str, ...]) -> None:
    with st.container(key="welcome", gap="small"):
        st.header(t("Research Workbench"), anchor=False)
        st.markdown(
            t(
                "Asks a question for you, reads, and answers with sources that were checked. What you ask is yours alone."
            )
        )
        with st.container(gap="xsmall"):
            for name in providers:
                label = t("Log in") if len(providers) == 1 else t("Log in with {provider}", provider=plain(name))
                st.button(
                    label,
                    key=f"log-in-{name}",
                    type="primary",
                    icon=":material/login:",
                    on_click=st.login,
                    args=(name,),
                )


def _refused(email: str) -> None:
    with st.container(key="welcome", gap="small"):
        st.error(
            t("{who} is not among those who may use this workbench. Its administrator can change that.",
              who=plain(clip(email, 200)) or t("This account")),
            title=t("No access"),
        )  # fmt: skip
        st.button(t("Log out"), key="log-out", icon=":material/logout:", on_click=_log_out)


def _broken(reason: str) -> None:
    with st.container(key="welcome"):
        st.error(plain(reason), title=t("Nobody can log in"))


# -- what is remembered -------------------------------------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def _wanted() -> dict[bytes, tuple[str, dict[str, list[str]], float]]:
    """Page, parameters and time of the link that a browser opened before anybody had logged in there."""
    return {}


@st.cache_resource(show_spinner=False)
def _ended() -> dict[str, float]:
    """Logins that are over, and since when."""
    return {}


def _log_out() -> None:
    """For good: this login opens nothing any more, also not in other tabs, nor for somebody who has kept its cookie."""
    _forgetful(_ended())[_login(st.user.to_dict())] = time.time()
    st.logout()


def _login(claims: Mapping[str, Any]) -> str:
    """A digest that each login has for itself: its claims are signed, and hold the number that was drawn for it."""
    return hashlib.sha256(json.dumps(claims, sort_keys=True, default=str).encode()).hexdigest()


def _forgetful(kept: dict[Any, Any]) -> dict[Any, Any]:
    """The same with room for one more: the oldest goes."""
    while len(kept) >= KEPT:
        kept.pop(next(iter(kept)), None)
    return kept
