"""The named endpoints: one row each with its last test, and a dialog that adds one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.parts.settings import trials
from pages.parts.settings.services import ORIGINS as KEYS
from pages.parts.settings.services import frame
from pages.parts.shared import models, offers, undo
from pages.parts.shared.language import later, spoken, t
from pages.parts.shared.safe import plain
from pages.parts.shared.table import rows_frame
from pages.parts.shared.words import ago
from research.config import saved_endpoints
from research.config.named_endpoints import BY_SETTINGS, Entry, presets
from research.config.settings import Settings
from research.errors import REFUSED, ConfigError
from research.workbench import endpoint_registry, model_trial
from research.workbench.diagnostics import Check
from research.workbench.endpoint_registry import Listed
from research.workbench.model_trial import Trial
from research.workbench.workbench import Workbench

PATIENCE_S: Final = 1800.0
"""A model on this machine may have to be loaded first, and reads the long prompt for minutes."""
_ADDING: Final = "adding-endpoint"
_OTHER: Final = ""
ORIGINS: Final = {
    "settings": later("from the settings of the section Models"),
    "list": later("from WORKBENCH_ENDPOINTS"),
    "saved": later("saved here"),
}


def draw(bench: Workbench) -> None:
    """Draw the rows, and the buttons that add one or look for servers."""
    st.caption(
        t(
            "An endpoint is a model service with a name of your choice. Its models are written `NAME:MODEL`, for runs, "
            "roles and comparisons. Each key is sent to its own endpoint only."
        )
    )
    offers.draw(bench)
    try:
        tested = model_trial.results(bench.settings.home)
    except REFUSED as error:
        st.error(plain(spoken(error)))
        tested = {}
    known = endpoint_registry.known(bench.settings)
    for each in known:
        _row(bench, each, tested.get(each.name))
    if not known:
        st.markdown(t("There is no endpoint yet."))
    if tested:
        _table(model_trial.table(bench.settings.home))
    if bench.settings.lock_settings:
        return
    with st.container(horizontal=True):
        st.button(
            t("Add an endpoint"),
            key="add-endpoint",
            icon=":material/add:",
            type="primary",
            on_click=st.session_state.__setitem__,
            args=(_ADDING, True),
        )
        if not bench.settings.user:
            offers.search_button()
    if st.session_state.get(_ADDING):
        opened = st.dialog(t("Add an endpoint"), icon=":material/add:", on_dismiss=_close)
        opened(_form)(bench)


_ALSO: Final = {
    "streaming": later("streaming"), "token counts": later("token counts"), "long prompts": later("long prompts"),
    "stopping": later("stopping"),
}  # fmt: skip
_CELLS: Final = {"yes": later("yes"), "no": later("no")}


def _table(tested: list[Trial]) -> None:
    """Draw what works here: a line for each model that was tested."""
    with st.expander(t("What works here"), icon=":material/fact_check:"):
        rows = [[t(_CELLS[each]) if each in _CELLS else each for each in model_trial.cells(one)] for one in tested]
        also = [t(word).capitalize() for word in _ALSO.values()]
        columns = [t("Model"), t("Tool calls"), *also, t("Seconds"), t("Tested"), t("Problem")]
        st.dataframe(rows_frame(columns, rows), hide_index=True, alt=t("The models that were tested"))
        st.download_button(
            t("Export CSV"),
            lambda: model_trial.as_csv(tested),
            "what works here.csv",
            "text/csv",
            key="export-tested",
            icon=":material/download:",
            on_click="ignore",
        )


def _row(bench: Workbench, each: Listed, last: Trial | None) -> None:
    name = each.name
    # Read once and in this order, because a test may end while the row is drawn.
    asking, found = trials.at_work(_trial(name)), trials.found(_trial(name))
    newest = trials.last(bench, name)
    with frame(f"endpoint-{name}") as (words, buttons):
        with words:
            st.markdown(f"**{plain(name)}** · {plain(each.title)} · {_state(each, newest)}")
            st.caption(" · ".join(_facts(bench.settings, each)))
            if each.problem:
                st.markdown(f":orange[:material/key_off: {plain(each.problem)}]")
            if asking:
                trials.asking(_trial(name), name)
            elif found and found.state == "broken" and not (last and last.problem in found.text):
                st.markdown(f":red[{plain(spoken(found.text))}]")
            if newest and not asking:
                said = _result(last) if last and last.at == newest.time else spoken(newest.check.text)
                st.markdown(f"{plain(said)}  \n:gray[{t('Tested {when}', when=ago(newest.time))}]")
                if newest.check.state == "ok":
                    models.choose(bench, name)
        with buttons:
            _test_button(bench, each, last)
            if each.origin == "saved" and not saved_endpoints.why_locked(bench.settings, name):
                undo.delete_button(
                    t("Remove"),
                    f"remove-endpoint-{name}",
                    partial(_remove, bench, name),
                    t("Endpoint {name} was removed.", name=plain(name)),
                    help=t("Removes the endpoint {name} with its key.", name=plain(name)),
                )


def _state(each: Listed, last: trials.Tested | None) -> str:
    if each.problem:
        return f":orange[{t('Incomplete')}]"
    if last is None:
        return f":gray[:material/help: {t('Not tested')}]"
    if last.check.state == "ok":
        return f":green[:material/check_circle: {t('Works')}]"
    return f":red[:material/error: {t('Not working')}]"


def _facts(settings: Settings, each: Listed) -> list[str]:
    """Return address, origin, key and limits, as they are shown below the name."""
    url = each.url.replace("`", "")
    facts = [f"`{url}`" if url else t("no address")]
    if each.origin in ORIGINS:
        facts.append(t(ORIGINS[each.origin]))
    if each.key_from and each.origin == "settings":
        facts.append(t("Key {origin}", origin=t(KEYS[settings.origin(each.key_from.lower())])))
    elif each.key_from.isupper():
        facts.append(t("Key from {name}", name=plain(each.key_from)))
    elif not each.key_from and not each.local:
        facts.append(t("no key"))
    if each.context:
        facts.append(t("{n} tokens of context", n=f"{each.context:,}"))
    if each.requests_per_minute:
        facts.append(t("{n} requests a minute", n=f"{each.requests_per_minute:,g}"))
    if each.tokens_per_minute:
        facts.append(t("{n} tokens a minute", n=f"{each.tokens_per_minute:,g}"))
    if each.timeout_s:
        facts.append(t("{n} s of patience", n=f"{each.timeout_s:,g}"))
    if each.prices is not None:
        read, written = (f"{each.prices[name]:g}" for name in ("input", "output"))
        facts.append(t("\\${read} / \\${written} for a million tokens", read=read, written=written))
    return facts


def _result(last: Trial) -> str:
    if not last.ok:
        return last.line()
    what = [t(_ALSO[word]) for word, has in last.also.items() if has]
    return t(
        "{n} rounds with tool calls worked with {model} in {seconds} s.",
        n=last.rounds,
        model=last.model,
        seconds=f"{last.seconds:.1f}",
    ) + (" " + t("Also: {what}.", what=t(", ").join(what)) if what else "")


def _test_button(bench: Workbench, each: Listed, last: Trial | None) -> None:
    with st.popover(t("Test"), icon=":material/cable:", disabled=bool(each.problem)):
        st.markdown(t("A job of three rounds with tool calls, then a long prompt. It may cost a cent."))
        model = st.text_input(
            t("Model"),
            each.model or (last.model if last else ""),
            key=f"test-model-{each.name}",
            placeholder=t("the only one that the server has"),
        )
        st.button(
            t("Start the test"),
            key=f"test-endpoint-{each.name}",
            type="primary",
            on_click=_start,
            args=(bench, each.name),
            help=t("Test {name}.", name=plain(each.name)),
        )
    if model and each.name not in BY_SETTINGS:
        models.know(f"{each.name}:{model}")


def _start(bench: Workbench, name: str) -> None:
    model = (st.session_state.get(f"test-model-{name}") or "").strip()
    trials.start(bench, _trial(name), partial(_test, name=name, model=model), PATIENCE_S)


def _test(bench: Workbench, name: str, model: str) -> Check:
    found = model_trial.run(bench, name, model)
    if found.ok:
        models.listed(bench, f"{name}:*")
    return Check(name, "ok" if found.ok else "broken", found.line())


def _trial(name: str) -> str:
    return f"endpoint {name}"


def _remove(bench: Workbench, name: str) -> Callable[[], None]:
    _, table = saved_endpoints.remove(bench.settings, name)
    last = model_trial.forget(bench.settings.home, name)
    bench.reload()
    trials.forget(_trial(name))

    def restore() -> None:
        saved_endpoints.restore(bench.settings, name, table)
        model_trial.keep(bench.settings.home, *last)
        bench.reload()

    return restore


# Adding one


def _close() -> None:
    st.session_state.pop(_ADDING, None)


def _form(bench: Workbench) -> None:
    """Draw the fields of a new endpoint."""
    offered = [name for name, preset in presets().items() if preset.kind not in ("bedrock", "vertex")]
    kind = st.selectbox(
        t("Service"),
        [*offered, _OTHER],
        key="endpoint-kind",
        format_func=lambda each: presets()[each].title if each else t("Another service with OpenAI's API"),
    )
    preset = presets().get(kind)
    suggested = "" if preset is None or kind in (*bench.settings.endpoints, *BY_SETTINGS) else kind
    # Cleared on submit, or the browser would send the key again with every later event.
    with st.form("endpoint-form", clear_on_submit=False, border=False):
        entered: dict[str, Any] = {
            "name": st.text_input(
                t("Name"),
                suggested,
                key=f"endpoint-name-{kind}",
                max_chars=40,
                placeholder="my-service",
                help=t("Lowercase letters, digits, dots, hyphens and underscores. Models are written NAME:MODEL."),
            ),
            "url": st.text_input(
                t("Address"),
                key=f"endpoint-url-{kind}",
                placeholder=(preset.url if preset else "") or "https://HOST/v1",
                help=t("Leave empty for the service's own address.") if preset and preset.url else None,
            ),
            "key": st.text_input(
                t("Key"),
                key=f"endpoint-key-{st.session_state.setdefault('endpoint-key-turn', 0)}",
                type="password",
                autocomplete="off",
                help=t("Kept on this computer, sent to this endpoint only, and never shown."),
            ),
            "model": st.text_input(
                t("Model"),
                key=f"endpoint-model-{kind}",
                placeholder="qwen3:8b" if preset and preset.local else "",
                help=t("The model that is tested and offered first. Optional."),
            ),
        }
        if preset and preset.note:
            st.caption(plain(preset.note))
        with st.expander(t("Limits and prices"), type="compact"):
            entered |= _limits()
        if st.form_submit_button(t("Add"), type="primary", icon=":material/add:"):
            _add(bench, kind, entered)


def _limits() -> dict[str, float | None]:
    return {
        "context": st.number_input(t("Context (tokens)"), 0, None, None, 1024, key="endpoint-context"),
        "requests_per_minute": st.number_input(
            t("Requests a minute"), 0.0, None, None, 10.0, key="endpoint-rpm", format="%g"
        ),
        "tokens_per_minute": st.number_input(
            t("Tokens a minute"), 0.0, None, None, 1000.0, key="endpoint-tpm", format="%g"
        ),
        "timeout_s": st.number_input(
            t("Wait (seconds)"),
            0.0,
            None,
            None,
            60.0,
            key="endpoint-wait",
            format="%g",
            help=t(
                "Without a byte, then a request is lost. Usually 120; servers nearby are waited for without a limit."
            ),
        ),
        "input": st.number_input(
            t("Price of a million tokens read ($)"), 0.0, None, None, 0.1, key="endpoint-input", format="%g"
        ),
        "output": st.number_input(
            t("Price of a million tokens written ($)"), 0.0, None, None, 0.1, key="endpoint-output", format="%g"
        ),
    }


def _add(bench: Workbench, kind: str, entered: dict[str, Any]) -> None:
    """Save the endpoint and close the dialog; on an error show it and keep what was entered, without the key."""
    name, url, model = (entered[field].strip() for field in ("name", "url", "model"))
    given = [entered[field] for field in ("input", "output")]
    try:
        if (given[0] is None) != (given[1] is None):
            raise ConfigError("enter both prices, or neither")
        entry = Entry(
            kind="" if kind in ("", name) and not (kind and url) else kind,
            url=url,
            model=model,
            context=int(entered["context"] or 0),
            requests_per_minute=entered["requests_per_minute"] or 0,
            tokens_per_minute=entered["tokens_per_minute"] or 0,
            timeout_s=entered["timeout_s"] or 0,
            prices=None if given[0] is None else {"input": given[0], "output": given[1]},
        )
        endpoint_registry.add(bench.settings, name, entry, entered["key"])
        bench.reload()
    except REFUSED as error:
        st.error(plain(spoken(error)), title=t("Nothing was saved"))
        return
    finally:
        st.session_state["endpoint-key-turn"] += 1  # a new field, so that the browser forgets the key
    if model:
        models.know(f"{name}:{model}")
    _close()
    st.rerun()
