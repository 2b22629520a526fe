"""Search services on the web: one file with one decorated function each, found by its name."""
