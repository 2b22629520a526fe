"""Runs side by side: their numbers, aligned steps, common sources, and the lineage of forks.

May import agent, events, search, store and workbench."""
