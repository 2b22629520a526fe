"""Where and when runs are executed: threads or a queue of workers, heartbeats, reclaiming, rate limits.

May import `agent`, `ops` and what is below them."""
