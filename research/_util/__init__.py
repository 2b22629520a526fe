"""Helpers that know nothing of research: threads, cancellation, JSON decoding, HTTP connections, redaction.

May import only `errors`."""
