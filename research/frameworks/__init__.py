"""Frameworks, one file each: generator functions that decide when a run asks, uses tools, and answers.

May import `agent`, `citations`, `plugins` and what is below them; nothing else may name a framework."""
