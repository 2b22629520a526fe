"""How plug-ins are found and registered: our own and those of other packages by the same path."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from research import plugins
from research._util.registry import OURS, Registry
from research.errors import ConfigError
from research.plugins import Scorer
from tests.registrations import registered, restore

Make = Callable[..., Registry[Scorer]]

RIGHT = """
from . import registry
@registry("A title")
def {name}(run, question):
    '''Of this file.'''
"""


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Make:
    """Makes a registry whose own modules have these texts, beside a distribution with these modules and entry points."""
    name = f"home_{abs(hash(request.node.nodeid))}"

    def made(ours: dict[str, str], theirs: dict[str, str] | None = None, points: str = "") -> Registry[Scorer]:
        registry = Registry(Scorer, "scorer", "scorer", name, name)
        for folder, files in ((name, ours), (f"{name}_other", theirs or {})):
            (tmp_path / folder).mkdir()
            for file, text in {"__init__": "", **files}.items():
                (tmp_path / folder / f"{file}.py").write_text(text, "utf-8")
        info = tmp_path / f"{name}_other-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody-elses\nVersion: 1.0\n", "utf-8")
        (info / "entry_points.txt").write_text(
            f"[{registry.group}]\n{points}".replace("OTHER", f"{name}_other"), "utf-8"
        )
        monkeypatch.syspath_prepend(tmp_path)
        for folder in (name, f"{name}_other"):
            importlib.import_module(folder).registry = registry  # type: ignore[attr-defined]
        return registry

    return made


def test_a_module_that_fails_is_named_and_the_others_work(make: Make) -> None:
    registry = make(
        {"sound": RIGHT.format(name="sound"), "cracked": RIGHT.format(name="cracked") + "import no_such_module\n"}
    )
    assert [each.id for each in registry.all()] == ["sound"]
    (broken,) = registry.broken()
    assert (broken.name, broken.package) == ("cracked", "research-workbench")
    with pytest.raises(ConfigError, match="scorer 'cracked' of package research-workbench .*no_such_module"):
        registry.get("cracked")
    assert registry.get("sound").title == "A title"


def test_a_name_imports_the_file_of_that_name_only(make: Make) -> None:
    registry = make({"one": RIGHT.format(name="one"), "two": RIGHT.format(name="two")})
    assert registry.get("one").id == "one"
    assert [each.id for each in registry.loaded()] == ["one"]
    assert registry.names() == ["one", "two"]


def test_plugins_of_another_package_are_beside_ours(make: Make) -> None:
    theirs = {"good": RIGHT.format(name="good"), "bad": "1 / 0\n", "plain": "def plain(run, question): ...\n"}
    points = "good = OTHER.good:good\nbad = OTHER.bad:bad\nplain = OTHER.plain:plain\nmine = OTHER.good:good\n"
    registry = make({"mine": RIGHT.format(name="mine")}, theirs, points)
    assert registry.names() == ["bad", "good", "mine", "plain"]
    assert [each.id for each in registry.loaded()] == ["mine"], "a list of names imported another package"
    assert {each.id: each.package for each in registry.all()} == {"good": "somebody-elses", "mine": ""}
    why = {each.name: each.error for each in registry.broken()}
    assert why["bad"] == "ZeroDivisionError: division by zero"
    assert "it names plain, which is not decorated with @scorer" in why["plain"]
    assert "the name is taken" in why["mine"]
    assert registry.get("mine").package == ""
    with pytest.raises(ConfigError, match="unknown scorer 'none'; known: bad, good, mine, plain"):
        registry.get("none")


def test_each_of_ours_can_be_loaded() -> None:
    for registry in plugins.KINDS.values():
        assert [each for each in registry.broken() if each.package == OURS] == []
        assert registry.all() or registry is plugins.answer_check


@pytest.mark.parametrize("kind", ["framework", "context", "tool", "provider", "searcher"])
def test_each_of_ours_is_in_the_file_of_its_name(kind: str) -> None:
    """`get` imports that file alone."""
    ours = [each for each in plugins.KINDS[kind].all() if not each.package]
    assert ours
    assert [each.id for each in ours if each.function.__module__ != f"{plugins.KINDS[kind].home}.{each.id}"] == []


def test_what_a_test_leaves_registered_is_named_and_removed() -> None:
    """The fixture `no_registrations_left` fails the test with these names."""

    def forgotten(host: object, recipe: object, stop: object) -> None: ...
    def react(run: object) -> None: ...

    ours = plugins.framework.get("react")
    before = registered()
    plugins.register("tool", forgotten, "Forgotten")
    plugins.register("framework", react, "Replaced")
    assert sorted(restore(before)) == ["framework react", "tool forgotten"]
    assert plugins.framework.get("react") is ours
    assert "forgotten" not in plugins.tool.names()
    assert restore(before) == []
