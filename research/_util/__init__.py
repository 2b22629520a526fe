"""Helpers that know nothing of research: threads, cancellation, JSON decoding, HTTP connections, redaction, plug-ins.

May import only `errors`, `text` and `types`."""
