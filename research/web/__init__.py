"""The web and files: requests to services, fetching urls safely, reading file formats, the guard against leaks.

May import `parsing`, `plugins`, `sandbox`, `_util`, `types`, `text` and `errors`."""
