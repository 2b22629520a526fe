"""Operation of a deployment: metrics, logs, tracing and disk usage.

May import `store`, `config` and what is below them."""
