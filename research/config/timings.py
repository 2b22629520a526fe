"""How long processes wait for each other before they judge."""

from __future__ import annotations

from pydantic import BaseModel, Field

from research.store.database import RESPONSE_S


class Timings(BaseModel, extra="forbid"):
    """Seconds.  A slow disk or a crowded machine may need longer ones; tests set what they are about.

    On one machine, the lock of a run tells whether a process drives it; heartbeats tell where no lock can: across machines.
    """

    heartbeat_every: float = Field(default=0.25, gt=0)
    """Between two heartbeats, and between two looks for requests from other processes."""
    dead_after: float = Field(default=1.5, ge=0)
    """A run whose last heartbeat is older can be resumed by any process that is asked to."""
    lost_after: float = Field(default=2.5, ge=0)
    """A run whose last heartbeat is older is reclaimed; longer than `dead_after`, because no user waits for it."""
    silent_after: float = Field(default=5.0, ge=0)
    """A run whose last heartbeat is older is shown as interrupted; a busy disk may delay a heartbeat."""
    reclaim_every: float = Field(default=0.5, gt=0)
    """Between two looks for lost runs."""
    settle: float = Field(default=RESPONSE_S + 2.0, ge=0)
    """After an outage of the store, no run is reclaimed for this time, so that live processes can send heartbeats."""
    stop: float = Field(default=1.0, ge=0)
    """How long a cancelled task waits for its run to stop; a call that does not react in time is left behind."""
    test: float = Field(default=60.0, gt=0)
    """How long a test on the settings page may take before it counts as failed."""
