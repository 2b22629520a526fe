"""How long processes wait for each other."""

from __future__ import annotations

from pydantic import BaseModel, Field

from research.store.database import RESPONSE_S


class Timings(BaseModel, extra="forbid"):
    """Seconds.  A slow disk or a crowded machine may need longer ones; tests set those they test.

    On one machine, a run's lock tells whether a process drives it; across machines, heartbeats do.
    """

    heartbeat_every: float = Field(default=0.25, gt=0)
    """Between two heartbeats, and two checks for requests of other processes."""
    dead_after: float = Field(default=1.5, ge=0)
    """If a run's last heartbeat is older, any process asked to may resume it."""
    lost_after: float = Field(default=2.5, ge=0)
    """If a run's last heartbeat is older, it is reclaimed; longer than `dead_after`, as no user waits."""
    silent_after: float = Field(default=5.0, ge=0)
    """If a run's last heartbeat is older, it is shown as interrupted; a busy disk may delay one."""
    reclaim_every: float = Field(default=0.5, gt=0)
    """Between two searches for lost runs."""
    settle: float = Field(default=RESPONSE_S + 2.0, ge=0)
    """After an outage of the store, no run is reclaimed for this time, so that live processes can send heartbeats."""
    stop: float = Field(default=1.0, ge=0)
    """How long a cancelled task waits for its run to stop; calls that take longer are abandoned."""
    test: float = Field(default=60.0, gt=0)
    """How long a test on the settings page may take before it counts as failed."""
