"""Login and logout, and the pages for users who are not logged in.

Login is enabled by an [auth] section in `.streamlit/secrets.toml` and is Streamlit's own: it verifies the identity
with the provider and keeps it in a signed cookie.
Nothing else is trusted, least of all the page address.
Any configuration error locks everyone out.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import streamlit as st
from msgspec import Struct
from streamlit.auth_util import (
    get_cookie_with_chunks,
    get_redirect_uri,
    get_secrets_auth_section,
    validate_auth_credentials,
)
from streamlit.errors import StreamlitAuthError, StreamlitSecretNotFoundError
from streamlit.navigation.page import StreamlitPage
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value, decode_xsrf_token_string
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from pages.parts.shared.language import t
from pages.parts.shared.safe import plain
from research._util import extras
from research.config import users
from research.config.settings import Settings, load
from research.errors import REFUSED, ConfigError
from research.text import clip

BROWSER: Final = "_streamlit_xsrf"
"""Streamlit's cookie that identifies a browser even before login."""
SECRET = 32
"""Minimum length of the cookie secret, because anyone who guesses it can log in as anyone."""
CALLBACK = "/oauth2callback"
KEPT: Final = 10_000
"""Maximum number of ended logins and of pending links kept."""
WANTED_S, WANTED = 900.0, 2_000
"""How long a link waits for the login, and its maximum length in characters."""


class Person(Struct, frozen=True):
    """A logged-in user."""

    key: str
    """See `research.config.users`."""
    name: str
    email: str


def person() -> Person | None:
    """Return the current user, or None if login is disabled.

    Stops the script of the page if no user is logged in.
    """
    state = _state()
    if callable(state):
        state()
        st.stop()
    return state


def inside() -> bool:
    """Return whether the pages may be shown."""
    return not callable(_state())


def configured() -> bool:
    """Return whether login is enabled.

    Raises `ConfigError` if its configuration is incomplete.
    """
    return bool(_providers())


def visitor(cookies: Mapping[str, str]) -> str | None:
    """Return the key of the user whose signed cookies a request carries, None for anyone else; "" if login is disabled.

    For requests outside a page's script; the pages ask `person`.
    """
    try:
        if not _providers():
            return ""
        found = _judged(_claims(cookies))
    except REFUSED:
        return None
    return found.key if isinstance(found, Person) else None


def origins() -> tuple[str, ...]:
    """Return the origin of the app as configured for the provider; empty if login is disabled or incomplete."""
    try:
        return ("{0.scheme}://{0.netloc}".format(urlsplit(address())),) if _providers() else ()
    except REFUSED:
        return ()


def _claims(cookies: Mapping[str, str]) -> dict[str, Any]:
    """Return the claims in the signed cookie, as Streamlit reads them for `st.user`; empty without a valid one."""

    def signed(name: str) -> bytes | None:
        return decode_signed_value(get_cookie_secret(), name, cookies.get(name, "").encode("latin-1", "replace"))

    found = get_cookie_with_chunks(signed, USER_COOKIE_NAME)
    try:
        claims = json.loads(found) if found else {}
    except ValueError:
        return {}
    if not isinstance(claims, dict) or claims.pop("origin", None) not in origins():
        return {}
    return claims


def gate(pages: Sequence[StreamlitPage], opened: StreamlitPage) -> None:
    """Redirect signed-out users to the login page, then to the page they wanted; providers always return to the start
    page.
    """
    browser, _ = decode_xsrf_token_string(st.context.cookies.get(BROWSER, ""))
    query = {name: st.query_params.get_all(name) for name in st.query_params}
    if not inside():
        if browser and (query or opened.url_path) and len(repr(query)) <= WANTED:
            _make_room(_wanted())[browser] = opened.url_path, query, time.time()
        person()
    elif person() and "arrived" not in st.session_state:
        st.session_state["arrived"] = True
        path, query_then, then = _wanted().pop(browser, ("", {}, 0.0)) if browser else ("", {}, 0.0)
        if time.time() - then < WANTED_S and not opened.url_path and not query.keys() - {"lang"}:
            st.switch_page(next(each for each in pages if each.url_path == path), query_params=query_then)


def draw() -> None:
    """Draw the user's name and the logout button at the top of every page."""
    who = person()
    if who is None:
        return
    place = st.container(key="account")
    with place, st.popover(plain(clip(who.name, 40)), icon=":material/account_circle:", type="tertiary"):
        st.caption(t("Logged in as {who}", who=plain(clip(who.email or who.name, 200))))
        st.button(t("Log out"), key="log-out", icon=":material/logout:", on_click=_log_out)


@st.cache_resource(show_spinner=False)
def settings() -> Settings:
    """Return the settings of the whole workbench.

    Raises `ConfigError`.
    """
    return load()


def address() -> str:
    """Return the address of the app as configured for the provider, ending with a slash."""
    return str(get_redirect_uri(get_secrets_auth_section())).removesuffix(CALLBACK) + "/"


def _state() -> Person | Callable[[], None] | None:
    """Return the user, None if login is disabled, or a function that draws the page for a signed-out user."""
    try:
        if not _providers():
            return None
        return _judged(st.user.to_dict())
    except REFUSED as error:
        reason = str(error)
        return lambda: _unavailable(reason)


def _judged(claims: Mapping[str, Any]) -> Person | Callable[[], None]:
    """Return the user with these claims, or a function that draws the page for a signed-out user.

    Raises `ConfigError` if login is configured but cannot work.
    """
    providers, allowed = _providers(), settings().allow_users
    if claims.get("is_logged_in") is not True or _login(claims) in _ended():
        return lambda: _welcome(providers)
    try:
        key = users.key_of(str(claims.get("iss") or ""), str(claims.get("sub") or ""))
    except REFUSED as error:
        reason = str(error)
        return lambda: _unavailable(reason)
    email = str(claims.get("email") or "")
    if not welcome(allowed, email, claims.get("email_verified") is True):
        return lambda: _refused(email)
    name = next((str(claims[each]) for each in ("name", "preferred_username", "email") if claims.get(each)), key)
    return Person(key, name, email)


def welcome(allowed: str, email: str, verified: bool) -> bool:
    """Return whether `WORKBENCH_ALLOW_USERS` admits this address, by itself or by its `@domain`."""
    wanted = [each.strip().casefold() for each in allowed.split(",") if each.strip()]
    if not wanted:
        return not allowed.strip()
    name, at, domain = email.casefold().partition("@")
    return (
        verified and bool(name and domain) and "@" not in domain and bool({name + at + domain, at + domain} & {*wanted})
    )


@st.cache_resource(show_spinner=False)
def _providers() -> tuple[str, ...]:
    """Return the configured login providers, or an empty tuple if login is disabled.

    Cached, so that editing the file cannot open a running server.
    Raises `ConfigError` if login is configured but cannot work.
    """
    try:
        section: dict[str, Any] | None = st.secrets.to_dict().get("auth")
    except StreamlitSecretNotFoundError as error:
        if error.error_id == "no-secrets-found":
            return ()
        raise ConfigError(f"secrets.toml cannot be read, so no user can log in; repair the file: {error}") from error
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
    extras.need("login", "[auth] in secrets.toml")
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
        st.title(t("Research Workbench"), anchor=False)
        st.markdown(t("Researches your question and answers with checked sources. Only you can see what you ask."))
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
            t(
                "{who} doesn't have access to this workbench. Ask its administrator.",
                who=plain(clip(email, 200)) or t("This account"),
            ),
            title=t("No access"),
        )
        st.button(t("Log out"), key="log-out", icon=":material/logout:", on_click=_log_out)


def _unavailable(reason: str) -> None:
    with st.container(key="welcome"):
        st.error(plain(reason), title=t("Login is unavailable"))


# -- what is remembered -------------------------------------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def _wanted() -> dict[bytes, tuple[str, dict[str, list[str]], float]]:
    """Return page, parameters and time of the link that each browser opened before login."""
    return {}


@st.cache_resource(show_spinner=False)
def _ended() -> dict[str, float]:
    """Return the ended logins with their end times."""
    return {}


def _log_out() -> None:
    """End this login for good, also in other tabs and for copies of its cookie."""
    _make_room(_ended())[_login(st.user.to_dict())] = time.time()
    st.logout()


def _login(claims: Mapping[str, Any]) -> str:
    """Return a digest that is unique to each login: its claims are signed and contain a random number."""
    own = {name: value for name, value in claims.items() if name != "tokens"}  # which only the pages see
    return hashlib.sha256(json.dumps(own, sort_keys=True, default=str).encode()).hexdigest()


def _make_room(kept: dict[Any, Any]) -> dict[Any, Any]:
    """Return the same dictionary after dropping the oldest items, so that one more fits."""
    while len(kept) >= KEPT:
        kept.pop(next(iter(kept)), None)
    return kept
