"""Exports of a run.  Each sees only the view."""
