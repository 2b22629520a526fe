"""In the environment of `make run`, tests that need other packages are left out and named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.missing_packages import lacking


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    lacking.cache_clear()
    yield
    lacking.cache_clear()


@pytest.mark.parametrize(
    ("source", "package"),
    [
        ("import re, pytest\nfrom tests import fuzz\nfrom research.text import clip\n", ""),
        ("import re\nimport playwrong.sync_api\n", "playwrong.sync_api"),
        ("from playwrong.sync_api import Page\n", "playwrong.sync_api"),
        ("from xml.sax.handlers import Page\n", "xml.sax.handlers"),
        ("def later():\n    import playwrong\n", ""),
    ],
)
def test_a_file_lacks_what_it_imports_when_it_is_loaded(tmp_path: Path, source: str, package: str) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(source, encoding="utf-8")
    assert lacking(file) == package


def test_a_folder_lacks_what_its_conftest_imports(tmp_path: Path) -> None:
    assert lacking(tmp_path) == ""
    (tmp_path / "conftest.py").write_text("import playwrong\n", encoding="utf-8")
    lacking.cache_clear()
    assert lacking(tmp_path) == "playwrong"


def test_what_the_helpers_import_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.missing_packages.find_spec", lambda name: None if name == "pptx" else True)
    file = tmp_path / "test_it.py"
    file.write_text("from tests import desk\n", encoding="utf-8")
    assert lacking(file) == "pptx"
