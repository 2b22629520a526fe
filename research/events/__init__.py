"""A run as data: its recipe, its events, and the transcript and view folded from them.

May import `plugins`, `citations`, `types`, `text` and `errors`."""
