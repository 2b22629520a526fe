"""The search over everything that is saved, which every page opens with Ctrl-K or a button.

May import `shared`, `run`, `memory` and `library`."""
