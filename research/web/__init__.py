"""Web pages and files: fetching urls safely, reading file formats, and the guard against leaks through urls.

May import `search`, `sandbox`, `_util`, `types`, `text` and `errors`."""
