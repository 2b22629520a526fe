"""Asking a question and watching its run: the recipe form, the live view, the report, sources, forks and follow-ups.

May import `shared` and `library`."""
