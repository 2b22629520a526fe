"""Web search services, one file each with one decorated function; no list names them.

May import `search`, `config`, `plugins` and what is below them."""
