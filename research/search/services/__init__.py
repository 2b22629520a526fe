"""Web search services, one file each, which has the name of its one decorated function.

May import `search`, `config`, `plugins` and what is below them."""
