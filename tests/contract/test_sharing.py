"""Sharing a run by link, over SQLite files and over a real Postgres with a schema for each user."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from research.config import users
from research.config.settings import load
from research.errors import ConfigError
from research.events.events import Event, ReportUpdated
from research.store import Origin, RunRow, Store, shares
from research.store.database import close_pool
from research.workbench.workbench import Workbench

ALICE, BOB = (users.key_of("https://login.example.org", name) for name in ("alice", "bob"))
SHARED = "261121-120000-aaaa"
OTHER = "261121-120000-aaaab"
"""Starts with the id of the shared run."""


class House:
    """A server with two users; each call opens every store again, as another process would."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def store(self, user: str) -> Store:
        return Workbench(users.settings_for(load(home=self._home), user)).store

    def share(self, run: str) -> str:
        return shares.share(self.store(""), self.store(ALICE), ALICE, run)

    def stop(self, run: str) -> None:
        shares.stop(self.store(""), self.store(ALICE), run)

    def opened(self, token: str) -> shares.SharedRun | None:
        """Return what any signed-in user sees by that link."""
        return shares.open_share(self.store(""), self.store, token)


@pytest.fixture(params=["sqlite", "postgres"])
def house(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """A server where Alice has three runs, and Bob has a run with the id of her shared one."""
    if request.param == "postgres":
        monkeypatch.setenv("DATABASE_URL", request.getfixturevalue("database_url"))
    made = House(tmp_path / "home")
    recipe = Workbench(load(home=tmp_path / "home")).recipe(tools=())
    alice = made.store(ALICE)
    for run in (SHARED, OTHER):
        alice.create(RunRow(run, f"of Alice: {run}", recipe), [noted(run, 0)])
    alice.create(RunRow("261121-130000-bbbb", "of Alice: on", recipe, origin=Origin(SHARED, "follow_up")))
    alice.tag("261121-130000-bbbb", ["private"])
    made.store(BOB).create(RunRow(SHARED, "of Bob", recipe), [noted(SHARED, 0, "Bob's")])
    yield made
    if request.param == "postgres":
        close_pool(request.getfixturevalue("database_url"))


def noted(run: str, seq: int, report: str = "Alice's") -> Event:
    return ReportUpdated(run=run, seq=seq, time=float(seq), report=f"{report} {run}")


def test_a_link_opens_the_shared_run_and_nothing_else(house: House) -> None:
    found = house.opened(house.share(SHARED))
    assert found is not None
    assert (found.run, found.row().question) == (SHARED, f"of Alice: {SHARED}")
    assert found.events() == [noted(SHARED, 0)]
    house.store(ALICE).append([noted(SHARED, 1)])
    assert found.events(after=0) == [noted(SHARED, 1)], "new events of the shared run are missing"
    assert shares.share_of(house.store(ALICE), OTHER) is None
    for user in ("", BOB):
        assert shares.share_of(house.store(user), SHARED) is None, "another user shares it"
        with pytest.raises(ConfigError):
            house.store(user).run(OTHER)


def test_a_shared_run_does_not_show_its_origin_and_tags(house: House) -> None:
    found = house.opened(house.share("261121-130000-bbbb"))
    assert found is not None
    assert (found.row().origin, found.row().tags) == (None, ())


def test_a_revoked_link_no_longer_opens_but_other_links_do(house: House) -> None:
    token, other = house.share(SHARED), house.share(OTHER)
    house.stop(SHARED)
    assert house.opened(token) is None
    assert shares.share_of(house.store(ALICE), SHARED) is None
    assert house.opened(other) is not None, "the link of the run with a similar id was revoked too"
    house.stop(SHARED)  # a second time does nothing
    again = house.share(SHARED)
    assert house.opened(token) is None and house.opened(again) is not None


def test_a_new_link_replaces_the_old_one(house: House) -> None:
    old, new = house.share(SHARED), house.share(SHARED)
    assert house.opened(old) is None and house.opened(new) is not None


def test_a_guessed_link_opens_nothing(house: House) -> None:
    token = house.share(SHARED)
    share = shares.share_of(house.store(ALICE), SHARED)
    assert share is not None
    guesses = ["", "%", "_" * len(token), "\0", "é", SHARED, ALICE, share.digest, share.digest[:10], token[:-1], f"{token}x",
               token.swapcase(), f" {token}", "' OR '1'='1", "a" * 9_999, secrets.token_urlsafe(shares.TOKEN_BYTES)]  # fmt: skip
    for guess in guesses:
        assert house.opened(guess) is None, guess


def test_a_link_opens_only_if_the_owners_store_confirms_it(house: House) -> None:
    """A process may be killed between its two writes, or someone may forge an entry in the common store."""
    import msgspec

    token = house.share(SHARED)
    share = shares.share_of(house.store(ALICE), SHARED)
    assert share is not None
    of_bob = msgspec.structs.replace(share, owner=BOB)
    house.store("").put("share", share.digest, msgspec.json.encode(of_bob))
    assert house.opened(token) is None, "a link opened a run that Bob does not share"
    house.store("").put("share", share.digest, msgspec.json.encode(share))
    assert house.opened(token) is not None
    house.store(ALICE).remove("share", SHARED)
    assert house.opened(token) is None


def test_a_deleted_shared_run_cannot_be_read_until_it_is_restored(house: House) -> None:
    found = house.opened(house.share(SHARED))
    assert found is not None
    house.store(ALICE).delete([SHARED])
    for read in (found.row, found.events):
        with pytest.raises(ConfigError):
            read()
    house.store(ALICE).restore([SHARED])
    assert found.row().id == SHARED
