"""Run pages without a browser, each test on its own home folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from pages.parts.shared import form_state
from pages.parts.shared import home as open_home
from research.config.settings import load
from research.errors import ConfigError
from research.workbench.example import EXAMPLE_QUESTION
from research.workbench.workbench import Workbench
from tests.conftest import LIBRARY, BuiltOnce, embedded_countries

APP = Path(__file__).parents[2] / "app.py"


def key(app: AppTest, option: str) -> str:
    """The current key of an option on Ask; it changes when the form is filled."""
    return str(app.session_state[form_state.FORM].key(option))


@pytest.fixture(scope="session", autouse=True)
def components_found_once() -> Iterator[None]:
    """Look for components in the installed packages once: every `AppTest.run` would, in a quarter of a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(scope="session")
def library(prepared_home: Path, built_once: BuiltOnce) -> Path:
    """The Factbook's sections on France, with their vectors, so that nothing is left to embed in the background."""
    return built_once("france", lambda folder: embedded_countries(prepared_home, folder, ["france"])) / LIBRARY


@pytest.fixture(scope="session")
def answered_home(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose only run is the answered example."""
    home = tmp_path_factory.mktemp("answered")
    shutil.copy(library, home)
    bench = Workbench(load(home=home))
    for _ in bench.engine.start(EXAMPLE_QUESTION, bench.recipe(), "261121-120000-abcd", here=True).events():
        pass
    bench.store.close()
    return home


@pytest.fixture
def home(library: Path, tmp_path: Path) -> Path:
    """An empty home with a ready library."""
    path = tmp_path / "home"
    path.mkdir()
    shutil.copy(library, path)
    return path


@pytest.fixture
def answered(answered_home: Path, tmp_path: Path) -> Path:
    """A fresh copy of the home with the answered example."""
    return Path(shutil.copytree(answered_home, tmp_path / "answered"))


@pytest.fixture
def visit(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., AppTest]]:
    """Open the app on a home, at a page, with query parameters."""

    def start(home: Path, page: str = "", **parameters: str) -> AppTest:
        monkeypatch.setenv("WORKBENCH_HOME", str(home))
        # Pages show lost runs here: nobody continues them, not even after the test.
        monkeypatch.setenv("WORKBENCH_TIMINGS", '{"reclaim_every": 1e9}')
        st.cache_resource.clear()
        app = AppTest.from_file(APP, default_timeout=60)
        if page:
            app.run().switch_page(f"pages/{page}.py")
        for name, value in parameters.items():
            app.query_params[name] = value
        return app.run()

    yield start
    with suppress(ConfigError):
        bench, _ = open_home._open()
        for run in bench.store.runs():
            if run.status == "running":
                bench.engine.stop(run.id)
                bench.engine.wait(run.id, 30.0)
        bench.engine.reclaimer.close()
        bench.library.close()
    st.cache_resource.clear()
