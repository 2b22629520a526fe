"""Search: the HTTP exchange with search services, and merging and ranking their results.

May import `_util`, `config`, `plugins` and what is below them."""
